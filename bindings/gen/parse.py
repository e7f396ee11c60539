"""Reads dlx's public headers into a Model."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pycparser import c_ast, c_generator, c_parser  # type: ignore[import-untyped]

from model import CType, Function, Member, Model, Struct

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"
CALL = "dlx/call.h"
HEADERS = ("dlx/dlpack.h", "dlx/dlx.h", CALL, "dlx/python.h", "dlx/arrow.h")

# Switches for compiling the headers, not constants for callers.
NOT_CONSTANTS = {"DLX_API", "DLX_DLPACK_FOUND", "DLPACK_DLL", "DLPACK_EXTERN_C"}

# The declarations that can have a comment.
GROUPS = ("function", "struct", "plain", "callback", "tagged")

# Prefix of enumerators that replace macros, which the syntax tree does not have.
VALUE_OF = "value_of_"

INTEGERS = {
    "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t",
    "size_t", "int",
}  # fmt: skip


def preprocess(source: str) -> str:
    """Preprocess `source` with dlx's dlpack.h and without system headers."""
    command = [
        *(os.environ.get("CC") or "cc").split(),
        "-E", "-P", "-nostdinc", "-x", "c", "-DDLX_API=", "-DDLX_DLPACK_OWN",
        f"-I{HERE / 'headers'}", f"-I{INCLUDE}", "-",
    ]  # fmt: skip
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def macro_names(text: str) -> Iterator[str]:
    """Names of the macros of a header that stand for a number."""
    seen = set()
    pattern = r"^\s*#\s*define ((?:DLX|DLPACK|ARROW)_\w+)[ \t]+(\S.*)$"
    for name, value in re.findall(pattern, text, re.M):
        if name not in NOT_CONSTANTS and not value.startswith("{") and name not in seen:
            seen.add(name)
            yield name


def evaluate(node: c_ast.Node, known: dict[str, int]) -> int:
    """The value of a constant expression."""
    if isinstance(node, c_ast.Constant):
        return int(node.value.rstrip("uUlL"), 0)
    if isinstance(node, c_ast.ID):
        return known[node.name]
    if isinstance(node, c_ast.Cast):
        return evaluate(node.expr, known)
    if isinstance(node, c_ast.UnaryOp) and node.op == "-":
        return -evaluate(node.expr, known)
    if isinstance(node, c_ast.BinaryOp) and node.op in ("<<", "-"):
        left, right = evaluate(node.left, known), evaluate(node.right, known)
        return left << right if node.op == "<<" else left - right
    raise ValueError(f"{node.coord}: not an expression that the generator can evaluate")


def comments(text: str) -> dict[str, str]:
    """The comment before each function, struct and callback type."""
    found = {}
    pattern = re.compile(
        r"/\*\*(?P<doc>(?:(?!\*/).)*)\*/\s*"
        r"(?:DLX_API [\w *]*?(?P<function>\w+)\(|typedef (?:struct|union) (?P<struct>\w+) [\w{]"
        r"|typedef struct \{[^}]*\} (?P<plain>\w+)|typedef [\w *]+\(\*(?P<callback>\w+)\)"
        r"|struct (?P<tagged>\w+) \{)",
        re.S,
    )
    for match in pattern.finditer(text):
        name = next(match[g] for g in GROUPS if match[g])
        lines = [re.sub(r"^\s*\* ?", "", line).strip() for line in match["doc"].splitlines()]
        found[name] = "\n".join(lines).strip()
    return found


def summary(comment: str) -> str:
    """The first sentence."""
    paragraph = " ".join(comment.split("\n\n")[0].split()).split(" @")[0]
    return re.split(r"(?<=\.)\s+(?=[A-Z`])", paragraph)[0].rstrip()


