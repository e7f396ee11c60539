"""`python -m dlx matrix`: what it measures, what it writes, and that docs/matrix.md is still true."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import arrays
import pytest

from dlx._cli import matrix, matrix_cells, matrix_page
from dlx._give import profiles

pytest.importorskip("numpy", reason="makes the arrays that are handed over")
ROOT = Path(__file__).parents[3]


def run(*arguments):
    # Without a GPU everywhere, so that the result depends on the versions alone.
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    # The loader of OpenCL finds Intel's driver by this alone, when it comes from a wheel.
    environment.setdefault("OCL_ICD_FILENAMES", os.path.join(sys.prefix, "lib", "libintelocl.so"))
    return subprocess.run(
        [sys.executable, "-m", "dlx", "matrix", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=900,
    )


# The tables in docs/, by environment of ./dev test --systems.
COMMITTED = {
    "numpy2": "matrix.md",
    "paddle": "matrix-paddle.md",
    "mxnet": "matrix-mxnet.md",
    "oneapi": "matrix-oneapi.md",
}


@pytest.mark.skipif(
    arrays.REQUIRED not in COMMITTED, reason="only ./dev test --systems has the pinned versions"
)
def test_the_committed_table_is_what_is_measured(tmp_path):
    done = run("--markdown", str(tmp_path / "matrix.md"), "--html", str(tmp_path / "matrix.html"))
    assert done.returncode == 0, done.stdout + done.stderr
    measured = (tmp_path / "matrix.md").read_text().splitlines()
    name = COMMITTED[arrays.REQUIRED]
    committed = (ROOT / "docs" / name).read_text().splitlines()
    changes = "\n".join(difflib.unified_diff(committed, measured, "committed", "measured", n=0))
    assert not changes, (
        f"{changes}\nif this is right: .venv-systems/{arrays.REQUIRED}/bin/python -m dlx matrix "
        f"--markdown docs/{name}"
    )


def test_two_libraries(tmp_path):
    done = run("--libraries", "numpy,xarray", "--html", str(tmp_path / "page.html"))

    assert done.returncode == 0, done.stdout + done.stderr
    assert "numpy" in done.stdout
    assert re.search(r"dlx +\d+/0/0", done.stdout)
    page = (tmp_path / "page.html").read_text()
    for forbidden in ("http://", "https://", "<script", "<link", "@import"):
        assert forbidden not in page  # self-contained
    Balanced().check(page)


def test_an_unknown_library_is_refused_by_name():
    done = run("--libraries", "numpy,nonsense")

    assert done.returncode != 0
    assert "unknown library: nonsense" in done.stderr


class Balanced(HTMLParser):
    """Every element is closed, in order."""

    def check(self, page):
        self.open = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_process_that_dies_costs_one_cell(monkeypatch):
    ends = iter([[("shared", "")] * 3, [], [("copied", "why")] * 2])
    monkeypatch.setattr(matrix_cells, "cases", lambda: [("float32", "compact")])
    monkeypatch.setattr(
        matrix, "_run", lambda *arguments: (next(ends), "the process died of SIGABRT")
    )
    cells = matrix.measure(["numpy", "torch"])

    assert [outcome for outcome, _ in cells.values()] == [
        "shared", "shared", "shared", "DIED", "DIED", "copied"]  # fmt: skip
    assert cells["numpy", "float32", "compact", "torch"] == ("DIED", "the process died of SIGABRT")


@pytest.mark.parametrize("status", [-6, 3])
def test_how_a_process_ended_is_said_in_words(status):
    text = matrix._describe(status, "first\nImportError: no such thing\n")

    assert ("SIGABRT" in text) == (status == -6)
    assert ("no such thing" in text) == (status == 3)


def test_wrong_values_are_seen():
    import numpy

    import dlx

    class Liar:
        """A library that swaps the values on the way."""

        @staticmethod
        def from_dlpack(obj):
            return dlx.asarray(numpy.zeros(dlx.from_dlpack(obj).shape, "float32"))

    profile = profiles.Profile("liar", "numpy", lambda module, t, copied: Liar.from_dlpack(t))
    profiles.TABLE["liar"] = profile
    try:
        source = matrix_cells.make("numpy", "float32", "compact")
        expected = matrix_cells.expected_values("float32", "compact")
        outcome, why = matrix_cells.measure(source, "liar", expected)
    finally:
        del profiles.TABLE["liar"]
    assert outcome == "WRONG"
    assert "float32[4, 8]" in why


def test_every_profile_is_measured_in_both_directions():
    assert set(profiles.TABLE) == set(matrix_cells.PRODUCERS) - {"dlx"}


def test_rendering_escapes_what_libraries_say():
    cells = {
        (producer, dtype, layout, "numpy"): ("refused", "<b> & |")
        for producer in ("dlx", "numpy")
        for dtype, layout in matrix_cells.cases()
    }
    result = matrix_page.Matrix(["numpy"], {"numpy": "1"}, cells)

    assert "&lt;b&gt; &amp; |" in matrix_page.html(result)
    assert "<b> & \\|" in matrix_page.markdown(result)
    Balanced().check(matrix_page.html(result))
