"""Writes the description of the ABI for other generators: bindings/abi.json (docs/runtimes.md)."""

from __future__ import annotations

import json
from typing import Any

import abi
from model import CType, Function, Model


def emit(model: Model) -> str:
    constants = model.constants
    named = {name for names in model.enums.values() for name in names}
    version = [constants[f"DLX_VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH")]
    description = {
        "version": ".".join(map(str, version)),
        "abi": 1,
        "enums": {
            name: {item: constants[item] for item in items} for name, items in model.enums.items()
        },
        "constants": {name: value for name, value in constants.items() if name not in named},
        "opaque": model.opaque,
        "structs": {name: _struct(name, model) for name in model.structs},
        "callbacks": {
            name: _function(f) for name, f in {**model.callbacks, **model.nested}.items()
        },
        "functions": {
            name: {**_owners(_function(f), f, model), "since": abi.since(f, model)}
            for name, f in model.functions.items()
        },
    }
    return _text(description)


def _struct(name: str, model: Model) -> dict[str, Any]:
    struct, offsets = model.structs[name], abi.offsets(name, model)
    return {
        "doc": struct.doc,
        **({"union": True} if struct.is_union else {}),
        "size": offsets[""],
        "fields": [
            {"name": f.name, "type": _type(f.type), "offset": offsets[f.name]}
            for f in struct.fields
        ],
    }


def _function(function: Function) -> dict[str, Any]:
    parameters = [{"name": p.name, "type": _type(p.type)} for p in function.parameters]
    return {
        "doc": function.doc,
        "returns": {"type": _type(function.returns)},
        "parameters": parameters,
    }


def _owners(entry: dict[str, Any], function: Function, model: Model) -> dict[str, Any]:
    """With who owns what is behind each pointer."""
    if owner := abi.result_ownership(function):
        entry["returns"]["ownership"] = owner
    for described, parameter in zip(entry["parameters"], function.parameters):
        if owner := abi.ownership(function, parameter, model):
            described["ownership"] = owner
    return entry


def _type(ctype: CType) -> str:
    return str(ctype)


def _text(description: dict[str, Any]) -> str:
    """JSON with one line for each declaration."""
    parts = []
    for key, value in description.items():
        if isinstance(value, dict):
            lines = [f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()]
            parts.append(f"  {json.dumps(key)}: {{\n" + ",\n".join(lines) + "\n  }")
        else:
            parts.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
