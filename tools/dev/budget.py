"""./dev kernels --budget: what the CUDA kernels cost, by NVIDIA's assembler. Needs no GPU."""

from __future__ import annotations

import sys

from . import environments
from .shell import Failed, Shell


def run(shell: Shell, *, check: bool) -> int:
    venv = shell.settings.elsewhere("kernels")
    python = environments.find(shell)
    if python is None or not environments.make(shell, venv, python):
        raise Failed(f"{shell.settings.shown(venv)} could not be made")
    if not environments.install(shell, venv, "kernels"):
        shell.say(
            "skipped: ptxas and nvdisasm could not be installed (third_party/python/kernels.txt)"
        )
        return 0
    tools = []
    for name in ("ptxas", "nvdisasm"):
        found = sorted(venv.glob(f"lib/python3*/site-packages/nvidia/*/bin/{name}"))
        if not found and not shell.settings.dry:
            shell.say(f"skipped: the package has no {name} for this machine")
            return 0
        tools.append(str(found[0]) if found else name)
    return shell.run(sys.executable, "src/gpu/budget.py", *tools, *(["--check"] if check else []))
