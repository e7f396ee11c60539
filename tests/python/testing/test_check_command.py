"""`python -m dlx check`: what it prints, writes, and ends with."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys

import pytest

MODULES = {
    "good": "import array\nimport numpy\ndef make():\n    return numpy.zeros((2, 3), 'f4')\n"
    "def take(x, /, *, device=None, copy=None):\n    return numpy.from_dlpack(x)\n",
    "factories": "import os, time\nnumber = 5\ndef raises():\n    raise RuntimeError('no memory')\n"
    "def hangs():\n    time.sleep(1000)\ndef dies():\n    os.abort()\ndef makes_a_list():\n"
    "    return [1]\ndef exits():\n    raise SystemExit(3)\ndef none(case):\n    return None\n"
    "def two(a, b):\n    return a\n",
    "waiting": "import time, numpy\nclass Waits:\n    def __dlpack_device__(self):\n"
    "        return 1, 0\n    def __dlpack__(self, **keywords):\n        time.sleep(1000)\n"
    "def make():\n    return Waits()\ndef take(x):\n    time.sleep(1000)\n",
    "dying": "import os\nos.abort()\n",
    "raising": "raise RuntimeError('no license')\n",
    "exiting": "raise SystemExit(0)\n",
    "sleeping": "import time\ntime.sleep(1000)\n",
    "plain": "",
}


@pytest.fixture
def check(tmp_path):
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)

    def run(*arguments, stderr=subprocess.PIPE):
        return subprocess.run(
            [sys.executable, "-m", "dlx", "check", *arguments],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=stderr, text=True, timeout=900,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )  # fmt: skip

    return run


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_such_library", "no_such_library: there is no module no_such_library"),
        ("good:nothing", "good:nothing: good has no nothing"),
        ("factories:number", "factories:number: 5 is not a function"),
        ("plain", "plain has neither `asarray` nor `from_dlpack`"),
        ("factories:raises", "the factory: raises RuntimeError: no memory"),
        ("factories:hangs", "the factory: not done after 1 s"),
        ("factories:dies", "the factory: the process died of SIGABRT"),
        ("factories:makes_a_list", "the factory: makes an object of type list, without __dlpack__"),
        ("factories:exits", "the factory: raises SystemExit: 3"),
        ("factories:none", "the factory: returns None for the plain array"),
        ("factories:two", "a consumer takes one object, this has 2 parameters"),
        ("", "expected a library, module:function, or file.so:symbol"),
        ("good:", "good:: expected a library, module:function, or file.so:symbol"),
        (":make", ":make: expected a library, module:function, or file.so:symbol"),
        ("./nothing.so", "name a function of the file as well: ./nothing.so:SYMBOL"),
        ("dying", "dying: the process died of SIGABRT during the import"),
        ("raising", "raising: it raises RuntimeError: no license"),
        ("exiting", "exiting: it raises SystemExit: 0"),
        ("sleeping", "sleeping: the import is not done after 6 s"),
        ("./nothing.so:make", "./nothing.so: cannot open shared object file"),
    ],
)
def test_what_cannot_be_checked_is_said_in_words(check, name, words):
    done = check(name, "--timeout", "1")
    assert done.returncode == 2, done
    assert done.stderr.startswith("python -m dlx check: ")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--timeout", "0"], "argument --timeout: must be above 0 (got 0)"),
        (["--timeout", "nan"], "argument --timeout: must be above 0 (got nan)"),
        (["--timeout", "soon"], "argument --timeout: invalid"),
        (["--fail-on", "may"], "argument --fail-on: invalid choice: 'may'"),
        (["--json", "no/such/folder"], "No such file or directory: 'no/such/folder'"),
    ],
)
def test_options_are_refused_before_anything_is_checked(check, arguments, words):
    done = check("good:make", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == ""


def test_what_is_there_is_checked_beside_what_is_not(check, tmp_path):
    done = check("no_such_library", "good:make", "--json", "out.json")
    assert done.returncode == 2
    assert "no_such_library: there is no module" in done.stderr
    assert "no MUST failed" in done.stdout
    (report,) = json.loads((tmp_path / "out.json").read_text())
    assert report["name"] == "good:make"


def test_a_progress_line_on_a_terminal(check, tmp_path):
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", 0) as terminal:
        done = check("good:make", stderr=theirs)
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):
            while part := terminal.read(65536):
                shown += part
    assert done.returncode == 0
    assert b"\r\x1b[Kgood:make: 1 of " in shown
    assert shown.endswith(b"\r\x1b[K")


def test_a_producer_in_json_and_html(check, tmp_path):
    done = check("good:make", "--json", "out.json", "--html", "out.html")
    assert done.returncode == 0, done
    assert "no MUST failed" in done.stdout
    (report,) = json.loads((tmp_path / "out.json").read_text())
    assert report["ok"] is True
    assert {result["role"] for result in report["results"]} == {"producer", "exchange"}
    result = next(result for result in report["results"] if result["number"] == 25)
    assert (result["level"], result["outcome"]) == ("MUST", "pass")
    assert result["url"] == "https://dmlc.github.io/dlpack/latest/python_spec.html"
    page = (tmp_path / "out.html").read_text()
    assert "good:make" in page
    assert "src=" not in page
    assert "<script" not in page


def test_exit_statuses_by_level(check):
    # This consumer forgets copy=True (a MUST); NumPy itself only leaves SHOULDs out.
    assert check("good:take").returncode == 1
    assert check("good:make", "--fail-on", "should").returncode == 0
    done = check("good:take", "--fail-on", "should")
    assert done.returncode == 1
    assert (
        "71 MUST consumer fail: copy=True: copy=True gives the producer's own memory" in done.stdout
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("waiting:make", "40 MUST producer hang: a plain call: not done after 1 s"),
        ("waiting:take", "65 MUST consumer hang: a plain tensor: not done after 1 s"),
    ],
)
def test_a_library_that_hangs_is_named_and_its_process_alone_is_ended(check, name, words):
    done = check(name, "good:make", "--timeout", "1")
    assert done.returncode == 1, done
    assert words in done.stdout
    assert "good:make" in done.stdout


C_SOURCE = r"""
#include <stdint.h>
#include <stdlib.h>
typedef struct { uint32_t major, minor; } Version;
typedef struct { int32_t type, id; } Device;
typedef struct { void *data; Device device; int32_t ndim; uint8_t code, bits; uint16_t lanes;
                 int64_t *shape, *strides; uint64_t byte_offset; } Tensor;
