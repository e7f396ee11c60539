"""The time of one call of a compiled function that does nothing with arrays of float32: dlx.function and
its peers, interleaved, in one process.

usage: python benchmarks/bench_call.py [--json FILE] [--write FILE] [--rounds N]

Every callable checks dtype, number of axes, compactness and device of each argument. Each cell is the
best of many short rounds; only comparisons within one run are meaningful. Peers that are not installed,
or cannot be compiled here, are named and left out.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import gc
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_exchange import cpu_name

import dlx
from dlx._lib import library as dlx_library

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "build" / "bench-call"
INCLUDE = HERE.parent / "include"
COUNTS = (0, 1, 3, 8)
LIBRARIES = {"numpy": "NumPy", "torch": "PyTorch", "dlx": "dlx"}
COLUMNS = [("numpy", 0), *((kind, count) for kind in LIBRARIES for count in COUNTS[1:])]
PACKAGES = ("numpy", "torch", "apache-tvm-ffi", "nanobind")
Call = Callable[..., Any]


def compile_shared(name: str, sources: list[Path], *flags: str) -> Path:
    """A shared library of sources, made anew if one of them is newer."""
    BUILT.mkdir(parents=True, exist_ok=True)
    out = BUILT / f"{name}{sysconfig.get_config_var('EXT_SUFFIX') or '.so'}"
    if out.exists() and all(out.stat().st_mtime > path.stat().st_mtime for path in sources):
        return out
    compiler = "cc" if sources[0].suffix == ".c" else "c++"
    standard = [] if compiler == "cc" else ["-std=c++17"]
    subprocess.run(
        [
            compiler,
            *standard,
            "-O2",
            "-shared",
            "-fPIC",
            *map(str, sources),
            *flags,
            "-o",
            str(out),
        ],
        check=True,
    )
    return out


def import_built(name: str, sources: list[Path], *flags: str) -> Any:
    compile_shared(name, sources, "-I" + sysconfig.get_paths()["include"], *flags)
    sys.path.insert(0, str(BUILT))
    return __import__(name)


# ---- the callables: each is (what is called, {number of arguments: function}, kinds of arrays it takes)


def contract(count: int) -> str:
    return f"f{count}({', '.join(f'{name}: float32[_]' for name in 'abcdefgh'[:count])})"


def with_dlx(library: ctypes.CDLL, gil: bool) -> dict[int, Call]:
    return {n: dlx.function(library[f"f{n}"], contract(n), gil=gil) for n in COUNTS}


def with_ctypes(library: ctypes.CDLL, argument: Any) -> dict[int, Call]:
    found = {}
    for count in COUNTS[1:]:
        function = ctypes.CDLL(library._name)[f"p{count}"]
        function.argtypes, function.restype = [argument] * count, None
        found[count] = function
    return found


def with_tvm_ffi(gil: bool) -> dict[int, Call]:
    import tvm_ffi
    from tvm_ffi import libinfo

    path = compile_shared(
        "with_tvm_ffi",
        [HERE / "call/with_tvm_ffi.cc"],
        f"-I{libinfo.find_include_path()}",
        f"-I{libinfo.find_dlpack_include_path()}",
    )
    module = tvm_ffi.load_module(str(path))
    found = {}
    for count in COUNTS:
        found[count] = module.get_function(f"f{count}")
        found[count].release_gil = not gil
    return found


def with_nanobind() -> dict[int, Call]:
    import nanobind

    folder = Path(nanobind.include_dir()).parent
    flags = [
        f"-I{folder / 'include'}",
        f"-I{folder / 'ext/robin_map/include'}",
        "-fno-strict-aliasing",
    ]
    sources = [HERE / "call/with_nanobind.cc", folder / "src/nb_combined.cpp"]
    module = import_built("with_nanobind", sources, *flags)
    return {count: getattr(module, f"f{count}") for count in COUNTS}


def with_pybind11() -> dict[int, Call]:
    import torch

    include = Path(torch.__file__).parent / "include"  # torch ships pybind11's headers
    module = import_built("with_pybind11", [HERE / "call/with_pybind11.cc"], f"-I{include}")
    return {count: getattr(module, f"f{count}") for count in COUNTS}


def with_torch_operator() -> dict[int, Call]:
    path = compile_shared(
        "torch_operators", [HERE / "call/torch_operators.c"], f"-I{INCLUDE}", str(dlx_library.path)
    )
    library = ctypes.CDLL(str(path))
    return {count: dlx.torch_operator(library[f"f{count}"]) for count in COUNTS[1:]}


def with_custom_op() -> dict[int, Call]:
    import torch

    found = {}
    for count in COUNTS[1:]:
        names = "abcdefgh"[:count]
        code = f"def f({', '.join(f'{n}: torch.Tensor' for n in names)}) -> None: pass"
        scope: dict[str, Any] = {"torch": torch}
        exec(code, scope)
        found[count] = torch.library.custom_op(f"dlx_bench::f{count}", scope["f"], mutates_args=())
    return found


def callables(library: ctypes.CDLL) -> list[tuple[str, dict[int, Call], tuple[str, ...]]]:
    every = ("numpy", "torch", "torch int32", "torch grad", "dlx")
    floats = ("numpy", "torch", "dlx")
    rows: list[tuple[str, Callable[[], dict[int, Call]], tuple[str, ...]]] = [
        ("dlx.function, GIL kept", lambda: with_dlx(library, True), floats),
        ("dlx.function, GIL away", lambda: with_dlx(library, False), floats),
        ("tvm-ffi, GIL kept", lambda: with_tvm_ffi(True), floats),
        ("tvm-ffi, GIL away", lambda: with_tvm_ffi(False), floats),
        ("nanobind ndarray, GIL kept", with_nanobind, floats),
        ("pybind11 array_t, GIL kept", with_pybind11, ("numpy",)),
        (
            "ctypes with dlx.Array",
            lambda: with_ctypes(library, dlx.Array("float32", ndim=1)),
            floats,
        ),
        (
            "ctypes with ndpointer",
            lambda: with_ctypes(library, np.ctypeslib.ndpointer("float32", 1, flags="C")),
            ("numpy",),
        ),
        ("DLX_TORCH_OPERATOR", with_torch_operator, ("torch",)),
        ("torch.library.custom_op", with_custom_op, ("torch",)),
    ]
    found = []
    for name, make, kinds in rows:
        try:
            found.append((name, make(), tuple(kind for kind in kinds if kind in every)))
        except (ImportError, AttributeError, subprocess.CalledProcessError, OSError) as error:
            print(f"left out: {name}: {error}")
    return found


def arrays() -> dict[str, list[Any]]:
    made: dict[str, list[Any]] = {"numpy": [np.ones(3, np.float32) for _ in range(8)]}
    made["dlx"] = [dlx.asarray(x) for x in made["numpy"]]
    try:
        import torch
    except ImportError as error:
        print(f"left out: torch: {error}")
    else:
        made["torch"] = [torch.ones(3) for _ in range(8)]
    return made


# ---- timing


def loop(count: int) -> Callable[..., float]:
    """A function that calls f ten times a turn, so that the loop costs next to nothing."""
    names = ",".join(f"a{i}" for i in range(count))
    calls = ";".join([f"f({names})"] * 10)
    scope: dict[str, Any] = {"clock": time.perf_counter, "turns": range(25)}
    exec(f"def run(f,{names}):\n t=clock()\n for _ in turns: {calls}\n return clock()-t", scope)
    run: Callable[..., float] = scope["run"]
    return run


def measure(rounds: int) -> dict[tuple[str, str, int], float]:
    library = ctypes.CDLL(
        str(compile_shared("functions", [HERE / "call/functions.c"], f"-I{INCLUDE}"))
    )
    made, loops = arrays(), {count: loop(count) for count in COUNTS}
    cells = []
    for name, functions, kinds in callables(library):
        for kind in kinds:
            for count, function in functions.items():
                if kind in made and (count > 0 or kind == "numpy"):
                    cells.append(((name, kind, count), function, made[kind][:count]))
    best: dict[tuple[str, str, int], float] = {}
    gc.disable()
    for turn in range(rounds):
        for key, function, given in cells:
            if turn >= 20 and best[key] > 3e-6 and turn % 10:
                continue  # slow calls need fewer rounds
            taken = loops[key[2]](function, *given) / 250
            best[key] = min(best.get(key, taken), taken)
    gc.enable()
    return best


def wrong_arguments() -> list[tuple[str, float, str]]:
    """What a wrong dtype costs, and says."""
    library = ctypes.CDLL(
        str(compile_shared("functions", [HERE / "call/functions.c"], f"-I{INCLUDE}"))
    )
    out = []
    for name, functions, _ in callables(library):
        if "away" in name or "torch" in name.lower():
            continue
        words, best = "", 1.0
        for _ in range(200):
            start = time.perf_counter()
            try:
                functions[1](np.ones(3))
            except Exception as error:
                words = f"{type(error).__name__}: {error}".splitlines()[0]
            best = min(best, time.perf_counter() - start)
        out.append((name, best, words))
    return out


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "-"


def grid(record: dict[str, Any]) -> list[list[str]]:
    """A line for each callable: its name, and the times by kind and count of the arguments."""
    cells = {(c["callable"], c["arguments"], c["count"]): c["ns"] for c in record["ns"]}
    lines = []
    for name in dict.fromkeys(name for name, _, _ in cells):
        times = (cells.get((name, kind, count)) for kind, count in COLUMNS)
        lines.append([name, *("" if ns is None else f"{ns:.0f}" for ns in times)])
    return lines


def page(record: dict[str, Any]) -> str:
    """docs/benchmarks/calls.md"""
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    head = ["arrays of", *(f"{LIBRARIES[kind]}: {count}" for kind, count in COLUMNS)]
    lines = [
        "# Calls of compiled functions",
        "",
        f"Made by `./dev bench call --write docs/benchmarks/calls.md`: best of {record['rounds']} rounds in turns, all in "
        "one process, ns. The function does nothing; dlx, tvm-ffi, nanobind, pybind11 and ctypes check that "
        "each argument is float32, has one axis, is compact and on the CPU. Only dlx looks at PyTorch's lazy "
        "bits and gradients too. pybind11 is PyTorch's. Compare within one run only.",
        "",
        f"{record['date']}, {record['machine']}, load {record['load']}, CPython {record['python']}, {versions}.",
        "",
        f"| {' | '.join(head)} |",
        f"|---{'|--:' * len(COLUMNS)}|",
        *(f"| {' | '.join(line)} |" for line in grid(record)),
        "",
        "## A wrong dtype",
        "",
        "One NumPy array of float64 where float32 is expected.",
        "",
        "| callable | ns | what it says |",
        "|---|--:|---|",
        *(
            f"| {row['callable']} | {row['ns']} | {row['message'] or 'nothing: it converts'} |"
            for row in record["wrong_dtype"]
        ),
    ]
    return "\n".join(lines) + "\n"


def measured(options: argparse.Namespace) -> dict[str, Any]:
    load = os.getloadavg()[0]
    best = measure(options.rounds)
    wrong = wrong_arguments()
    return {
        "date": datetime.date.today().isoformat(),
        "machine": cpu_name(),
        "load": f"{load:.1f} to {os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in PACKAGES},
        "rounds": options.rounds,
        "ns": [
            {"callable": name, "arguments": kind, "count": count, "ns": round(t * 1e9, 1)}
            for (name, kind, count), t in best.items()
        ],
        "wrong_dtype": [
            {"callable": name, "ns": round(t * 1e9), "message": words} for name, t, words in wrong
        ],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write the figures into a file")
    parser.add_argument("--write", type=Path, help="also write the page of docs/benchmarks")
    parser.add_argument("--rounds", type=int, default=300, help="rounds (default: 300)")
    parser.add_argument("--c", help=argparse.SUPPRESS)
    options = parser.parse_args()
    record = measured(options)
    print(f"{'ns':28}" + "".join(f"{kind:>6}{count:2}" for kind, count in COLUMNS))
    for name, *times in grid(record):
        print(f"{name:28}" + "".join(f"{ns:>8}" for ns in times))
    print("\na float64 array instead of float32:")
    for row in record["wrong_dtype"]:
        print(f"{row['callable']:28}{row['ns']:8} ns  {row['message'][:110]}")
    print(f"\nload {record['load']}; Python {record['python']}; {record['versions']}")
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if options.write:
        options.write.write_text(page(record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
