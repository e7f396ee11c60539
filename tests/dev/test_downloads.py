"""The first command downloads little, and ./dev test says before it starts what it downloads."""

from __future__ import annotations

import re

from dev import demo
from dev.settings import ROOT

PINS = ROOT / "third_party/python"


def pins(name):
    return set(re.findall(r"^[a-z].*==.*$", (PINS / name).read_text(), re.M))


def test_the_demo_has_the_pins_of_the_tests():
    assert pins("demo.txt") <= pins("test.txt")
    assert {line.split("==")[0] for line in pins("demo.txt")} == {"numpy", "pillow", "pyarrow"}


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


def test_what_is_downloaded_is_said_first(clone):
    for name in ("test", "torch"):
        (clone.folder / f".venv/{name}.installed").unlink()

    lines = clone.plan("test", "--quick")

    assert lines[0] == "This is downloaded first, once:"
    said = "\n".join(lines[: next(i for i, line in enumerate(lines) if line.startswith("=="))])
    for word in ("NumPy", "PyTorch, 0.2 GB", "CUDA", "DLX_NO_TORCH=1", "--quick"):
        assert word in said
    without = "\n".join(clone.plan("test", "--quick", DLX_NO_TORCH="1"))
    assert "PyTorch, 0.2" not in without


def test_nothing_is_said_where_nothing_is_missing(clone):
    (clone.folder / ".venv-systems/numpy2").mkdir(parents=True)

    said = "\n".join(clone.plan("test", "--all"))

    assert "80 MB" not in said
    assert "PyTorch, " not in said


def test_a_terminal_becomes_a_picture():
    text = demo.svg(["  \x1b[1mstation\x1b[0m  <a>", "  x  \x1b[1;32mshared\x1b[0m", ""], "AAAA")

    assert '<tspan class="bold">station</tspan>  &lt;a&gt;' in text
    assert '<tspan class="good">shared</tspan>' in text
    assert text.count("<text") == 3 + 3


def test_the_picture_in_readme_is_of_the_demo():
    picture = (ROOT / "docs/demo.svg").read_text()

    assert "docs/demo.svg" in (ROOT / "README.md").read_text()
    for station in ("Pillow → dlx", "a view: HWC → CHW", "dlx → NumPy", "PyArrow → dlx"):
        assert station in picture
    assert len(picture) < 40_000
