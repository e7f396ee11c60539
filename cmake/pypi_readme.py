"""README.md as an index of packages shows it: with absolute links. For scikit-build-core (pyproject.toml)."""

from __future__ import annotations

import re
from pathlib import Path


def absolute(text: str, repository: str) -> str:
    """Links lead to the repository, pictures to their files there."""

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({repository}/{kind}/main/{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)", link, text)


def dynamic_metadata(field: str, settings: object, project: dict) -> dict[str, str]:
    text = Path("README.md").read_text(encoding="utf-8")
    return {
        "content-type": "text/markdown",
        "text": absolute(text, project["urls"]["Repository"]),
    }
