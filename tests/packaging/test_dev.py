"""What ./dev does with its arguments and its environment, beside a fake Bazel and a fake Python."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from packaging_support import ROOT


@pytest.fixture
def clone(tmp_path) -> Path:
    return make_clone(tmp_path / "clone")


def make_clone(folder: Path) -> Path:
    """A folder with ./dev, all that it would install, and programs that say what they are asked."""
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / "third_party/python").mkdir(parents=True)
    (folder / "fakes").mkdir()
    shutil.copy(ROOT / "dev", folder)
    for name in ("test", "torch", "lint"):
        shutil.copy(ROOT / f"third_party/python/{name}.txt", folder / "third_party/python")
        shutil.copy(ROOT / f"third_party/python/{name}.txt", folder / f".venv/{name}.installed")
    for path in ("fakes/bazel", ".venv/bin/python", ".venv/bin/ruff", ".venv/bin/clang-format"):
        (folder / path).write_text(f'#!/bin/sh\necho "{Path(path).name} $*"\n')
        (folder / path).chmod(0o755)
    return folder


def dev(clone: Path, *arguments, where=None, command="./dev", **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DLX_")}
    environment["PATH"] = f"{clone / 'fakes'}:{environment['PATH']}"
    return subprocess.run(
        [command, *arguments],
        cwd=where or clone,
        env={**environment, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def refused(done) -> str:
    """The one line that ./dev ended with, before it did anything."""
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "format --chekc",
        "format --check src",
        "lint --fix",
        "build //:libdlx.so",
        "setup now",
        "wheel dist",
        "generate --check",
        "kernels --chekc",
        "abi --udpate",
        "fuzz fast",
        "kit 3.x",
        "test --quick tests/python",
        "test --array-api DIR more",
    ],
)
def test_unknown_arguments_are_refused(clone, words):
    command, *arguments = words.split()

    message = refused(dev(clone, command, *arguments))

    assert message.startswith(f"dev: {command}")
    assert arguments[-1] in message


def test_known_arguments_are_taken(clone):
    assert "ruff format -q --check ." in dev(clone, "format", "--check").stdout
    assert "--check" not in dev(clone, "format").stdout


@pytest.mark.parametrize("python", ["/bin/false", "nowhere/python", "no-such-python"])
def test_a_wrong_python_is_named(clone, python):
    message = refused(dev(clone, "test", DLX_PYTHON=python))

    assert "is no Python 3.9 or newer" in message
    assert python in message


def test_a_kit_that_is_not_there_is_named(clone):
    assert refused(dev(clone, "test", "--gpu", DLX_KIT="/nonexistent")) == (
        "dev: DLX_KIT names no folder: /nonexistent\n"
    )
    assert dev(clone, "help", DLX_KIT="/nonexistent").returncode == 0


@pytest.mark.parametrize("name", ["a clone", "clöne"])
def test_paths_that_bazel_cannot_take_are_named(tmp_path, name):
    clone = make_clone(tmp_path / name)

    for command in ("setup", "build", "demo", "test"):
        assert name in refused(dev(clone, command))
    assert dev(clone, "format").returncode == 0


def test_paths_of_tests_go_by_the_folder_of_the_caller(clone):
    where = clone / "tests/python"
    where.mkdir(parents=True)
    (where / "test_x.py").touch()
    (where / "strides").touch()

    words = ["test_x.py", "test_x.py::test_one", "tests/python/test_y.py", "-k", "strides"]
    done = dev(clone, "test", *words, where=where, command="../../dev")

    expected = f"{where}/test_x.py {where}/test_x.py::test_one tests/python/test_y.py -k strides"
    assert f"python -m pytest {expected}" in done.stdout.splitlines()


def test_a_link_to_dev_works_in_the_clone(clone, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "dev").symlink_to(clone / "dev")

    assert "python -m pytest -x" in dev(clone, "test", "-x", where=elsewhere).stdout
    assert [path.name for path in elsewhere.iterdir()] == ["dev"]
