"""The C and C++ headers as MyST pages: one page a section of the header, in the header's order.

The comments are Markdown with `@param` and `@return`, and go through as they are; the comments of
sections (`/* ---- views ---- …`) become the introductions of the pages.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from sphinx.util import logging

from declarations import Item, Reader

logger = logging.getLogger(__name__)

ROLES = {
    "function": "func",
    "macro": "macro",
    "struct": "struct",
    "union": "union",
    "typedef": "type",
    "enum": "enum",
}
TITLES = {
    "library": "Library: version, status, allocators, threads",
    "dtype": "Data types",
    "tensor": "Tensors",
    "dlpack": "DLPack: in and out",
    "views": "Views",
    "copy": "Copies",
    "device": "Devices",
    "stream": "Streams",
    "backend": "Backends of vendors",
}
OTHERS = (  # header, page, title
    ("call.h", "call.md", "Compiled functions"),
    ("arrow.h", "arrow.md", "Arrow"),
    ("python.h", "python.md", "CPython"),
    ("dlpack.h", "dlpack-structs.md", "DLPack's structs"),
)
FRAMEWORKS = (
    "torch_operator.h",
    "xla_ffi.h",
    "nanobind.h",
    "pybind11.h",
    "python.hpp",
    "call.hpp",
    "arrow.hpp",
    "call.hpp",
)
NAMES = re.compile(r"\b(dlx_\w+|DLX_\w+|kDL\w+|DL[A-Z]\w+|DLPACK_\w+)\b(\(\))?(?!\\\*)")


class Page:
    """Writes items as MyST directives of Sphinx's C or C++ domain."""

    def __init__(self, domain: str, symbols: dict[str, str]):
        self.domain, self.symbols = domain, symbols

    def linked(self, name: str, own: str) -> str:
        role = self.symbols.get(name)
        return f"{{{role}}}`{name}`" if role and name != own else f"`{name}`"

    def markdown(self, doc: str, own: str = "") -> str:
        """A comment's words with links to what they name."""
        # *emphasis* stays; other asterisks behind a word are pointers, the bold words' are two.
        doc = re.sub(r"( \*\w+\*)|(?<=[A-Za-z_])\*(?!\*)", lambda m: m[1] or r"\*", doc)
        parts = re.split(r"(`[^`]*`|^ {4}.*$)", doc, flags=re.M)
        for i, part in enumerate(parts):
            if part.startswith("`"):
                parts[i] = self.linked(part.strip("`"), own)
            elif not part.startswith("    "):
                parts[i] = NAMES.sub(
                    lambda m: self.linked(m[1], own) if m[1] in self.symbols else m[0], part
                )
        return "".join(parts)

    def fields(self, item: Item) -> str:
        """The comment, with its @param and @return as a field list."""
        body, *tags = re.split(r"^@(?=param|return)", item.doc, flags=re.M)
        out = [self.markdown(body.strip(), item.name), ""]
        for tag in (re.sub(r"\s*\n\s*", " ", tag.strip()) for tag in tags):
            if parameter := re.match(r"param (\w+)\s+(.*)", tag):
                if not re.search(rf"\b{parameter[1]}\b", item.text):
                    logger.warning(
                        "%s has no parameter %s", item.name, parameter[1], type="headers"
                    )
                out.append(f":param {parameter[1]}: {self.markdown(parameter[2], item.name)}")
            else:
                out.append(f":returns: {self.markdown(tag[len('return ') :], item.name)}")
        return "\n".join(out).strip()

    def signature(self, item: Item) -> tuple[str, str]:
        """The directive and its argument."""
        text = re.sub(r"\bDLX_API |\bDLPACK_DLL ", "", item.text)
        if item.kind == "macro":
            return "macro", item.name
        if item.kind == "enum":
            return "enum", re.sub(r"^enum\s*", "", text)
        if item.kind == "typedef":
            return "type", re.sub(r"^(typedef|using) ", "", text)
        if item.kind in ("struct", "union", "class", "forward"):
            text = re.sub(r" ?final\b", "", re.sub(r"\b(struct|union|class) ", "", text))
            return ("struct" if item.kind == "forward" else item.kind), text
        if item.kind == "enumerator":
            return "enumerator", re.sub(r"\s*=\s*", " = ", text)
        if item.kind == "function":
            return "function", tidy(text) if self.domain == "cpp" else text
        return "member", text

    def item(self, item: Item, depth: int = 0) -> str:
        if re.search(r"operator[=!]=", item.text) or not item.public:
            return ""
        if item.kind == "forward" and not (item.doc and self.domain == "cpp"):
            return ""
        kind, text = self.signature(item)
        doc = self.fields(item)
        if item.kind == "enum" and not text:
            # Not {c:enum}: its head would be "enum [anonymous]", also in the search and the index.
            rows = "\n".join(self.item(child, 2) for child in item.children)
            return f":::::::::{{container}} constants\n{doc}\n\n{rows}:::::::::\n"
        if item.calls in self.symbols and not doc:
            doc = self.linked(item.calls, "")
        if item.kind == "macro" and " " in item.text and not item.name.endswith("_INIT"):
            value = f"`{item.text.split(' ', 1)[1]}`"
            doc = f"{value}: {doc}" if doc else value
        inner = "\n".join(filter(None, (self.item(child, depth + 1) for child in item.children)))
        fence = ":" * (8 - depth)
        return f"{fence}{{{self.domain}:{kind}}} {text}\n\n{doc}\n\n{inner}\n{fence}\n"

    def summary(self, items: list[Item]) -> str:
        """A table of names and first sentences."""
        named = [i for i in items if i.kind in ("function", "struct", "class", "typedef")]
        if len(named) <= 3:
            return ""
        rows = []
        for item in named:
            plain = re.sub(r"\s+", " ", item.doc.split("\n@")[0])
            first = re.split(r"(?<=[.:;])\s", plain)[0].rstrip(":;.")
            told = self.markdown(first, item.name).replace("|", "\\|")
            rows.append(f"| {self.linked(item.name, '')} | {told} |")
        table = "\n".join(["| | |", "|---|---|", *rows])
        return f"::::{{container}} api-summary\n{table}\n::::\n"


