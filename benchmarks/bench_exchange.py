"""The time of one exchange: dlx and its peers, interleaved, in one process.

usage: python benchmarks/bench_exchange.py [--c PROGRAM] [--elsewhere PYTHON] [--write FILE]

Each row times two statements in turns and keeps the best time of each, so that noise affects both
alike. Only the ratio is meaningful. --c is the compiled exchange.c. --elsewhere is a Python of another
environment, which measures the rows of libraries that are not installed here.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
import timeit
from pathlib import Path

CALLS = 2_000  # most calls in a round
ROUNDS = 1000  # short rounds, so that some run between the bursts of other programs
ROUND_NS, ROW_NS = 5e5, 1e9  # slow statements are called less often

SETUP = """
import numpy as np
import dlx
import array, collections
a = np.zeros((3, 4), np.float32)
d = dlx.from_dlpack(a)
buffer, values = bytearray(64), array.array("d", [1, 2, 3])
class Interface:
    def __init__(self, x):
        self.x, self.__array_interface__ = x, x.__array_interface__
class Struct:
    def __init__(self, x):
        self.x, self.__array_struct__ = x, x.__array_struct__
class Method:
    def __init__(self, x):
        self.x = x
    def __array__(self, dtype=None, copy=None):
        return self.x
class Arrow:
    def __init__(self, x):
        self.x = x
    def __arrow_c_array__(self, requested_schema=None):
        return self.x.__arrow_c_array__(requested_schema)
