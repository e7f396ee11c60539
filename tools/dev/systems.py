"""Suites that need an environment of their own: whole array systems, and the array API standard's suite.

third_party/python/systems-NAME.txt is installed into .venv-systems/NAME. Its first lines say which
Pythons its packages are for, and which tests it is for.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from . import environments
from .jobs import Job
from .runners import Runner
from .settings import Settings
from .shell import Failed


def jobs(settings: Settings) -> list[Job]:
    """One job for each environment, the largest first."""
    files = sorted((settings.root / "third_party/python").glob("systems-*.txt"))
    files.sort(key=lambda file: len(_words(file, "tests")), reverse=True)
    return [Job(file.stem, functools.partial(_test, file)) for file in files]


def _words(file: Path, name: str) -> list[str]:
    return " ".join(re.findall(rf"^# {name}: (.*)$", file.read_text(), re.M)).split()


def _test(file: Path, runner: Runner) -> None:
    """Each system in its own process, because a system may crash it."""
    shell, name = runner.shell, file.stem
    short = name[len("systems-") :]
    oldest, newest = _words(file, "python")
    found = environments.find_between(shell, oldest, newest)
    if found is None:
        shell.say(f"{name}: skipped: found no Python from {oldest} to {newest}, which it needs")
        return
    venv = shell.settings.elsewhere(short)
    if not environments.make(shell, venv, found):
        raise Failed(f"{shell.settings.shown(venv)} could not be made")
    if not environments.install(shell, venv, name) and not environments.install(shell, venv, name):
        shell.say(f"{name}: skipped: its packages could not be installed")
        return
    python = venv / "bin/python"
    for system in _words(file, "tests"):
        test = f"tests/python/systems/test_{system}.py"
        runner.pytest(f"{name}-{system}", "ctypes", test, python=python, env={"DLX_SYSTEMS": short})
    if also := _words(file, "also"):
        runner.pytest(f"{name}-core", "ctypes", "-m", "not heavy", *also, python=python)


def array_api(runner: Runner, directory: Path | None) -> None:
    """The standard's own suite on the namespace dlx.xp. The suite is on GitHub only."""
    shell = runner.shell
    settings = shell.settings
    if directory is None:
        shell.say("array-api: skipped: DLX_ARRAY_API_TESTS does not name a clone of the suite")
        return
    venv = settings.elsewhere("array-api")
    if not environments.works(shell, venv):
        found = environments.find_between(shell, "3.11", "3.14")
        if found is None or not environments.make(shell, venv, found):
            raise Failed("array-api: NumPy 2.4 needs Python 3.11 to 3.14 with venv")
    if not environments.install(shell, venv, "array-api"):
        raise Failed("third_party/python/array-api.txt could not be installed")
    runner.pytest(
        "array-api",
        "ctypes",
        *("--rootdir=.", "-c", "pytest.ini"),
        *("--xfails-file", str(settings.root / "tests/python/array_api_xfails.txt")),
        "array_api_tests",
        python=venv / "bin/python",
        env={"ARRAY_API_TESTS_MODULE": "dlx.xp", "ARRAY_API_TESTS_VERSION": "2025.12"},
        cwd=directory,
    )


def check_array_api(directory: Path) -> None:
    if not (directory / "array_api_tests").is_dir() or not (directory / "array-api/spec").is_dir():
        raise Failed(
            f"not a clone of data-apis/array-api-tests with its submodule array-api: {directory}"
        )
