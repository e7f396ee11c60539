"""Python interpreters, virtual environments, and the pinned packages of third_party/python."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from . import debian
from .shell import Failed, Shell

NEWEST_FIRST = [f"python3.{minor}" for minor in range(15, 8, -1)]
WITHOUT_GIL = [f"python3.{minor}t" for minor in range(15, 12, -1)]
HAS_VENV = "import ensurepip, venv, sys; sys.exit(sys.version_info < (3, 9))"
IS_BETWEEN = """
import ensurepip, sys, sysconfig, venv
oldest, newest = (tuple(map(int, text.rstrip("t").split("."))) for text in sys.argv[1:])
without_gil = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
fits = oldest <= sys.version_info[:2] <= newest and without_gil == sys.argv[1].endswith("t")
sys.exit(not fits)
"""


def find(shell: Shell) -> str | None:
    """The interpreter for .venv: DLX_PYTHON, else the system's python3, for which prebuilt packages
    exist, else the newest."""
    wanted = shell.settings.python
    for python in [wanted] if wanted else ["python3", *NEWEST_FIRST]:
        if shell.ask(python, "-c", HAS_VENV) is not None:
            return shutil.which(python)
    return None


def find_between(shell: Shell, oldest: str, newest: str) -> str | None:
    """An interpreter of this version, with venv. A version that ends with t: one without the GIL."""
    pyenv = sorted(map(str, (Path.home() / ".pyenv/versions").glob("3.*/bin/python")))
    first = shell.settings.python or "python3"
    for python in [first, *NEWEST_FIRST, *WITHOUT_GIL, *pyenv]:
        if shell.ask(python, "-c", IS_BETWEEN, oldest, newest) is not None:
            return shutil.which(python)
    return None


def works(shell: Shell, venv: Path) -> bool:
    return shell.ask(venv / "bin/python", "-c", "") is not None


def make(shell: Shell, venv: Path, python: str) -> bool:
    """Makes a virtual environment unless it exists."""
    return works(shell, venv) or shell.run(python, "-m", "venv", "--clear", venv) == 0


def make_own(shell: Shell) -> None:
    """Makes .venv unless it exists."""
    venv = shell.settings.venv
    if works(shell, venv):
        return
    python = find(shell)
    if python is None:
        # There may be a python3, but without venv.
        debian.need(shell, "Python 3.9 or newer with venv", {"python3-venv": "python3-with-venv"})
        python = find(shell)
    if python is None:
        raise Failed("found no Python 3.9 or newer with venv")
    shell.say(f"making .venv with {shell.ask(python, '--version')}")
    shell.check(python, "-m", "venv", "--clear", venv)


def requirements(shell: Shell, name: str) -> Path:
    return shell.settings.root / "third_party/python" / f"{name}.txt"


def installed(shell: Shell, venv: Path, name: str) -> bool:
    stamp = venv / f"{name}.installed"
    return stamp.exists() and stamp.read_bytes() == requirements(shell, name).read_bytes()


def install(shell: Shell, venv: Path, name: str) -> bool:
    """Installs third_party/python/NAME.txt, once for each content."""
    if installed(shell, venv, name):
        return True
    file = requirements(shell, name)
    packages = sorted(set(re.findall(r"^([a-z][^=;\s]*)==", file.read_text(), re.M | re.I)))
    shell.say(f"installing into {shell.settings.shown(venv)}: {' '.join(packages)}")
    # Most modules are never imported. Skipping their compilation halves the time.
    if pip(shell, venv, "install", "--no-compile", "--only-binary", ":all:", "-r", str(file)):
        return False
    if not shell.settings.dry:
        shutil.copy(file, venv / f"{name}.installed")
    return True


def pip(shell: Shell, venv: Path, command: str, *arguments: str) -> int:
    python = venv / "bin/python"
    return shell.run(python, "-m", "pip", "--disable-pip-version-check", command, "-qq", *arguments)


def setup(shell: Shell, *names: str) -> None:
    """.venv with these packages."""
    make_own(shell)
    for name in names:
        if not install(shell, shell.settings.venv, name):
            raise Failed(f"third_party/python/{name}.txt could not be installed")


def setup_demo(shell: Shell) -> None:
    """.venv with what the demo uses, unless it has what the tests use."""
    make_own(shell)
    if not installed(shell, shell.settings.venv, "test"):
        setup(shell, "demo")


def setup_tests(shell: Shell) -> None:
    """.venv with the packages that tests import. PyTorch is separate, because it is large."""
    setup(shell, "test")
    if shell.settings.no_torch or install(shell, shell.settings.venv, "torch"):
        return
    if shell.settings.ci:  # a test machine must not pass because it tested less
        raise Failed("PyTorch could not be installed (DLX_NO_TORCH=1 does without it)")
    shell.warn("going on without PyTorch; what needs it is skipped")


def setup_release(shell: Shell) -> None:
    """What reads the workflows, licences and recipes, in .venv-systems/release. Optional."""
    venv = shell.settings.elsewhere("release")
    found = find_between(shell, "3.11", "3.14")
    if found is None or not make(shell, venv, found) or not install(shell, venv, "release"):
        shell.warn("going on without third_party/python/release.txt; what needs it is skipped")


def setup_embedding(shell: Shell) -> None:
    """The system's Python as a shared library, for the test that embeds it. Others bring their own."""
    script = """
import sys, sysconfig
if sys.base_prefix == "/usr":
    name, folder = (sysconfig.get_config_var(key) for key in ("INSTSONAME", "LIBDIR"))
    print("libpython%d.%d" % sys.version_info[:2], folder + "/" + name)
"""
    package = (shell.ask(shell.settings.venv / "bin/python", "-c", script) or "").split()
    if len(package) == 2:
        debian.need(shell, "an optional test", {package[0]: package[1]}, optional=True)