typedef struct Managed { Version version; void *context; void (*deleter)(struct Managed *);
                         uint64_t flags; Tensor tensor; } Managed;
static void all(Managed *m) { free(m->tensor.data); free(m->tensor.shape); free(m); }
static void half(Managed *m) { free(m->tensor.shape); free(m); }
Managed *good(void) {
  Managed *m = calloc(1, sizeof *m);
  int64_t *numbers = malloc(4 * sizeof *numbers);
  numbers[0] = 2; numbers[1] = 3; numbers[2] = 3; numbers[3] = 1;
  m->version.major = 1; m->version.minor = 3; m->deleter = all;
  m->tensor = (Tensor){calloc(6, 4), {1, 0}, 2, 2, 32, 1, numbers, numbers + 2, 0};
  return m;
}
Managed *leaks(void) { Managed *m = good(); m->deleter = half; return m; }
Managed *has_no_strides(void) { Managed *m = good(); m->tensor.strides = 0; return m; }
Managed *none(void) { return 0; }
"""


def test_a_function_of_a_shared_object(check, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "made.c").write_text(C_SOURCE)
    made = [compiler, "-shared", "-fPIC", "-o", tmp_path / "made.so", tmp_path / "made.c"]
    subprocess.run(made, check=True)
    done = check("./made.so:good", "--fail-on", "should")
    assert done.returncode == 0, done
    assert "7 MUST producer leak: what the deleter frees" in check("./made.so:leaks").stdout
    assert (
        "11 MUST producer fail: strides: strides is NULL"
        in check("./made.so:has_no_strides").stdout
    )
    done = check("./made.so:none")
    assert done.returncode == 2
    assert "the function returned NULL" in done.stderr
    done = check("./made.so:nothing")
    assert done.returncode == 2
    assert "undefined symbol: nothing" in done.stderr


def test_the_worker_has_nothing_of_dlx(check, tmp_path):
    (tmp_path / "looks.py").write_text(
        "import sys, numpy\nassert not [name for name in sys.modules if name.split('.')[0] == 'dlx']\n"
        "def make():\n    return numpy.zeros((2, 3), 'f4')\n"
    )
    assert check("looks:make").returncode == 0
