"""./dev docs: the site, from docs/ and the headers, into build/docs/html."""

from __future__ import annotations

import shutil
from pathlib import Path

from . import bazel, debian, downloads, environments
from .runners import python_variables
from .shell import Failed, Shell

PYTHONS = ("3.11", "3.14")


def setup(shell: Shell) -> Path:
    """The environment with Sphinx."""
    venv = shell.settings.elsewhere("docs")
    if not environments.works(shell, venv):
        found = environments.find_between(shell, *PYTHONS)
        if found is None or not environments.make(shell, venv, found):
            raise Failed(f"docs: Sphinx needs Python {PYTHONS[0]} to {PYTHONS[1]} with venv")
    if not environments.install(shell, venv, "docs"):
        raise Failed("third_party/python/docs.txt could not be installed")
    return venv


def run(shell: Shell, *, check: bool) -> int:
    """No warning is allowed. `check` builds from nothing, and then looks at the finished pages."""
    downloads.announce(shell, debian.setup_build, setup)
    bazel.build_library(shell)
    venv = setup(shell)
    build = shell.settings.root / "build/docs"
    if not shell.settings.dry:
        if check:
            shutil.rmtree(build, ignore_errors=True)
        (build / "source").mkdir(parents=True, exist_ok=True)
    python, variables = venv / "bin/python", python_variables(shell)
    folders = [f"build/docs/{name}" for name in ("source", "html")]
    options = (
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-c",
        "docs/site",
        "-d",
        "build/docs/trees",
    )
    if shell.run(python, "-m", "sphinx", *options, *folders, env=variables):
        return 1
    if check and shell.run(python, "docs/site/check.py", folders[1], env=variables):
        return 1
    shell.print(f"{folders[1]}/index.html")
    return 0
