"""Lays the site's sources together: docs/, docs/site/pages/ and the pages at the root of the tree.

Links that leave docs/ (`../examples/filter/use.cc`) lead to the site's page where there is one, else to the
repository. The pages in the tree stay as they are, for readers of the repository.
"""

import re
from pathlib import Path

from headers import FRAMEWORKS

# The root's pages, and what else of the tree is a page of the site.
WHOLE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "RELEASING.md": "releasing.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
}
PAGES = {
    **WHOLE,
    "README.md": "index.md",
    "docs/README.md": "index.md",
    "include/dlx/dlx.h": "reference/c/index.md",
    "include/dlx/arrow.h": "reference/c/arrow.md",
    "include/dlx/call.h": "reference/c/call.md",
    "include/dlx/python.h": "reference/c/python.md",
    "include/dlx/dlx.hpp": "reference/cpp.md",
    **{f"include/dlx/{name}": "reference/c/frameworks.md" for name in FRAMEWORKS},
}

# Sections of a page that is no page of the site, where the site has them.
SECTIONS = {"README.md#limits": "install.md#where-it-has-run"}


def linked(text: str, page: Path, root: Path, repository: str) -> str:
    """The text of a page of the tree with links for the site."""

    def link(found: re.Match) -> str:
        words, target, anchor = found.groups("")
        if re.match(r"[a-z]+:", target) or not target:
            return found[0]
        path = (page.parent / target).resolve()
        if not path.is_relative_to(root):
            return found[0]
        name = str(path.relative_to(root))
        if re.fullmatch(r"`?[\w./-]+\.(md|h|hpp)`?", words) and not anchor:
            words = "" if name in PAGES or name.startswith("docs/") else words
        if name == "docs/README.md":  # the first page stands for the index, without its sections
            anchor = ""
        if section := SECTIONS.get(name + anchor):
            return f"[{words}](/{section})"
        if name in PAGES and not (name == "README.md" and anchor):
            return f"[{words}](/{PAGES[name]}{anchor})"
        if name.startswith("docs/") and name.endswith((".md", ".svg")):
            return f"[{words}](/{name[len('docs/') :]}{anchor})"
        kind = "tree" if path.is_dir() else "blob"
        return f"[{words}]({repository}/{kind}/main/{name}{anchor})"

    parts = re.split(r"(^```.*?^```)", text, flags=re.M | re.S)
    parts[::2] = [re.sub(r"\[([^\]]*)\]\(([^)#\s]*)(#[^)]*)?\)", link, part) for part in parts[::2]]
    return "".join(parts)


def write(root: Path, out: Path, repository: str) -> None:
    """Writes what changed, and takes away what is no page any more."""
    texts: dict[str, str] = {}
    for path in sorted((root / "docs").rglob("*.md")):
        if path.is_relative_to(root / "docs/site") or path == root / "docs/README.md":
            continue
        texts[str(path.relative_to(root / "docs"))] = linked(
            path.read_text(), path, root, repository
        )
    for name, page in WHOLE.items():
        if (root / name).exists():
            texts[page] = linked((root / name).read_text(), root / name, root, repository)
    for path in sorted((root / "docs/benchmarks").glob("*.svg")):
        texts[str(path.relative_to(root / "docs"))] = path.read_text()
    pages = root / "docs/site/pages"
    for path in sorted(pages.rglob("*.md")):
        texts[str(path.relative_to(pages))] = path.read_text()
    for name, text in texts.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for path in out.rglob("*.md"):
        name = str(path.relative_to(out))
        if name not in texts and not name.startswith(("reference/c/", "reference/cpp.md")):
            path.unlink()
