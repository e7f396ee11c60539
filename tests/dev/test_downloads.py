"""The first command downloads little, and ./dev test says before it starts what it downloads."""

from __future__ import annotations

import re
import shlex
import shutil
import sys

import pytest

from dev import demo
from dev.settings import ROOT
from dev_support import Clone
from test_front_door import BARE

PINS = ROOT / "third_party/python"


def pins(name):
    return set(re.findall(r"^[a-z].*==.*$", (PINS / name).read_text(), re.M))


def test_the_demo_has_the_pins_of_the_tests():
    own = pins("demo.txt") - pins("test.txt")
    assert {line.split("==")[0] for line in own} == {"nanoarrow"}
    assert {line.split("==")[0] for line in pins("demo.txt")} == {"numpy", "pillow", "nanoarrow"}


def test_the_demo_installs_its_own_packages_only(clone):
    for name in ("test", "torch", "demo"):
        (clone.folder / f".venv/{name}.installed").unlink()

    lines = "\n".join(clone.plan("demo"))

    assert "-r third_party/python/demo.txt" in lines.replace(f"{clone.folder}/", "")
    assert "torch" not in lines
    assert "test.txt" not in lines


def test_the_demo_uses_what_the_tests_have(clone):
    (clone.folder / ".venv/demo.installed").unlink()

    assert "pip" not in "\n".join(clone.plan("demo"))


def announced(clone, *words, **variables) -> str:
    """What is said before the first command."""
    lines = clone.plan(*words, **variables)
    if lines[0] != "This is downloaded first, once:":
        return ""
    end = next(i for i, line in enumerate(lines) if i and not line.startswith(("  ", "DLX_NO_")))
    return "\n".join(lines[:end])


def without(clone, *names):
    for name in names:
        (clone.folder / f".venv/{name}.installed").unlink()


def test_what_is_downloaded_is_said_first(clone):
    without(clone, "test", "torch")

    said = announced(clone, "test", "--quick")

    for word in ("test.txt, 89 MB", "torch.txt, 0.2 GB", "CUDA", "DLX_NO_TORCH=1", "--quick"):
        assert word in said
    assert "torch.txt" not in announced(clone, "test", "--quick", DLX_NO_TORCH="1")


@pytest.mark.parametrize("words", ["test --release", "test --bindings"])
def test_all_that_is_installed_is_said(clone, words):
    without(clone, "test", "torch", "lint", "platforms")
    for name in ("g++", "c++", "go", "wine"):
        clone.program(f"fakes/{name}", "exit 1")  # there, so that the rest is missing
    said = announced(clone, *words.split())
    lines = clone.plan(*words.split())

    packages = {
        word
        for line in lines
        if line.startswith("tools/dev/apt-install ")
        for word in shlex.split(line)[2:]
    }
    files = set(
        re.findall(r" -m pip .* -r third_party/python/([\w-]+)\.txt$", "\n".join(lines), re.M)
    )
    assert files
    for name in files:
        assert f"third_party/python/{name}.txt, " in said
    listed = re.search(r"Debian packages.*?: (.*)", said)
    assert set(listed[1].split() if listed else ()) >= packages
    if words == "test --release":
        assert "third_party/python/docs.txt, " in said


def test_nothing_is_left_out_in_a_folder_with_a_space(tmp_path):
    clone = Clone(tmp_path / "a clone")
    without(clone, "test", "demo")

    assert "third_party/python/demo.txt, 25 MB" in announced(clone, "demo")


def test_every_file_of_pins_says_how_much_it_is():
    for file in PINS.glob("*.txt"):
        assert re.search(r"^# download: (about )?[\d.]+ (MB|GB)", file.read_text(), re.M), file.name


def test_nothing_is_said_where_nothing_is_missing(clone):
    assert announced(clone, "demo") == ""
    assert "third_party/python/test.txt" not in announced(clone, "test", "--all")
    assert "torch" not in announced(clone, "test", "--all")


def test_debian_packages_have_a_size_where_apt_knows_it(clone):
    clone.program("fakes/apt-get", """echo "'http://debian/a.deb' a.deb 12300000 MD5Sum:0" """)
    clone.program("fakes/python3", f'exec {sys.executable} "$@"')
    (clone.folder / "src/base").mkdir(parents=True)
    (clone.folder / "tests/src/base").mkdir(parents=True)
    (clone.folder / "tests/src/base/test_error.cc").touch()
    bare = clone.folder / "bare"
    bare.mkdir()
    for name in BARE:
        (bare / name).symlink_to(shutil.which(name))

    said = announced(clone, "test", "src/base", path=f"{clone.folder}/fakes:{bare}")

    assert "Debian packages, 12 MB: gcc g++ " in said


def test_a_terminal_becomes_a_picture():
    text = demo.svg(["  \x1b[1mstation\x1b[0m  <a>", "  x  \x1b[1;32mshared\x1b[0m", ""], "AAAA")

    assert '<tspan class="bold">station</tspan>  &lt;a&gt;' in text
    assert '<tspan class="good">shared</tspan>' in text
    assert text.count("<text") == 3 + 3


def test_the_picture_in_readme_is_of_the_demo():
    picture = (ROOT / "docs/demo.svg").read_text()

    assert "docs/demo.svg" in (ROOT / "README.md").read_text()
    for station in ("Pillow → dlx", "a view: HWC → CHW", "dlx → NumPy", "nanoarrow → dlx"):
        assert station in picture
    assert len(picture) < 40_000
