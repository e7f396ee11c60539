"""./dev docs --check: looks at the finished pages. Usage: check.py FOLDER

Every link and image inside the site leads somewhere, also to its anchor; no page asks another host for
anything; every public function of the headers and every public name of the Python package has its place.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.util.inventory import InventoryFile

import dlx

ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    def __init__(self, path: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.parts: list[str] = []  # what a browser loads with the page
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.anchors |= {known[name] for name in ("id", "name") if known.get(name)}
        if tag == "a" and known.get("href"):
            self.links.append(known["href"])
        elif known.get("src"):
            self.parts.append(known["src"])
        elif tag == "link" and "stylesheet" in (known.get("rel") or ""):
            self.parts.append(known["href"])


def dead_links(folder: Path) -> list[str]:
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(folder)
        for target in [*page.links, *page.parts]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                found += [f"{name}: is loaded from elsewhere: {target}"] * (target in page.parts)
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not to.exists():
                found.append(f"{name}: no file {target}")
            elif (
                parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].anchors
            ):
                found.append(f"{name}: no anchor {target}")
    return found


def missing_names(folder: Path) -> list[str]:
    with (folder / "objects.inv").open("rb") as file:
        known = InventoryFile.load(file, "", lambda base, path: path)
    names = {name for objects in known.values() for name in objects}
    functions = set()
    for header in ("dlx.h", "arrow.h", "call.h", "python.h"):
        text = (ROOT / "include/dlx" / header).read_text()
        functions |= set(re.findall(r"^DLX_API [^;(]*?\b(dlx_\w+)\(", text, re.M))
    public = {f"dlx.{name}" for name in dlx.__all__ if name not in ("raw", "xp", "testing")}
    methods = {
        f"dlx.Tensor.{name}"
        for name, value in vars(dlx.Tensor).items()
        if not name.startswith("_")
        and not re.search("of the Tensor|AttributeError with the hint", value.__doc__ or "")
    }
    return [f"no page has {name}" for name in sorted((functions | public | methods) - names)]


def main(folder: Path) -> int:
    found = dead_links(folder) + missing_names(folder)
    print(
        "\n".join(found)
        or f"{len(list(folder.rglob('*.html')))} pages, no dead link, no missing name"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
