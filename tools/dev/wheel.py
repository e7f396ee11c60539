"""./dev wheel: the wheel and the source distribution."""

from __future__ import annotations

from . import debian, environments
from .shell import Shell


def run(shell: Shell) -> int:
    debian.setup_build(shell)
    debian.setup_packaging(shell)
    environments.setup(shell, "test")
    shell.say("building the wheel and the source distribution into dist/")
    shell.check(shell.settings.interpreter, "tests/packaging/build.py", "dist")
    return shell.run("ls", "-l", "dist")
