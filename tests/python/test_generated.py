"""The committed declarations are those of the headers, and those of the C compiler."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dlx import dtypes, raw
from dlx._lib import constants, library
from dlx._lib.generated_ctypes import CALLBACKS, FUNCTIONS, STRUCTS

ROOT = Path(__file__).resolve().parents[2]
HEADERS = [ROOT / "include" / "dlx" / name for name in ("dlx.h", "call.h", "python.h", "arrow.h")]
GENERATOR = ROOT / "bindings" / "gen" / "gen.py"


def compiler() -> str:
    """The C compiler, or a skip."""
    found = shutil.which((os.environ.get("CC") or "cc").split()[0])
    if found is None:
        pytest.skip("no C compiler")
    return found


def test_the_generated_files_are_up_to_date() -> None:
    pytest.importorskip("pycparser", reason="the generator needs pycparser")
    pytest.importorskip("cffi", reason="the generator needs cffi")
    compiler()
    done = subprocess.run(
        [sys.executable, str(GENERATOR), "--check"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def declared() -> set[str]:
    """Names of the functions in the headers, found in the text alone."""
    text = "\n".join(header.read_text(encoding="utf-8") for header in HEADERS)
    return set(re.findall(r"^DLX_API [^;(]*?\b(dlx_\w+)\(", text, re.M))


def test_every_function_of_the_headers_is_declared() -> None:
    assert set(FUNCTIONS) == declared()
    for name in declared():
        assert callable(getattr(library.backend.functions, name))


def test_every_function_of_dlx_h_is_in_raw() -> None:
    elsewhere = ("dlx_python_", "dlx_contract_")
    names = {name for name in declared() if not name.startswith(elsewhere)}
    assert names <= set(raw.__all__)
    for name in names:
        function = getattr(raw, name)
        assert function.__name__ == name
        assert function.__doc__


def test_every_constant_of_dlx_h_is_in_raw() -> None:
    text = re.sub(r"/\*.*?\*/", "", HEADERS[0].read_text(encoding="utf-8"), flags=re.S)
    names = set(re.findall(r"^\s*(DLX_\w+) = -?\d+", text, re.M))
    names |= set(re.findall(r"^#define (DLX_\w+) (?!\{)\S", text, re.M)) - {"DLX_API"}
    assert len(names) > 30
    for name in names:
        assert isinstance(getattr(raw, name), int)


def test_the_package_s_own_numbers_are_those_of_the_headers() -> None:
    named = {
        "READ_ONLY": "DLPACK_FLAG_BITMASK_READ_ONLY",
        "PADDED": "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED",
        **{name: f"DLX_{name}" for name in vars(constants) if hasattr(raw, f"DLX_{name}")},
        "CPU": "kDLCPU",
        "CUDA": "kDLCUDA",
        "CUDA_HOST": "kDLCUDAHost",
        "CUDA_MANAGED": "kDLCUDAManaged",
        "ONEAPI": "kDLOneAPI",
        "ROCM": "kDLROCM",
        "ROCM_HOST": "kDLROCMHost",
    }
    own = {name for name in vars(constants) if name.isupper()} - {"THE_CPU", "HOSTS"}
    assert own == set(named)
    for name, official in named.items():
        assert getattr(constants, name) == getattr(raw, official)
    codes = ("Int", "UInt", "Float", "OpaqueHandle", "Bfloat", "Complex", "Bool")
    assert [getattr(raw, f"kDL{code}") for code in codes] == [
        getattr(dtypes, name)
        for name in ("INT", "UINT", "FLOAT", "OPAQUE", "BFLOAT", "COMPLEX", "BOOL")
    ]


def test_names_that_raw_exports_exist() -> None:
    assert len(set(raw.__all__)) == len(raw.__all__)
    for name in raw.__all__:
        assert hasattr(raw, name)


def layout_of_compiler(folder: Path) -> dict[str, int]:
    """sizeof and offsetof of everything, and the value of every constant, as C has them."""
    rows = []
    for name, struct in STRUCTS.items():
        rows.append((name, f"sizeof({name})"))
        rows += [(f"{name}.{f[0]}", f"offsetof({name}, {f[0]})") for f in struct._fields_]
        rows += [(f"{name}.{f[0]} size", f"sizeof((({name} *)0)->{f[0]})") for f in struct._fields_]
    constants = [name for name in raw.__all__ if isinstance(getattr(raw, name), int)]
    rows += [(name, name) for name in constants]
    lines = [f'  printf("%s=%lld\\n", "{name}", (long long){value});' for name, value in rows]
    source = folder / "layout.c"
    # Arrow's structs have tags only.
    tags = "".join(f"typedef struct {name} {name};\n" for name in STRUCTS if name[:5] == "Arrow")
    source.write_text(
        "#include <stdio.h>\n#include <dlx/arrow.h>\n#include <dlx/call.h>\n"
        + tags
        + "int main(void) {\n"
        + "\n".join(lines)
        + "\n  return 0;\n}\n"
    )
    program = folder / "layout"
    include = f"-I{ROOT / 'include'}"
    subprocess.run(
        [compiler(), "-std=c11", include, "-DDLX_DLPACK_OWN", source, "-o", program], check=True
    )
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in (row.split("=") for row in output.splitlines())}


def layout_of_ctypes() -> dict[str, int]:
    rows = {}
    for name, struct in STRUCTS.items():
        rows[name] = ctypes.sizeof(struct)
        for field, *_ in struct._fields_:
            rows[f"{name}.{field}"] = getattr(struct, field).offset
            rows[f"{name}.{field} size"] = getattr(struct, field).size
    return rows


def layout_of_cffi() -> dict[str, int]:
    ffi = pytest.importorskip("dlx._lib.generated_cffi", reason="cffi is not installed").ffi
    rows = {}
    for name, struct in STRUCTS.items():
        rows[name] = ffi.sizeof(name)
        for field, info in ffi.typeof(name).fields:
            rows[f"{name}.{field}"] = info.offset
            rows[f"{name}.{field} size"] = ffi.sizeof(info.type)
        assert len(ffi.typeof(name).fields) == len(struct._fields_)
    return rows


@pytest.mark.parametrize("layout", [layout_of_ctypes, layout_of_cffi])
def test_structs_lie_in_memory_as_the_c_compiler_has_them(layout: object, tmp_path: Path) -> None:
    truth = layout_of_compiler(tmp_path)
    rows = layout()  # type: ignore[operator]
    assert rows == {name: truth[name] for name in rows}
    for name in raw.__all__:
        value = getattr(raw, name)
        if isinstance(value, int):
            assert truth[name] == value, name


def test_both_bindings_have_the_same_functions_callbacks_and_constants() -> None:
    generated = pytest.importorskip("dlx._lib.generated_cffi", reason="cffi is not installed")
    loaded = generated.ffi.dlopen(library.path)
    for name, (_, parameters) in FUNCTIONS.items():
        assert len(generated.ffi.typeof(getattr(loaded, name)).args) == len(parameters), name
    for name in CALLBACKS:
        struct, _, field = name.partition(".")
        ctype = generated.ffi.typeof(struct)
        ctype = dict(ctype.fields)[field].type if field else ctype
        assert len(ctype.args) == len(CALLBACKS[name][1]), name
    for name in raw.__all__:
        if isinstance(getattr(raw, name), int):
            assert getattr(loaded, name) == getattr(raw, name), name
