"""Signatures with types for what is native: `_native.pyi` says them, the running type does not."""

import ast
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

# Names of the stub's own, by what a reader knows.
SHOWN = {
    "_Indices": "int | Sequence[int]",
    "_Order": "Literal['C', 'F']",
    "_dtype": "dlx.dtype",
    "SupportsIndex": "int",
}


def read(path: Path) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}

    def take(body, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef):
                take(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                args = node.args
                method = prefix and not any(
                    getattr(d, "id", "") == "staticmethod" for d in node.decorator_list
                )
                if method:
                    (args.posonlyargs or args.args).pop(0)
                text = (
                    ast.unparse(args).lstrip("/, ")
                    if method and not args.posonlyargs
                    else ast.unparse(args)
                )
                returns = ast.unparse(node.returns) if node.returns else ""
                for own, shown in SHOWN.items():
                    text, returns = (
                        re.sub(rf"\b{own}\b", shown, types) for types in (text, returns)
                    )
                name = f"dlx.{prefix}{node.name}"
                if any("property" in ast.unparse(d) for d in node.decorator_list):
                    found.setdefault(name, ("", returns))
                else:  # of overloads the last one, which takes everything
                    found[name] = (f"({text})", returns)

    take(ast.parse(path.read_text()).body, "")
    return found


def setup(app):
    import dlx

    types = read(Path(dlx.__file__).parent / "_native.pyi")

    def signature(app, what, name, obj, options, signature, return_annotation):
        if name in types and what in ("function", "method") and name.split(".")[-1] != "__init__":
            arguments, returns = types[name]
            return arguments or signature, returns or return_annotation
        return None

    # Napoleon takes "Extents, a tuple of ints (array API: array.shape)" for a type and its
    # description: what is no function is kept from it.
    kept = {}

    def link(app, what, name, obj, options, lines):
        """What is named in a docstring without backticks: `dlx.asarray`, `__dlpack__`, `…Error`."""
        out, code = [], False
        for i, line in enumerate(lines):  # an indented example is code, and no quotation
            if line.strip():
                indented = line.startswith("    ")
                if (
                    indented
                    and not code
                    and i > 1
                    and not lines[i - 1].strip()
                    and not lines[i - 2].startswith(" ")
                ):
                    code = True
                    out += [".. code-block:: python", ""]
                elif not indented:
                    code = False
            if code:
                out.append(line)
                continue
            parts = re.split(r"(`+[^`]*`+)", line)
            for k in range(0, len(parts), 2):
                parts[k] = re.sub(
                    r"(?<![\w.`/:])(dlx\.\w+|__[a-z]\w+__|[A-Z]\w+Error)\b(?![:(])",
                    r"`\1`",
                    parts[k],
                )
            out.append("".join(parts))
        lines[:] = out

    def before(app, what, name, obj, options, lines):
        if what in ("attribute", "property"):
            kept[name] = list(lines)
            lines.clear()

    def after(app, what, name, obj, options, lines):
        if what in ("attribute", "property"):
            lines[:] = kept.pop(name, [])

    def annotate(app, domain, objtype, content):
        """`shape` becomes `shape: tuple[int, ...]`."""
        for head in content.parent.findall(addnodes.desc_signature):
            name = f"{head.get('module', '')}.{head.get('fullname', '')}"
            kind = types.get(name, ("()", ""))
            if (
                objtype in ("attribute", "property")
                and kind[0] == ""
                and kind[1] not in ("", "Any")
            ) and not list(head.findall(addnodes.desc_annotation)):
                head += addnodes.desc_annotation("", "", nodes.Text(": " + kind[1]))

    app.connect("object-description-transform", annotate)
    app.connect("autodoc-process-docstring", link, priority=300)
    app.connect("autodoc-process-docstring", before, priority=400)
    app.connect("autodoc-process-docstring", after, priority=600)
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
