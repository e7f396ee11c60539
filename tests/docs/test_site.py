"""The site's own pages repeat nothing that could become false. ./dev docs --check builds them."""

from __future__ import annotations

import re

from dev import wheel
from packaging_support import ROOT

SITE = ROOT / "docs/site"
PAGES = SITE / "pages"


def test_the_commands_of_install_are_those_that_are_tested():
    """README's, the pages', or builds for a platform of ./dev wheel."""
    tested = "\n".join(
        (ROOT / page).read_text()
        for page in ("README.md", "docs/python.md", "docs/runtimes.md", "docs/extensions.md")
    )
    platforms = {platform.name for platform in wheel.PLATFORMS}
    lines = re.findall(r"^    (\S.*)$", (PAGES / "install.md").read_text(), re.M)
    assert lines
    for line in lines:
        command, _, comment = (part.strip() for part in line.partition("#"))
        if command.startswith("./dev wheel "):
            named = {command.split()[-1], *re.findall(r"or ([\w-]+)", comment)}
            assert named <= platforms, line
        else:
            assert command in tested, line


def test_every_page_of_docs_is_in_the_contents():
    """Once: Sphinx warns too, but takes a minute."""
    contents = (PAGES / "index.md").read_text()
    for path in sorted((ROOT / "docs").glob("*.md")):
        if path.name != "README.md":
            found = re.findall(rf"^(?:.*<)?{path.stem}>?$", contents, re.M)
            assert len(found) == 1, path.name
