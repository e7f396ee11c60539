"""`python -m dlx demo` runs, says only what it measured, and leaves a picture."""

import os
import re
import subprocess
import sys

import pytest

image_module = pytest.importorskip("PIL.Image", reason="the demo decodes with Pillow")


@pytest.fixture
def photograph(tmp_path):
    """A small picture with an even gradient; the real one ships in a wheel that may be missing."""
    path = tmp_path / "gradient.png"
    picture = image_module.new("RGB", (64, 48))
    picture.putdata([(x * 4, y * 5, (x + y) * 2) for y in range(48) for x in range(64)])
    picture.save(path)
    return path


def demo(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "dlx", "demo", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )


def test_steps_table_and_result(photograph, tmp_path):
    result = tmp_path / "out.png"
    done = demo(photograph, "-o", result)

    assert done.returncode == 0, done.stderr
    assert "\033[" not in done.stdout
    assert f"result: {result}" in done.stdout
    assert "NOT SEEN" not in done.stdout
    assert re.search(r"CHW made contiguous +copied", done.stdout)
    stations = re.findall(r"^ +(\S.*?) {2,}([A-Z]) +(shared|copied) +", done.stdout, re.M)
    assert len(stations) >= 5
    assert stations[-1][2] == "shared"
    assert f"{len(stations)} stations" in done.stdout


def test_the_result_is_the_picture_with_an_inverted_crop(photograph, tmp_path):
    result = tmp_path / "out.png"
    assert demo(photograph, "-o", result).returncode == 0
    before = image_module.open(photograph).convert("RGB")
    after = image_module.open(result).convert("RGB")

    assert after.size == before.size
    changed = {
        (x, y)
        for x in range(before.width)
        for y in range(before.height)
        if after.getpixel((x, y)) != before.getpixel((x, y))
    }
    columns, rows = {x for x, _ in changed}, {y for _, y in changed}
    assert len(changed) == len(columns) * len(rows) > 100
    for place in list(changed)[:50]:
        inverted = tuple(255 - band for band in before.getpixel(place))
        assert after.getpixel(place) == inverted


@pytest.mark.parametrize("missing", ["torch", "pyarrow", "numpy,torch,pyarrow"])
def test_libraries_that_are_missing_are_named_and_left_out(photograph, tmp_path, missing):
    hide = "".join(f"sys.modules[{name!r}] = None;" for name in missing.split(","))
    code = f"import sys; {hide} from dlx import demo; sys.exit(demo.run({str(photograph)!r}, {str(tmp_path / 'o.png')!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )

    assert done.returncode == 0, done.stderr
    named = re.search("left out: (.*)", done.stdout)
    assert set(missing.split(",")) <= set(named[1].split(", "))


def test_terminals_that_know_ascii_only_get_ascii(photograph, tmp_path):
    done = demo(photograph, "-o", tmp_path / "o.png", PYTHONIOENCODING="ascii:strict")

    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


def test_without_a_photograph_it_says_what_to_install():
    code = """
import sys
from dlx import _demo_picture, demo
_demo_picture.PHOTOGRAPHS = ()
sys.exit(demo.run())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "pip install" in done.stdout


def test_a_picture_that_is_none_is_pillow_s_own_error(tmp_path):
    path = tmp_path / "text.png"
    path.write_text("no picture")

    done = demo(path)

    assert done.returncode != 0
    assert "cannot identify" in done.stderr + done.stdout
