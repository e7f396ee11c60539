"""What the ABI says beyond the declarations: layouts of structs, and who owns what."""

from __future__ import annotations

import re

from model import CType, Function, Member, Model

SIZES = {"size_t": 8, "double": 8, "int": 4, "char": 1, "dlx_status": 4}  # on 64-bit systems

# The functions that consume or return a reference without a sentence that says so.
CONSUMED = {
    "dlx_tensor_release": "tensor",
    "dlx_contract_release": "contract",
    "dlx_python_give_back": "borrowed",
}
OWNED_RESULTS = {"dlx_tensor_retain"}


def size_and_alignment(ctype: CType, model: Model) -> tuple[int, int]:
    if ctype.is_address:
        size = alignment = 8
    elif ctype.kind == "struct":
        size, alignment = struct_size(ctype.name, model)
    else:
        size = SIZES.get(ctype.name) or int(re.sub(r"\D", "", ctype.name)) // 8
        alignment = size
    return size * (1 if ctype.length is None else ctype.length), alignment


def offsets(name: str, model: Model) -> dict[str, int]:
    """The offset of each field, and of the end of the struct as ''."""
    found, end, most = {}, 0, 1
    is_union = model.structs[name].is_union
    for field in model.structs[name].fields:
        size, alignment = size_and_alignment(field.type, model)
        start = 0 if is_union else -(-end // alignment) * alignment
        found[field.name] = start
        end, most = max(end, start + size), max(most, alignment)
    return {**found, "": -(-end // most) * most}


def struct_size(name: str, model: Model) -> tuple[int, int]:
    parts = [size_and_alignment(field.type, model)[1] for field in model.structs[name].fields]
    return offsets(name, model)[""], max(parts)


def since(function: Function, model: Model) -> str:
    """The version that brought the function: 0.1, unless its comment has a line `@since`."""
    found = re.search(r"@since\s+([\d.]+)", model.comments.get(function.name, ""))
    return found[1].rstrip(".") if found else "0.1"


def ownership(function: Function, parameter: Member, model: Model) -> str | None:
    """borrowed, consumed, kept, owned or written; None for a value. The comment of the header says it,
    and where it does not, the conventions at the top of dlx.h."""
    if not parameter.type.is_address:
        return None
    if CONSUMED.get(function.name) == parameter.name:
        return "consumed"
    kind, pointers, const = parameter.type.kind, parameter.type.pointers, parameter.type.const
    if kind in ("integer", "char"):
        return "borrowed" if const else "written"
    text = model.comments.get(function.name, "")
    said = re.search(rf"@param {parameter.name}\b(.*?)(?=\n@|\Z)", text, re.S)
    words = re.search(r"\b(consumed|owned|borrowed|kept)\b", said[1]) if said else None
    if words and not (kind == "callback" and words[1] == "borrowed"):
        return words[1]
    if pointers == 2 or (
        kind == "struct" and parameter.name.startswith("out") and "arrow" in function.name
    ):
        return "owned"
    if kind == "callback" or parameter.name == "user_data":
        return "kept"
    if parameter.name == "managed" or parameter.name == "array":
        return "consumed"
    return "written" if kind == "struct" and not const else "borrowed"


def result_ownership(function: Function) -> str | None:
    if not function.returns.is_address:
        return None
    return "owned" if function.name in OWNED_RESULTS else "borrowed"
