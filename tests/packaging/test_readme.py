"""The examples of README.md and docs/ compile, run, and print what the page says."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

from dlx._cli import info
from packaging_support import ROOT, STORIES, run

LIBRARY = os.environ.get("DLX_LIBRARY")


def blocks(language: str, page: str = "README.md") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


def expected_output(source: str) -> list[str]:
    """Return the output that comments state: `// prints: …` and `# prints: …`."""
    return re.findall(r"(?://|#) prints: (.*)$", source, re.M)


def check(source: str, *command, cwd: Path | None = None, **environment) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={**os.environ, **environment}, cwd=cwd)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    promised = expected_output(source)
    assert promised, "the example promises no output"
    assert done.stdout.splitlines() == promised


@pytest.mark.skipif(LIBRARY is None, reason="DLX_LIBRARY does not name a built library")
def test_c_example(tmp_path):
    [source] = blocks("c")
    (tmp_path / "example.c").write_text(source)
    library = Path(LIBRARY).resolve()
    # The program looks for the soname.
    (tmp_path / "libdlx.so.1").symlink_to(library)
    subprocess.run(
        ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", "example.c",
         "libdlx.so.1", "-o", "example"], cwd=tmp_path, check=True)  # fmt: skip

    check(source, tmp_path / "example", LD_LIBRARY_PATH=str(tmp_path))


PAGES = sorted(str(page.relative_to(ROOT)) for page in ROOT.glob("docs/**/*.md"))
PYTHON = [
    (page, source)
    for page in ["README.md", *PAGES]
    if page not in STORIES
    for source in blocks("python", page)
]


@pytest.mark.parametrize(("page", "source"), PYTHON, ids=[page for page, _ in PYTHON])
def test_python_examples(page, source, tmp_path):
    if '"torch"' in source:
        pytest.importorskip("torch")
    (tmp_path / "example.py").write_text(source)

    check(source, sys.executable, tmp_path / "example.py")


EXTENSIONS = "docs/extensions.md"
CALLS = "docs/calls.md"


def test_a_c_function(tmp_path):
    source, *doors = blocks("c", CALLS)
    [python] = blocks("py", CALLS)
    (tmp_path / "brighten.c").write_text(source)
    (tmp_path / "example.py").write_text(python)
    flags = shlex.split(info.compiler_arguments())
    run("gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "brighten.c", *flags,
        "-o", "libbrighten.so", cwd=tmp_path)  # fmt: skip

    check(python, sys.executable, "example.py", cwd=tmp_path)
    example = (ROOT / "examples/filter/doors.c").read_text()
    for line in "".join(doors).splitlines():
        assert line in example


@pytest.mark.heavy
def test_an_extension_by_cmake(tmp_path):
    """Compilers warn about linker options, and no warning is allowed."""
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    lines, _ = blocks("cmake", EXTENSIONS)
    used = "#include <dlx/dlx.h>\nint version(void);\nint version(void) { return dlx_abi_version(); }\n"
    (tmp_path / "scale.c").write_text(used)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.19)\nproject(rows C)\nadd_library(rows MODULE scale.c)\n"
        + lines
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "tree", f"-DPython_EXECUTABLE={sys.executable}",
        env=dict(os.environ))  # fmt: skip
    said = run("cmake", "--build", tmp_path / "tree")

    assert "warning" not in said
    assert b"dlx_abi_version" in (tmp_path / "tree/librows.so").read_bytes()


@pytest.mark.heavy
def test_an_extension_of_pybind11(tmp_path):
    """PyTorch also brings the headers of pybind11. tests/python/systems has a test of nanobind."""
    package = importlib.util.find_spec("pybind11") or importlib.util.find_spec("torch")
    include = Path(sysconfig.get_path("include"))
    if package is None or not (include / "Python.h").exists():
        pytest.skip("no pybind11, or no Python.h")
    [source], [python] = blocks("cpp", EXTENSIONS), blocks("py", EXTENSIONS)
    for old, new in (("nanobind", "pybind11"), ("NB_", "PYBIND11_"), ("nb", "py")):
        source = source.replace(old, new)
    for name, text in {"rows.cc": source, "example.py": python}.items():
        (tmp_path / name).write_text(text)
    flags = shlex.split(info.compiler_arguments())
    run("g++", "-std=c++17", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden",
        f"-I{include}", "-isystem", Path(package.origin).parent / "include", "rows.cc",
        "-o", "rows.so", *flags, cwd=tmp_path)  # fmt: skip

    check(python, sys.executable, "example.py", cwd=tmp_path)


@pytest.mark.parametrize("page", ["docs/arrow.md", "docs/devices.md"])
def test_sketches_are_python(page):
    """The indented blocks need devices or libraries to run, but must parse as Python."""
    sketches = re.findall(r"(?:^    .*\n)+", (ROOT / page).read_text(), re.M)
    assert sketches
    for sketch in sketches:
        ast.parse(textwrap.dedent(sketch))


def test_declarations_for_an_ffi(tmp_path):
    """The command of docs/runtimes.md prints them. The page lists all macros of the headers."""
    cffi = pytest.importorskip("cffi")
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")
    page = (ROOT / "docs/runtimes.md").read_text()
    [command] = blocks("sh", "docs/runtimes.md")
    (tmp_path / "dlx.pc").write_text(
        f"Name: dlx\nDescription: -\nVersion: 0\nCflags: -I{ROOT / 'include'}\n"
    )
    run("bash", "-euc", command, cwd=tmp_path, env={"PKG_CONFIG_PATH": os.fspath(tmp_path)})

    ffi = cffi.FFI()
    ffi.cdef((tmp_path / "dlx.cdef").read_text())

    assert ffi.sizeof("DLManagedTensorVersioned") == 80
    assert ffi.typeof("struct ArrowDeviceArray").kind == "struct"
    macros = re.findall(
        r"^#define (DLX_\w+) \(?-?\d", (ROOT / "include/dlx/dlx.h").read_text(), re.M
    )
    assert [m for m in macros if "VERSION" not in m and f"`{m}`" not in page] == []


HEADERS = sorted((ROOT / "include/dlx").iterdir())
SKETCHES = [(header.name, sketch) for header in HEADERS
            for sketch in re.findall(r"(?<=\n \*\n)(?: \*     [^\s\"].*\n)+", header.read_text())]  # fmt: skip


@pytest.mark.parametrize(("header", "sketch"), SKETCHES, ids=[name for name, _ in SKETCHES])
def test_sketches_in_headers_compile(header, sketch, tmp_path):
    lines = "".join(line[3:] for line in sketch.splitlines(True))
    source = tmp_path / "sketch.cc"
    source.write_text(f"#include <dlx/{header}>\nvoid sketch(dlx::Managed managed) {{\n{lines}}}\n")

    run("g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable",
        f"-I{ROOT / 'include'}", source)  # fmt: skip


def test_there_are_sketches_in_headers():
    assert SKETCHES


def test_an_older_standard_of_cpp_is_named(tmp_path):
    source = tmp_path / "x.cc"
    source.write_text("#include <dlx/dlx.hpp>\n")
    done = subprocess.run(
        ["g++", "-std=c++14", "-fsyntax-only", f"-I{ROOT / 'include'}", source],
        capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})  # fmt: skip

    [first, *_] = [line for line in done.stderr.splitlines() if "error: " in line]
    assert "dlx.hpp needs C++17" in first


@pytest.mark.heavy
def test_install_commands(tmp_path):
    """All lines of README.md except those of pip, which test_wheel.py tests."""
    for tool in ("cmake", "pkg-config"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    tree = tmp_path / "dlx"
    names = ("CMakeLists.txt", "cmake", "LICENSE", "capi", "include", "src", "tools")
    for name in names:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        tree.mkdir(exist_ok=True)
        copy(ROOT / name, tree / name)
    install, compile_and_run = blocks("sh")
    [source] = blocks("c")
    (tree / "example.c").write_text(source)
    without_pip = "".join(
        line for line in install.splitlines(True) if not line.startswith("pip install")
    )
    assert without_pip != install

    said = run("bash", "-euc", without_pip + compile_and_run, cwd=tree,
               env={"PREFIX": str(tmp_path / "prefix"), "CFLAGS": ""})  # fmt: skip

    assert said.splitlines()[-1:] == expected_output(source)


# The pages that a reader of the tree sees; ./dev docs --check looks at those of the site.
OF_THE_TREE = [page for page in PAGES if not page.startswith("docs/site/")]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *OF_THE_TREE])
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.M | re.S)  # C++'s lambdas
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text):
        if "://" not in target:
            path = (ROOT / page).parent / target if target else ROOT / page
            assert path.exists(), target
            assert not anchor or anchor in anchors(path.read_text()), f"{target}#{anchor}"


def test_every_item_of_conformance_has_a_test():
    items = re.findall(r"^(\d+)\. ", (ROOT / "docs/conformance.md").read_text(), re.M)
    tested: set[int] = set()
    for file in (ROOT / "tests/python").glob("**/test_*.py"):
        for name in re.findall(r"^def test_items?_((?:\d+_)+)", file.read_text(), re.M):
            tested |= set(map(int, name.split("_")[:-1]))

    assert sorted(tested) == list(map(int, items)) == list(range(1, len(items) + 1))


def test_the_index_has_every_page():
    index = (ROOT / "docs/README.md").read_text()
    missing = [page for page in OF_THE_TREE if f"]({page.removeprefix('docs/')})" not in index]
    assert missing == ["docs/README.md"]
