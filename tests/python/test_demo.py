"""`python -m dlx demo` runs, says only what it measured, and leaves a picture."""

import os
import re
import struct
import subprocess
import sys
import zlib

import pytest

image_module = pytest.importorskip("PIL.Image", reason="the demo decodes with Pillow")


@pytest.fixture
def photograph(tmp_path):
    """A small picture with an even gradient."""
    path = tmp_path / "gradient.png"
    picture = image_module.new("RGB", (64, 48))
    picture.putdata([(x * 4, y * 5, (x + y) * 2) for y in range(48) for x in range(64)])
    picture.save(path)
    return path


# As `python -m dlx`, but without what takes longest to import.
WITHOUT_LARGE_ONES = """
import runpy, sys
sys.modules.update(dict.fromkeys(["torch", "pyarrow", "jax", "tensorflow"]))
runpy.run_module("dlx", run_name="__main__", alter_sys=True)
"""


def demo(*arguments, large=False, **environment):
    module = ["-m", "dlx"] if large else ["-c", WITHOUT_LARGE_ONES]
    return subprocess.run(
        [sys.executable, *module, "demo", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )


def test_steps_table_and_result(photograph, tmp_path):
    result = tmp_path / "out.png"
    done = demo(photograph, "-o", result, large=True)

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
    assert demo(photograph, "-o", result, large=True).returncode == 0
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
    code = f"import sys; {hide} from dlx._cli import demo; sys.exit(demo.run({str(photograph)!r}, {str(tmp_path / 'o.png')!r}))"
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


def test_nanoarrow_stands_in_for_pyarrow(photograph, tmp_path):
    pytest.importorskip("nanoarrow")
    done = demo(photograph, "-o", tmp_path / "o.png")

    assert done.returncode == 0, done.stderr
    for station in ("dlx → nanoarrow", "nanoarrow → dlx"):
        assert re.search(rf"^ +{station} +[A-Z] +shared", done.stdout, re.M), station
    assert re.search(r"^ +nanoarrow +\d+ +seen$", done.stdout, re.M)


def test_terminals_that_know_ascii_only_get_ascii(photograph, tmp_path):
    done = demo(photograph, "-o", tmp_path / "o.png", PYTHONIOENCODING="ascii:strict")

    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


def test_without_an_argument_it_draws_a_picture_of_its_own(tmp_path):
    result = tmp_path / "o.png"

    done = demo("-o", result)

    assert done.returncode == 0, done.stderr
    assert "drawn by Pillow" in done.stdout
    colours = image_module.open(result).getcolors(1 << 20)
    assert len(colours) > 100


def test_without_pillow_it_says_what_to_install():
    code = "import sys; sys.modules['PIL'] = None; from dlx._cli import demo; sys.exit(demo.run())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "pip install pillow" in done.stdout


def test_a_picture_that_is_none_is_pillow_s_own_error(tmp_path):
    path = tmp_path / "text.png"
    path.write_text("no picture")

    done = demo(path)

    assert done.returncode != 0
    assert "cannot identify" in done.stderr + done.stdout


@pytest.mark.parametrize("output", ["x.weird", "folder"])
def test_an_output_that_pillow_cannot_write(photograph, tmp_path, output):
    (tmp_path / "folder").mkdir()

    done = demo(photograph, "-o", tmp_path / output)

    assert done.returncode == 1
    assert done.stderr.startswith("python -m dlx demo: ")
    assert f"{output} cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_picture_that_pillow_finds_too_large(photograph):
    data = bytearray(photograph.read_bytes())
    data[16:24] = struct.pack(">II", 60_000, 60_000)  # width and height, and their CRC
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    photograph.write_bytes(data)

    done = demo(photograph)

    assert done.returncode == 1
    assert "cannot be decoded" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_result_goes_to_a_file_of_its_own(photograph, tmp_path):
    folder, precious = tmp_path / "temporary", tmp_path / "precious"
    folder.mkdir()
    precious.write_text("mine")
    (folder / "dlx-demo.png").symlink_to(precious)

    results = {
        re.search(r"result: (\S+) ", demo(photograph, TMPDIR=str(folder)).stdout)[1]
        for _ in range(2)
    }

    assert precious.read_text() == "mine"
    assert len(results) == 2
    assert all(image_module.open(result).size == (64, 48) for result in results)


def test_names_that_the_terminal_cannot_show(photograph, tmp_path):
    picture = photograph.rename(tmp_path / "é\udcff.png")

    done = demo(picture, "-o", tmp_path / "ö\udcff.png", PYTHONIOENCODING="ascii:strict")

    assert done.returncode == 0, done.stderr
    assert r"\xe9\udcff.png" in done.stdout
