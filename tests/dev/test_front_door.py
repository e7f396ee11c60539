"""./dev with its arguments and its environment, beside a fake Bazel and a fake Python."""

from __future__ import annotations

import re
import shutil
import sys

import pytest

from dev.__main__ import COMMANDS
from dev.settings import ROOT
from dev.testing import OPTIONS
from dev_support import Clone

# What a Debian has before anything is installed.
BARE = ("bash", "sh", "env", "cat", "dirname", "readlink", "realpath", "id", "tail", "ln")


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
        "fuzz 1 2 3",
        "kit 3.x",
        "test --quick tests/python",
        "test --array-api DIR more",
        "test --quik",
        "test --realease",
    ],
)
def test_unknown_arguments_are_refused(clone, words):
    command, *arguments = words.split()

    message = refused(clone.dev(command, *arguments))

    assert message.startswith(f"dev: {command}")
    assert arguments[-1] in message


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("tset", "test"),
        ("format --chekc", "--check"),
        ("test --quik", "--quick"),
        ("abi --udpate", "--update"),
    ],
)
def test_a_mistyped_word_gets_a_hint(clone, words, hint):
    assert refused(clone.dev(*words.split())).endswith(f"(did you mean '{hint}'?)\n")


def test_known_arguments_are_taken(clone):
    assert "ruff format -q --check ." in clone.dev("format", "--check").stdout
    assert "--check" not in clone.dev("format").stdout


def test_the_help_names_every_command_and_every_mode(clone):
    done = clone.dev("help")

    assert done.returncode == 0
    assert done.stdout == (ROOT / "tools/dev/help.txt").read_text()
    for command in COMMANDS:
        assert re.search(rf"^  {command}\b", done.stdout, re.M), command
    for option in OPTIONS:
        assert re.search(rf"^  test {option}\b", done.stdout, re.M), option
    assert clone.dev().stdout == clone.dev("--help").stdout == done.stdout


@pytest.mark.parametrize("python", ["/bin/false", "nowhere/python", "no-such-python"])
def test_a_wrong_python_is_named(clone, python):
    message = refused(clone.dev("test", DLX_PYTHON=python))

    assert "is not Python 3.9 or newer" in message
    assert python in message


def test_a_kit_that_is_not_there_is_named(clone):
    assert refused(clone.dev("test", "--gpu", DLX_KIT="/nonexistent")) == (
        "dev: DLX_KIT names no folder: /nonexistent\n"
    )
    assert clone.dev("help", DLX_KIT="/nonexistent").returncode == 0


@pytest.mark.parametrize("name", ["a clone", "clöne"])
def test_paths_that_bazel_cannot_take_are_named(tmp_path, name):
    clone = Clone(tmp_path / name)

    for command in ("setup", "build", "test"):
        assert name in refused(clone.dev(command))
    assert clone.dev("format").returncode == 0
    assert clone.dev("--dry-run", "demo").returncode == 0


def test_paths_of_tests_go_by_the_folder_of_the_caller(clone):
    where = clone.folder / "tests/python"
    where.mkdir(parents=True)
    for name in ("test_x.py", "test_y.py", "strides"):
        (where / name).touch()

    words = ["test_x.py", "test_x.py::test_one", "tests/python/test_y.py", "-k", "strides"]
    done = clone.dev("test", *words, where=where, command="../../dev")

    expected = f"{where}/test_x.py {where}/test_x.py::test_one tests/python/test_y.py -k strides"
    assert f"python -m pytest {expected}" in done.stdout.splitlines()


def test_a_link_to_dev_works_in_the_clone(clone, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "dev").symlink_to(clone.folder / "dev")

    assert "python -m pytest -x" in clone.dev("test", "-x", where=elsewhere).stdout
    assert [path.name for path in elsewhere.iterdir()] == ["dev"]