class Reader:
    """Walks the syntax tree once."""

    def __init__(self, comments: dict[str, str]) -> None:
        self.docs = {name: summary(comment) for name, comment in comments.items()}
        self.model = Model({}, {}, {}, {}, {}, comments, "", [], {})
        self.aliases: dict[str, CType] = {}
        self.cdef: list[str] = []
        self.generator = c_generator.CGenerator()

    def read(self, tree: c_ast.FileAST) -> Model:
        for node in tree.ext:
            if isinstance(node, c_ast.Typedef):
                self.typedef(node)
            elif isinstance(node.type, c_ast.Enum):
                self.enum(node.type, node.type.name)
            elif isinstance(node.type, c_ast.Struct):
                self.tagged(node)
            elif isinstance(node.type, c_ast.FuncDecl):
                function = self.function(node.name, node.type)
                self.model.functions[node.name] = function
                self.cdef.append(self.generator.visit(node) + ";")
            else:
                raise ValueError(f"{node.coord}: a declaration that the generator does not know")
        m = self.model
        callbacks, nested = {}, {}
        for name, function in m.callbacks.items():
            named = name.split(".")[0] in (name, *m.structs)
            (callbacks if named else nested)[name] = function
        return replace(m, callbacks=callbacks, nested=nested, cdef="\n".join(self.cdef) + "\n")

    def typedef(self, node: c_ast.Typedef) -> None:
        inner = node.type.type if isinstance(node.type, c_ast.TypeDecl) else None
        if node.name in INTEGERS:
            return
        if isinstance(inner, c_ast.Enum):
            # Four bytes in C and in C++; the compiler chooses the signedness of a C enum.
            self.aliases[node.name] = CType("integer", "int32_t")
            self.enum(inner, node.name)
            self.cdef.append(f"typedef int32_t {node.name};")
            return
        self.cdef.append(self.generator.visit(node) + ";")
        if isinstance(inner, (c_ast.Struct, c_ast.Union)):
            self.struct(node.name, inner)
        elif isinstance(node.type, c_ast.PtrDecl) and isinstance(node.type.type, c_ast.FuncDecl):
            self.callback(node.name, node.type.type)
        else:
            self.aliases[node.name] = self.type(node.type, node.name)

    def tagged(self, node: c_ast.Decl) -> None:
        """A struct that C names by its tag; cffi gets a name without `struct` as well."""
        name = node.type.name
        self.cdef.append(f"{self.generator.visit(node)};\ntypedef struct {name} {name};")
        self.struct(name, node.type)

    def enum(self, node: c_ast.Enum, named: str | None) -> None:
        value = -1
        if named:
            self.model.enums[named] = [item.name for item in node.values.enumerators]
        for item in node.values.enumerators:
            value = value + 1 if item.value is None else evaluate(item.value, self.model.constants)
            name = item.name.removeprefix(VALUE_OF)
            self.model.constants[name] = value
            self.cdef.append(f"#define {name} {value}")

    def struct(self, name: str, node: c_ast.Struct | c_ast.Union) -> None:
        if node.decls is None:
            self.aliases[name] = CType("opaque", name)
            self.model.opaque.append(name)
            return
        fields = tuple(Member(d.name, self.type(d.type, f"{name}.{d.name}")) for d in node.decls)
        is_union = isinstance(node, c_ast.Union)
        self.model.structs[name] = Struct(name, fields, self.docs.get(name, ""), is_union)

    def callback(self, name: str, node: c_ast.FuncDecl) -> CType:
        self.model.callbacks[name] = self.function(name, node)
        return CType("callback", name)

    def function(self, name: str, node: c_ast.FuncDecl) -> Function:
        declared = node.args.params if node.args else []
        parameters = tuple(
            Member(p.name, self.type(p.type, f"{name}.{p.name}")) for p in declared if p.name
        )
        returns = self.type(node.type, name)
        if isinstance(node.type, c_ast.TypeDecl) and node.type.type.names == ["dlx_status"]:
            returns = CType("integer", "dlx_status")
        return Function(name, returns, parameters, self.docs.get(name, ""))

    def type(self, node: c_ast.Node, where: str) -> CType:
        """The CType of a declarator; `where` names a function type written in place."""
        if isinstance(node, c_ast.PtrDecl):
            if isinstance(node.type, c_ast.FuncDecl):
                return self.callback(where, node.type)
            to = self.type(node.type, where)
            return CType(to.kind, to.name, to.pointers + 1, to.const)
        if isinstance(node, c_ast.ArrayDecl):
            of = self.type(node.type, where)
            return CType(of.kind, of.name, of.pointers, of.const, evaluate(node.dim, {}))
        if isinstance(node.type, (c_ast.Struct, c_ast.Union)):
            return CType("struct", node.type.name, const="const" in node.quals)
        return self.named(" ".join(node.type.names), "const" in node.quals, where)

    def named(self, name: str, const: bool, where: str) -> CType:
        if name in INTEGERS:
            return CType("integer", name, const=const)
        if name in ("void", "char", "double"):
            return CType(name, name, const=const)
        if name in self.model.structs:
            return CType("struct", name, const=const)
        if name in self.model.callbacks:
            return CType("callback", name)
        if name in self.aliases:
            alias = self.aliases[name]
            return CType(alias.kind, alias.name, const=const)
        raise ValueError(f"{where}: unknown type {name}")


def read_headers(headers: tuple[str, ...] = HEADERS) -> Model:
    """Parse the headers, all of them or some."""
    texts = [(INCLUDE / header).read_text(encoding="utf-8") for header in headers]
    macros = [name for text in texts for name in macro_names(text)]
    source = "".join(f"#include <{header}>\n" for header in headers)
    source += "".join(f"enum {{ {VALUE_OF}{name} = {name} }};\n" for name in macros)
    tree = c_parser.CParser().parse(preprocess(source), "dlx.h")
    return Reader(comments("\n".join(texts))).read(tree)