def tidy(text: str) -> str:
    """A C++ declaration without what only the compiler needs: initialisers, friend."""
    text = re.sub(r"^friend ", "", text)
    return re.sub(r"\) (noexcept )?: .*$", lambda m: ") " + (m[1] or ""), text).strip()


def symbols_of(readers: dict[str, Reader]) -> dict[str, str]:
    """Name -> its role, for links."""
    symbols: dict[str, str] = {}
    for name in ("dlpack.h", "dlx.h", "arrow.h", "call.h", "python.h"):
        for item in readers[name].items:
            if item.kind in ROLES and item.name:
                symbols[item.name] = f"c:{ROLES[item.kind]}"
            if item.kind == "enum":
                symbols.update({child.name: "c:enumerator" for child in item.children})
    return symbols


def c_pages(readers: dict[str, Reader], page: Page) -> dict[str, str]:
    """File -> text."""
    taken: set[str] = set()

    def text(title: str, head: str, items: list[Item]) -> str:
        new = []
        for item in items:  # a typedef may repeat a struct
            if item.name not in taken or item.kind not in ("macro", "typedef", "struct"):
                new.append(item)
            taken.add(item.name)
        body = "\n".join(filter(None, map(page.item, new)))
        return f"# {title}\n\n{head}\n\n{page.summary(items)}\n{body}"

    dlx = readers["dlx.h"]
    overview = page.markdown(dlx.preamble).split("\n", 2)[2]  # its first line is the title
    overview = overview.replace("docs/python.md", "[Settings](/python.md#settings)")
    overview = re.sub(r"Sections: .*", "", overview, flags=re.S)
    others = [*(file.removesuffix(".md") for _, file, _ in OTHERS), "frameworks"]
    contents = "\n".join([*dlx.sections, *others])
    files = {
        "index.md": f"# C\n\n```c\n#include <dlx/dlx.h>\n```\n\n{overview}\n\nAll functions exist since 0.1.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{contents}\n```\n"
    }
    for section, prose in dlx.sections.items():
        some = [item for item in dlx.items if item.section == section]
        files[f"{section}.md"] = text(TITLES[section], page.markdown(prose), some)
    for name, file, title in OTHERS:
        head = f"```c\n#include <dlx/{name}>\n```\n\n" + page.markdown(readers[name].preamble)
        files[file] = text(title, head, readers[name].items)
    return files


def with_code(text: str) -> str:
    """Indented lines as C++, which MyST would take for part of a list."""
    block = r"(?m)^(    .*(?:\n    .*)*)"
    return re.sub(block, lambda m: f"\n```cpp\n{textwrap.dedent(m[1])}\n```\n", text)


def frameworks_page(include: Path, page: Page) -> str:
    """The headers for other programs, whose first comment says all."""
    parts = ["# Headers for frameworks\n"]
    for name in FRAMEWORKS:
        preamble = Reader(include / name).preamble
        parts.append(
            f"## {name}\n\n```c\n#include <dlx/{name}>\n```\n\n{with_code(page.markdown(preamble))}\n"
        )
    return "\n".join(parts)


def cpp_page(hpp: Reader, page: Page) -> str:
    head = with_code(page.markdown(hpp.preamble))
    inner = ("DTypeOf", "ScalarDType")
    items = [i for i in hpp.items if i.name not in inner and "DTypeOf<" not in i.text]
    parts = [
        f"# C++\n\n```cpp\n#include <dlx/dlx.hpp>\n```\n\n{head}\n\n```{{cpp:namespace}} dlx\n```\n"
    ]
    for section in ("tensor", "values", "errors"):  # what one comes for goes first
        parts.append(f"## {section.capitalize()}\n")
        parts += filter(None, (page.item(i) for i in items if i.section == section))
    return "\n".join(parts)


def generate(include: Path, out: Path) -> None:
    names = ["dlx.h", *(header for header, _, _ in OTHERS), "dlx.hpp"]
    readers = {name: Reader(include / name) for name in names}
    symbols = symbols_of(readers)
    files = {f"c/{name}": text for name, text in c_pages(readers, Page("c", symbols)).items()}
    files["c/frameworks.md"] = frameworks_page(include, Page("c", symbols))
    files["cpp.md"] = cpp_page(readers["dlx.hpp"], Page("cpp", symbols))
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app):
    def run(app):
        generate(Path(app.confdir).parents[1] / "include/dlx", Path(app.srcdir) / "reference")

    app.connect("builder-inited", run, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
