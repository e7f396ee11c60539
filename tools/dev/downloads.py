"""Says before the tests start what will be downloaded, and how to do without."""

from __future__ import annotations

from . import debian, environments
from .shell import Shell

# Downloads of third_party/python/NAME.txt, measured on 2026-11-28 with CPython 3.11 on x86-64.
TESTS = "80 MB: NumPy, PyArrow, Pillow and others, into .venv"
TORCH = (
    "PyTorch, 0.2 GB, or 3 GB where pip's index offers the build with CUDA first, into .venv\n"
    "    (DLX_NO_TORCH=1 does without it; tests that need it are skipped)"
)
SYSTEMS = (
    "JAX, TensorFlow and other systems, 3 GB, into .venv-systems\n"
    "    (./dev test does without them)"
)
LEAST = "DLX_NO_TORCH=1 ./dev test --quick downloads the least; ./dev test src/base needs no Python package."


def announce(shell: Shell, mode: str, *, python: bool = True) -> None:
    """Prints what is missing, if anything is; `python` says whether pytest runs."""
    venv = shell.settings.venv
    wanted = [*debian.missing({**debian.BUILD, **debian.TESTS, **debian.MORE_TESTS})]
    lines = [f"Debian packages: {' '.join(wanted)}"] if wanted else []
    if python and not environments.installed(shell, venv, "test"):
        lines.append(TESTS)
    if python and not shell.settings.no_torch and not environments.installed(shell, venv, "torch"):
        lines.append(TORCH)
    if mode in ("all", "release", "systems") and not shell.settings.elsewhere("numpy2").exists():
        lines.append(SYSTEMS)
    if lines:
        listed = "\n".join(f"  - {line}" for line in lines)
        shell.print(f"This is downloaded first, once:\n{listed}\n{LEAST}")