interface, struct, method = Interface(a), Struct(a), Method(a)
number, numbers, scalars = 1.5, [1, 2, 3], [np.float32(i) for i in range(1000)]
few = scalars[:3]
mixed = [1.5, np.float32(2)] * 500
rows = [[i + 0.5 * j for j in range(1000)] for i in range(1000)]
queue, one = collections.deque([1.5] * 1000), dlx.asarray(a[:1])
a0, d0 = a[0, 0:1].reshape(()), d[0, 0]
dm = dlx.asarray(a == 0)
"""
SETUP_PEERS = {
    "torch": "import torch\nti = torch.zeros(3, 4, dtype=torch.int32)\ntf = torch.zeros(3, 4)\n"
    "tc = torch.zeros(3, 4, dtype=torch.complex64)\ntm = tf == 0\n",
    "tvm_ffi": "import tvm_ffi\n",
    "ctypes_dlpack": "import ctypes_dlpack\n",
    "pyarrow": "import pyarrow as pa\np = pa.array([1.0, 2.0, 3.0])\npb = pa.array([True] * 64)\n"
    "pl = pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2))\nrow = d[0]\narrow = Arrow(p)\n",
    "jax": "import jax\nraw = np.zeros(1024, np.uint8)\nstart = -raw.ctypes.data % 64\n"
    "aligned = dlx.asarray(raw[start:start + 512].view(np.float32).reshape(8, 16))\n"
    "import functools\npartial = functools.partial(jax.dlpack.from_dlpack)\n"
    "def nothing(x):\n    return x\n"
    "dlx._native._usual('nothing', {dlx.Tensor: False}, nothing, False, 64, aligned)\n",
}

# (what, dlx, peer, goal for the ratio or, with "+", for the difference, modules that the row needs)
ROWS: list[tuple[str, str, str, str, tuple[str, ...]]] = [
    ("import an ndarray", "dlx.from_dlpack(a)", "np.from_dlpack(a)", "0.75", ()),
    ("import an ndarray", "dlx.from_dlpack(a)", "tvm_ffi.from_dlpack(a)", "", ("tvm_ffi",)),
    ("import an ndarray", "dlx.from_dlpack(a)", "ctypes_dlpack.array_as_dlpack(a)", "",
     ("ctypes_dlpack",)),
    ("import torch int32", "dlx.from_dlpack(ti)", "tvm_ffi.from_dlpack(ti)", "0.6",
     ("torch", "tvm_ffi")),
    ("import torch float32, with checks", "dlx.from_dlpack(tf)", "tvm_ffi.from_dlpack(tf)", "0.6",
     ("torch", "tvm_ffi")),
    ("import torch complex64, with checks", "dlx.from_dlpack(tc)", "tvm_ffi.from_dlpack(tc)", "0.6",
     ("torch", "tvm_ffi")),
    ("the same, checked by the caller", "dlx.from_dlpack(tc)",
     "tc.requires_grad or tc.is_conj() or tc.is_neg() or tvm_ffi.from_dlpack(tc)", "1.2",
     ("torch", "tvm_ffi")),
    ("dispatch of asarray: an ndarray", "dlx.asarray(a)", "dlx.from_dlpack(a)", "+50 ns", ()),
    ("dispatch of asarray: torch int32", "dlx.asarray(ti)", "dlx.from_dlpack(ti)", "+50 ns",
     ("torch",)),
    ("dispatch of asarray: torch float32", "dlx.asarray(tf)", "dlx.from_dlpack(tf)", "+50 ns",
     ("torch",)),
    ("dispatch of asarray: pyarrow", "dlx.asarray(p)", "dlx.from_dlpack(p)", "+50 ns",
     ("pyarrow",)),
    ("buffer: a bytearray", "dlx.asarray(buffer)", "np.frombuffer(buffer, np.uint8)", "1.2", ()),
    ("buffer: array.array", "dlx.asarray(values)", "np.asarray(values)", "1.2", ()),
    ("buffer: a memoryview", "dlx.asarray(memoryview(a))", "np.asarray(memoryview(a))", "1.2", ()),
    ("`__array_interface__`", "dlx.asarray(interface)", "np.asarray(interface)", "1.2", ()),
    ("`__array_struct__`", "dlx.asarray(struct)", "np.asarray(struct)", "1.2", ()),
    ("`__array__`", "dlx.asarray(method)", "np.asarray(method)", "1.2", ()),
    ("`__arrow_c_array__`", "dlx.asarray(arrow)", "pa.array(arrow)", "1.2", ("pyarrow",)),
    ("of it, the producer's own part", "dlx.asarray(arrow)", "arrow.__arrow_c_array__()", "",
     ("pyarrow",)),
    ("a number", "dlx.asarray(number)", "np.asarray(number)", "1.0", ()),
    ("a list", "dlx.asarray(numbers)", "np.asarray(numbers)", "1.0", ()),
    ("3 numbers of NumPy", "dlx.asarray(few)", "np.asarray(few)", "1.0", ()),
    ("1000 numbers of NumPy", "dlx.asarray(scalars)", "np.asarray(scalars)", "1.0", ()),
    ("1000 numbers of NumPy and of Python", "dlx.asarray(mixed)", "np.asarray(mixed)", "1.0", ()),
    ("1000 lists of 1000 floats", "dlx.asarray(rows)", "np.asarray(rows)", "1.0", ()),
    ("1000 numbers in a deque", "dlx.asarray(queue)", "np.asarray(queue)", "1.0", ()),
    ("convert to NumPy", "dlx.convert(d, 'numpy')", "np.from_dlpack(d)", "+150 ns", ()),
    ("convert to torch", "dlx.convert(d, 'torch')", "torch.from_dlpack(d)", "+150 ns", ("torch",)),
    ("convert a batch of one to torch", "dlx.convert(one, 'torch')", "torch.from_dlpack(one)",
     "+150 ns", ("torch",)),
    ("convert an ndarray to torch", "dlx.convert(a, 'torch')", "torch.from_dlpack(a)", "+150 ns",
     ("torch",)),
    ("convert torch to NumPy", "dlx.convert(tf, 'numpy')", "np.from_dlpack(tf)", "+150 ns",
     ("torch",)),
    ("convert to JAX", "dlx.convert(aligned, 'jax')", "jax.dlpack.from_dlpack(aligned)", "+150 ns",
     ("jax",)),
    ("of it, a call from C", "partial(aligned)", "jax.dlpack.from_dlpack(aligned)", "", ("jax",)),
    ("of it, dlx's own part", "dlx.convert(aligned, 'nothing')", "nothing(aligned)", "+150 ns",
     ("jax",)),
    ("import torch float32", "dlx.from_dlpack(tf)", "np.from_dlpack(tf)", "", ("torch",)),
    ("import a pyarrow array", "dlx.from_dlpack(p)", "np.from_dlpack(p)", "", ("pyarrow",)),
    ("asarray of a pyarrow array", "dlx.asarray(p)", "p.to_numpy()", "1.2", ("pyarrow",)),
    ("asarray of pyarrow booleans", "dlx.asarray(pb)", "pb.to_numpy(zero_copy_only=False)", "",
     ("pyarrow",)),
    ("asarray of pyarrow lists", "dlx.asarray(pl)", "pl.flatten().to_numpy().reshape(-1, 2)", "1.2",
     ("pyarrow",)),
    ("export Arrow capsules", "row.__arrow_c_array__()", "p.__arrow_c_array__()", "1.2", ("pyarrow",)),
    ("pyarrow imports it", "pa.array(row)", "pa.array(a[0])", "1.2", ("pyarrow",)),
    ("export a capsule", "d.__dlpack__(max_version=(1, 3))", "a.__dlpack__(max_version=(1, 3))",
     "1.0", ()),
    ("NumPy imports it", "np.from_dlpack(d)", "np.from_dlpack(a)", "1.05", ()),
    ("torch imports it", "torch.from_dlpack(d)", "torch.from_dlpack(a)", "", ("torch",)),
    ("tvm-ffi imports it", "tvm_ffi.from_dlpack(d)", "tvm_ffi.from_dlpack(ti)", "",
     ("torch", "tvm_ffi")),
    ("memoryview", "memoryview(d)", "memoryview(a)", "", ()),
    ("numpy()", "d.numpy()", "np.asarray(d)", "1.0", ()),
    ("np.asarray", "np.asarray(d)", "np.asarray(memoryview(a))", "", ()),
    ("asarray of an ndarray", "dlx.asarray(a)", "torch.from_numpy(a)", "", ("torch",)),
    ("shape", "d.shape", "a.shape", "", ()),
    ("dtype", "d.dtype", "a.dtype", "", ()),
    ("`__dlpack_device__`", "d.__dlpack_device__()", "a.__dlpack_device__()", "", ()),
    ("a class of NumPy's as dtype", "d.view(np.int32)", "ti.view(torch.float32)", "", ("torch",)),
    ("to_device, where it is", "d.to_device('cpu')", "ti.to('cpu')", "1.0", ("torch",)),
    ("tobytes", "d.tobytes()", "a.tobytes()", "1.0", ()),
    ("item", "d0.item()", "a0.item()", "1.0", ()),
    ("float", "float(d0)", "float(a0)", "1.2", ()),
    ("store a number", "d[0, 0] = 1.5", "a[0, 0] = 1.5", "1.2", ()),
    ("an operator", "d + d", "tf + tf", "1.0", ("torch",)),
    ("an operator", "d + d", "a + a", "", ()),
    ("a function of NumPy's", "np.exp(d)", "torch.exp(tf)", "", ("torch",)),
    ("a mask as a key", "d[dm]", "tf[tm]", "1.0", ("torch",)),
    ("slice", "d[1:3]", "a[1:3]", "", ()),
    ("slices of both axes", "d[1:3, ::2]", "a[1:3, ::2]", "", ()),
]  # fmt: skip


def nanoseconds(statements: list[str], namespace: dict[str, object]) -> list[float]:
    """Return the best time of each statement. They run in turns."""
    timers = [timeit.Timer(statement, globals=namespace) for statement in statements]
    best = [timer.timeit(1) * 1e9 for timer in timers]
    best = [min(first, timer.timeit(1) * 1e9) for first, timer in zip(best, timers)]
    calls = max(1, min(CALLS, int(ROUND_NS / max(best))))
    order = list(enumerate(timers))
    for _ in range(max(5, min(ROUNDS, int(ROW_NS / (calls * sum(best)))))):
        for i, timer in order:
            best[i] = min(best[i], timer.timeit(calls) / calls * 1e9)
        order.reverse()  # each statement follows each other one equally often
    return best


def import_milliseconds(module: str) -> float:
    """Return the best import time in a fresh interpreter. Modules are compiled, as in an installed dlx."""
    best = float("inf")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    code = f"import time; s = time.perf_counter(); import {module}; print(time.perf_counter() - s)"
    for _ in range(25):
        output = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        best = min(best, float(output.stdout) * 1e3)
    return best


def cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def version_of(distribution: str, elsewhere: str | None) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        if elsewhere is None:
            return "not installed"
    code = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    done = subprocess.run([elsewhere, "-c", code], capture_output=True, text=True, check=False)
    return f"{done.stdout.strip()} (apart)" if done.returncode == 0 else "not installed"


def rows_elsewhere(python: str, module: str) -> list[str]:
    """Return the rows that need `module`, measured by another interpreter."""
    command = [python, __file__, "--only", module]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line for line in output.splitlines() if line.startswith("|")]


def measure_rows(elsewhere: str | None, only: str | None) -> list[str]:
    """Return the rows of the table, or those that need the module `only`."""
    namespace: dict[str, object] = {}
    exec(SETUP, namespace)
    present = set()
    for module, setup in SETUP_PEERS.items():
        if importlib.util.find_spec(module) is not None:
            exec(setup, namespace)
            present.add(module)
        elif not elsewhere:
            print(f"left out: rows with {module}, which is not installed", file=sys.stderr)
    lines: list[str] = []
    asked = set()
    for what, ours, peer, goal, modules in ROWS:
        if only is not None and only not in modules:
            continue
        if not present.issuperset(modules):
            missing = sorted(set(modules) - present)[0]
            if elsewhere and missing not in asked:
                lines += rows_elsewhere(elsewhere, missing)
                asked.add(missing)
            continue
        print(f"  {what}: {ours} beside {peer}", file=sys.stderr)
        own, other = nanoseconds([ours, peer], namespace)
        limit = goal and f"≤ {goal}"
        lines.append(
            f"| {what} | `{ours}` | {own:.0f} | `{peer}` | {other:.0f} | {own / other:.2f} "
            f"| {own - other:+.0f} | {limit} |"
        )
    return lines


def measure(c_program: str | None, elsewhere: str | None) -> list[str]:
    lines = [
        "| what | dlx | ns | beside | ns | ratio | difference | goal |",
        "|---|---|--:|---|--:|--:|--:|--:|",
        *measure_rows(elsewhere, None),
    ]
    own, other = import_milliseconds("dlx"), import_milliseconds("numpy")
    lines.append(
        f"| import | `import dlx` | {own:.1f} ms | `import numpy` | {other:.1f} ms "
        f"| {own / other:.2f} | | ≤ 0.2 |"
    )
    if c_program is not None:
        outputs = [
            subprocess.run([c_program], check=True, capture_output=True, text=True).stdout.split()
            for _ in range(25)
        ]
        took, allocations = min(outputs, key=lambda output: float(output[0]))
        lines.append(
            f"| in C | wrap, export, import, release | {float(took):.0f} | {allocations} allocations "
            "| | | | ≤ 120 ns, ≤ 3 |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--c", metavar="PROGRAM", help="the compiled exchange.c")
    parser.add_argument("--elsewhere", metavar="PYTHON", help="for libraries not installed here")
    parser.add_argument("--only", metavar="MODULE", help="print only the rows that need MODULE")
    parser.add_argument("--write", metavar="FILE", help="also write the table there")
    arguments = parser.parse_args()
    if arguments.only:
        print("\n".join(measure_rows(None, arguments.only)))
        return
    lines = measure(arguments.c, arguments.elsewhere)
    print("\n".join(lines))
    if arguments.write:
        versions = ", ".join(
            f"{name} {version_of(name, arguments.elsewhere)}"
            for name in ("numpy", "torch", "apache-tvm-ffi", "ctypes-dlpack", "pyarrow", "jax")
        )
        head = [
            "# Exchange: what a call costs",
            "",
            "Made by `./dev bench exchange --write docs/benchmarks/exchange.md`: best of "
            f"{ROUNDS} rounds of up to {CALLS} calls (fewer where one takes long), dlx and its peer "
            "in turns. Ratios below 1: dlx is faster. Goals, of the ratio or the difference, are "
            "dlx's own.",
            "",
            f"{datetime.date.today().isoformat()}, {cpu_name()}, {platform.system()}, "
            f"CPython {platform.python_version()}, {versions}.",
            "",
        ]
        path = Path(arguments.write)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(head + lines) + "\n")


if __name__ == "__main__":
    main()