def test_the_status_is_that_of_what_was_run(clone):
    clone.program(".venv/bin/python", 'case "$*" in *pytest*) exit 3 ;; esac')

    assert clone.dev("test", "-x").returncode == 3


# ---- a machine that has no Python ---------------------------------------------------------------


@pytest.fixture
def bare(clone) -> Clone:
    shutil.rmtree(clone.folder / ".venv")
    (clone.folder / "fakes/python3").unlink()
    for name in BARE:
        (clone.folder / "fakes" / name).symlink_to(shutil.which(name))
    clone.program("fakes/sudo", 'while [ "$1" = -n ]; do shift; done; exec "$@"')
    return clone


def test_help_needs_no_python(bare):
    assert bare.dev("help", path=str(bare.folder / "fakes")).stdout.startswith("usage: ./dev ")


def test_python_is_installed(bare):
    fakes = bare.folder / "fakes"
    install = f"ln -s {sys.executable} {fakes}/python3"
    size = """echo "'http://debian/p.deb' p.deb 5500001 MD5Sum:0" """
    cases = f"*print-uris*) {size} ;; *install*python3-venv) {install} ;;"
    bare.program("fakes/apt-get", f'case "$*" in {cases} esac')

    done = bare.dev("--dry-run", "format", path=str(fakes))

    assert done.returncode == 0, done.stderr
    first = "== installing Debian packages (for Python 3.9 or newer): python3-venv"
    assert done.stdout.splitlines()[1:3] == [first, "apt downloads 6 MB"]
    assert "making .venv with Python 3." in done.stdout
    assert "python3 -m venv --clear .venv" in done.stdout


@pytest.mark.parametrize("has_apt", [True, False])
def test_a_python_that_cannot_be_installed_is_named(bare, has_apt):
    if has_apt:
        bare.program("fakes/apt-get", "echo 'E: no network' >&2; exit 100")

    done = bare.dev("demo", path=str(bare.folder / "fakes"))

    assert done.returncode == 1
    assert ("E: no network" in done.stderr) == has_apt
    hint = "missing (for Python 3.9 or newer): python3-venv; on Debian: sudo apt-get install python3-venv"
    assert hint in done.stderr


def test_packages_of_the_build_are_installed(clone):
    """What is missing, and no more."""
    fakes = clone.folder / "fakes"
    for name in (*BARE, "gcc", "readelf"):
        (fakes / name).symlink_to(shutil.which(name))

    lines = clone.plan("build", path=str(fakes))

    assert lines[0] == "tools/dev/apt-install 'the build' g++"


def test_the_demo_needs_a_compiler_alone(clone):
    """Bazel brings Java, 180 MB; CMake and ninja come from pip, without root."""
    fakes = clone.folder / "fakes"
    (fakes / "bazel").unlink()
    for name in BARE:
        (fakes / name).symlink_to(shutil.which(name))
    (clone.folder / ".venv/cmake.installed").unlink()

    lines = clone.plan("demo", path=str(fakes))

    assert lines[0] == "This is downloaded first, once:"
    assert lines[1:3] == ["  - Debian packages: g++", "  - third_party/python/cmake.txt, 30 MB"]
    install, pip, configure, build, demo = [
        line for line in lines[3:] if line and not line.startswith("==")
    ]
    assert install == "tools/dev/apt-install 'the demo' g++"
    assert pip.endswith("-r third_party/python/cmake.txt")
    for line in (configure, build):
        assert re.match(r"PATH=\.venv/bin:\S* cmake ", line)
    assert demo.endswith(".venv/bin/python -m dlx demo")
    assert "DLX_LIBRARY=build/demo/libdlx.so" in demo


def test_the_demo_takes_the_cmake_of_the_machine(clone):
    (clone.folder / ".venv/cmake.installed").unlink()
    for name in ("c++", "cmake", "ninja"):
        clone.program(f"fakes/{name}", "")

    assert "pip" not in "\n".join(clone.plan("demo"))
