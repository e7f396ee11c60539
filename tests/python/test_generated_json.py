"""bindings/abi.json, from which other generators work: it has all of the ABI, as the C compiler has it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dlx._lib import library
from test_generated import ROOT, compiler, declared

ABI = json.loads((ROOT / "bindings/abi.json").read_text(encoding="utf-8"))
OWNERS = {"borrowed", "consumed", "kept", "owned", "written"}

# Exported, and not described: nothing.
NOT_DESCRIBED: set[str] = set()


def test_it_has_every_function_of_the_headers() -> None:
    assert set(ABI["functions"]) == declared()


def test_it_has_every_symbol_that_the_library_exports() -> None:
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    said = subprocess.run(
        ["nm", "-D", "--defined-only", "--format=posix", library.path],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    exported = {
        re.split("[@ ]", line)[0] for line in said.splitlines() if line.split()[1] in "TDBRVW"
    }
    exported = {name for name in exported if name.startswith("dlx_")}
    assert exported - NOT_DESCRIBED == set(ABI["functions"])


def types() -> set[str]:
    """The names of all types that it mentions."""
    entries = [*ABI["functions"].values(), *ABI["callbacks"].values()]
    found = {entry["returns"]["type"] for entry in entries}
    found |= {p["type"] for entry in entries for p in entry["parameters"]}
    found |= {field["type"] for struct in ABI["structs"].values() for field in struct["fields"]}
    return {re.sub(r"^const |[ *]*\**(\[\d+\])?$", "", name).strip() for name in found}


def test_every_type_is_described() -> None:
    plain = {"void", "char", "double", "int", "size_t", "dlx_status"}
    plain |= {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    known = {*plain, *ABI["structs"], *ABI["opaque"], *ABI["callbacks"]}
    assert types() <= known, types() - known


def test_every_pointer_has_an_owner_and_every_function_a_version_and_a_sentence() -> None:
    for name, function in ABI["functions"].items():
        assert re.fullmatch(r"\d+\.\d+", function["since"]), name
        assert function["doc"], name
        for value in [function["returns"], *function["parameters"]]:
            is_address = "*" in value["type"] or value["type"] in ABI["callbacks"]
            assert (value.get("ownership") in OWNERS) == is_address, (name, value)


def test_what_call_h_hands_over() -> None:
    def owners(name: str) -> dict[str, str]:
        parameters = ABI["functions"][name]["parameters"]
        return {p["name"]: p["ownership"] for p in parameters if "ownership" in p}

    assert owners("dlx_contract_create") == {"text": "borrowed", "out": "owned"}
    assert owners("dlx_contract_release") == {"contract": "consumed"}
    assert owners("dlx_python_give_back") == {"borrowed": "consumed"}
    assert owners("dlx_set_last_error") == {"message": "borrowed"}
    assert ABI["structs"]["dlx_argument"]["union"] is True


def test_structs_and_constants_are_those_of_the_c_compiler(tmp_path: Path) -> None:
    rows = []
    for name, struct in ABI["structs"].items():
        tag = f"struct {name}" if name.startswith("Arrow") else name
        rows.append((f"sizeof({tag})", struct["size"]))
        rows += [(f"offsetof({tag}, {f['name']})", f["offset"]) for f in struct["fields"]]
    values = dict(ABI["constants"])
    for enum in ABI["enums"].values():
        values.update(enum)
    rows += [(name, value) for name, value in values.items() if value != -(2**63)]
    checks = "".join(f'_Static_assert({text} == {value}, "{text}");\n' for text, value in rows)
    source = tmp_path / "layout.c"
    headers = "".join(f"#include <dlx/{name}.h>\n" for name in ("arrow", "call", "python"))
    source.write_text(f"{headers}#include <stddef.h>\n{checks}")
    include = f"-I{ROOT / 'include'}"
    subprocess.run(
        [compiler(), "-std=c11", "-fsyntax-only", include, "-DDLX_DLPACK_OWN", source], check=True
    )
