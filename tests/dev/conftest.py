"""What the tests of ./dev share."""

from __future__ import annotations

import pytest

from dev_support import Clone


@pytest.fixture
def clone(tmp_path) -> Clone:
    return Clone(tmp_path / "clone")
