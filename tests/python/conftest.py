"""Runs the tests on the library that DLX_LIBRARY names, through the binding that DLX_BINDING names.

`./dev test` sets the first and runs everything twice, once with each binding.
"""

from __future__ import annotations

import pytest

try:
    from dlx._lib import library
except ImportError as error:
    pytest.exit(f"{error}\n(./dev test builds the library and sets DLX_LIBRARY)", returncode=2)


def pytest_report_header() -> str:
    return f"dlx: {library.binding} on {library.path}"


@pytest.fixture(scope="session")
def binding() -> str:
    """Name of the binding that the tests run on: "ctypes" or "cffi"."""
    return library.binding
