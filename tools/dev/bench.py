"""./dev bench: benchmarks/bench_NAME.py, with the C or C++ program of that name if it exists.

bench_thresholds.py uses the one of bench_ways.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import bazel, environments, gpu, kit
from .runners import python_variables
from .shell import Failed, Shell, Word


def run(shell: Shell, arguments: Sequence[str]) -> int:
    settings = shell.settings
    name, *rest = arguments or ["exchange"]
    folder = settings.root / "benchmarks"
    # Not "NAME.py": a script's folder comes first on sys.path, and a copy.py there would hide Python's.
    names = [path.stem[len("bench_") :] for path in sorted(folder.glob("bench_*.py"))]
    if name not in names:
        raise Failed(f"no benchmark '{name}' (there are: {', '.join(names)})")
    if name == "gpu":
        return gpu.bench(shell, rest)
    if settings.kit:
        raise Failed(kit.ONLY)
    bazel.build_library(shell)
    environments.setup_tests(shell)
    program: list[Word] = []
    source = "ways" if name == "thresholds" else name
    if (folder / f"{source}.c").exists() or (folder / f"{source}.cc").exists():
        bazel.build(shell, f"//benchmarks:{source}")
        program = ["--c", settings.root / "bazel-bin/benchmarks" / source]
    # JAX is in the environment of the whole systems, if ./dev test --systems has made it.
    elsewhere = settings.elsewhere("numpy2") / "bin/python"
    if name == "exchange" and elsewhere.exists():
        program += ["--elsewhere", elsewhere]
    interpreter = settings.interpreter
    if name == "call" and elsewhere.exists():  # with nanobind
        interpreter = str(elsewhere)
    script = f"benchmarks/bench_{name}.py"
    return shell.run(interpreter, script, *program, *rest, env=python_variables(shell))
