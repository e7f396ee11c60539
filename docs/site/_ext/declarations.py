"""Reads the C and C++ headers: declarations with their comments, in the order of the file.

For the regular style of these headers, not for any C: it counts braces and parentheses, and takes what
stands between two semicolons for a declaration. check.py compares what it found with the headers.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

SECTION = re.compile(r"/\* -{4} ([\w ]+?) -{4,}\s*(.*?)\*/", re.S)
SCOPE = re.compile(r"(?:^|> ?|^typedef )(struct|union|class|enum|namespace)\b")
POINTER = re.compile(r"[^()]*\(\*\s*(\w+)\)")  # to a function; not a function with such a parameter
LABEL = re.compile(r"(public|private|protected):")


@dataclass
class Item:
    kind: str  # macro, enum, enumerator, typedef, struct, union, class, forward, member, variable, function
    text: str  # the declaration, one line
    doc: str = ""
    section: str = ""
    children: list[Item] = field(default_factory=list)
    public: bool = True
    calls: str = ""  # the function of the C interface that an inline function of C++ calls

    @property
    def name(self) -> str:
        if self.kind in ("macro", "enumerator"):
            return re.match(r"\w+", self.text)[0]
        if self.kind in ("struct", "union", "class", "enum", "forward"):
            named = re.search(
                r"\b(?:struct|union|class|enum) (\w+)(?!.*\b(?:struct|class) )", self.text
            )
            return named[1] if named else ""
        if pointer := POINTER.match(self.text):
            return pointer[1]
        if self.kind == "function":
            return re.search(r"(operator\s*\S+?|~?\w+)\s*\(", self.text)[1]
        return re.findall(r"\w+", re.sub(r"\[.*?\]|=.*", "", self.text))[-1]


def words(comment: str) -> str:
    """The Markdown of a comment, without its stars."""
    first, *rest = re.sub(r"^/\*+<?|\*+/$", "", comment.strip()).splitlines() or [""]
    lines = [first.strip(), *(re.sub(r"^\s*\* ?", "", line) for line in rest)]
    return textwrap.dedent("\n".join(lines)).strip()


def line_of(code: str) -> str:
    return re.sub(r"\s+", " ", code).strip()


def prepared(path: Path) -> str:
    """The text without what only a compiler needs."""
    text = path.read_text()
    if path.name == "dlpack.h":  # what it declares where no official header is found
        head = text[: text.index("*/") + 2]
        own = re.search(r"#if DLX_DLPACK_FOUND == 0\n(.*?)#elif", text, re.S)[1]
        text = head + own + text[text.index("#ifndef DLPACK_FLAG_BITMASK_READ_ONLY") :]
    for pattern, instead in (
        (r"#ifdef __cplusplus\n[^#]*#else\n(.*?)#endif[^\n]*\n", r"\1"),
        (r"#ifdef __cplusplus\n.*?#endif[^\n]*\n", ""),
        (r"#ifndef (DLX|DLPACK)_(API|DLL)\b\n.*?\n#endif\n", ""),
        (r"template <int kCode.*?(?=/\*\* A data type)", ""),
        (r"#if defined\(__cpp.*?#endif\n", ""),
    ):
        text = re.sub(pattern, instead, text, flags=re.S)
    return text


class Scope:
    """What was read of one file, struct, class, enum or namespace."""

    def __init__(self, inside: str):
        self.inside = inside
        self.items: list[Item] = []
        self.doc = self.code = self.late = ""
        self.public = inside != "class"

    def add(self, kind: str, section: str, children: list[Item] | None = None) -> None:
        if line := line_of(self.code):
            doc = self.doc or self.late
            self.items.append(Item(kind, line, doc, section, children or [], self.public))
        self.doc = self.code = self.late = ""

    def kind(self) -> str:
        """Of the declaration that a semicolon or comma ends."""
        head = line_of(self.code)
        if self.inside == "enum":
            return "enumerator"
        if head.startswith(("typedef", "using")):
            return "typedef"
        if POINTER.match(head):
            return "member"
        if "(" in head:
            return "function"
        if re.match(r"(template ?<.*> ?)?(struct|class) \w+$", head):
            return "forward"
        return "member" if self.inside in ("struct", "union", "class") else "variable"


class Reader:
    def __init__(self, path: Path):
        self.text, self.at, self.section = prepared(path), 0, ""
        self.sections: dict[str, str] = {}  # name -> the words of its comment
        self.preamble = ""
        if first := re.match(r"\s*(/\*\*.*?\*/)", self.text, re.S):
            self.preamble, self.at = words(first[1]), first.end()
        self.items = self.block("file")

    def block(self, inside: str) -> list[Item]:
        scope = Scope(inside)
        while self.at < len(self.text):
            char = self.text[self.at]
            label = LABEL.match(self.text, self.at)
            if self.text.startswith("/*", self.at):
                self.comment(scope)
            elif self.text.startswith("//", self.at):
                self.at = self.text.index("\n", self.at)
            elif char == "#":
                self.directive(scope)
            elif label and not scope.code.strip():
                scope.public, self.at = label[1] == "public", label.end()
            elif char == "(":
                scope.code += self.parentheses()
            elif char == "{":
                self.brace(scope)
            elif char == "}":
                if inside == "enum":
                    scope.add("enumerator", self.section)
                self.at += 1
                return scope.items
            elif char == ";" or (char == "," and inside == "enum"):
                self.at += 1
                scope.add(scope.kind(), self.section)
            else:
                scope.code += char
                self.at += 1
        return scope.items

    def take(self, end: int) -> str:
        start, self.at = self.at, end
        return self.text[start:end]

    def comment(self, scope: Scope) -> None:
        comment = self.take(self.text.index("*/", self.at) + 2)
        if heading := SECTION.match(comment):
            self.section = heading[1].strip()
            self.sections[self.section] = words(f"/*{heading[2]} */")
        elif comment.startswith("/**<"):  # after what it is about
            if scope.code.strip():
                scope.late = line_of(words(comment))
            elif scope.items:
                scope.items[-1].doc = line_of(words(comment))
        elif comment.startswith("/**"):
            scope.doc = words(comment)

    def directive(self, scope: Scope) -> None:
        line = self.take(re.compile(r"#.*?[^\\]\n", re.S).match(self.text, self.at).end())
        define = re.match(r"#define (\w+)(\(.*?\))?[ \t]*(.*)", line, re.S)
        if define and not define[1].endswith(("_H_", "_HPP_")) and scope.inside == "file":
            text = f"{define[1]} {define[3]}".strip()
            scope.items.append(Item("macro", text, scope.doc, self.section))
        scope.doc = ""

    def parentheses(self) -> str:
        """Up to the closing one, without comments."""
        depth, out = 0, ""
        while True:
            if self.text.startswith("/*", self.at):
                self.at = self.text.index("*/", self.at) + 2
                continue
            char = self.take(self.at + 1)
            depth += {"(": 1, ")": -1}.get(char, 0)
            out += char
            if depth == 0:
                return out

    def brace(self, scope: Scope) -> None:
        """The inside of a struct, union, class, enum or namespace, or a body, which is skipped."""
        self.at += 1
        head = line_of(scope.code)
        opened = SCOPE.search(head)
        if opened and "(" not in head:
            self.inner(scope, head, opened[1])
            return
        body = self.body()
        if re.match(r"\s*;", self.text[self.at :]) and "(" not in head:  # an initialiser
            scope.add("member", self.section)
            self.at = self.text.index(";", self.at) + 1
            return
        scope.add("function", self.section)
        if called := re.search(r"\b(dlx_[a-z_]+)\s*[(,]", body):
            scope.items[-1].calls = called[1]

    def body(self) -> str:
        depth, start = 1, self.at
        while depth:
            depth += {"{": 1, "}": -1}.get(self.take(self.at + 1), 0)
        return self.text[start : self.at]

    def inner(self, scope: Scope, head: str, kind: str) -> None:
        doc, scope.doc, scope.code = scope.doc, "", ""
        children = self.block(kind)
        tail = re.compile(r"\s*(\w*)\s*;?").match(self.text, self.at)
        self.at = tail.end()
        if kind == "namespace":
            scope.items += children
            return
        scope.doc, scope.code = doc, head.replace("typedef ", "")
        if kind == "enum":
            scope.code = f"enum {tail[1]}"
        elif head.endswith("struct"):
            scope.code = f"struct {tail[1]}"
        scope.add(kind, self.section, children)
