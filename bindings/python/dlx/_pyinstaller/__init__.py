"""For PyInstaller, which finds the folder with the hook by the entry point in pyproject.toml."""

from __future__ import annotations


def hook_directories() -> list[str]:
    """The folders with hooks: this one."""
    return list(__path__)
