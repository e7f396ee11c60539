"""What is committed of dlx.testing's table, compared with what is installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tools"))
import referee_table as table  # noqa: E402


def check_column(name, module=""):
    """The outcomes of a library are those of docs/referee, if it is installed in that version.

    Returns:
        the report.
    """
    committed = table.read(str(DOCS / "referee" / f"{name}.json"))
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed here")
    found = table.checked(name, module, timeout=60)
    if found.version != committed.version:
        pytest.skip(f"{name} {found.version} is installed, the table has {committed.version}")
    assert table.columns(found) == table.columns(committed), (
        f"changed: python tools/referee_table.py docs/referee {name}{module and '='}{module}"
    )
    return found
