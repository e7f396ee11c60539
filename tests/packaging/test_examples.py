"""The programs of examples/, each in its own runtime, with an installed dlx."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from packaging_support import ROOT, run

pytestmark = pytest.mark.heavy

EXAMPLES = ROOT / "examples"
JNA = Path("/usr/share/java/jna.jar")
KOFFI = ROOT / ".venv-systems/node/node_modules"

# Each program prints an error of dlx and the transpose of a matrix. Programs with a deleter also print
# that the deleter was called.
SAID = [
    "dlx_tensor_select: `index` is out of range (got 9 on axis 0, which has 2 elements)",
    "(3, 2): 0 3 1 4 2 5",
]


def need(*commands):
    for command in commands:
        if not shutil.which(command):
            pytest.skip(f"no {command}")


def check(installed, *command, released, **environment):
    said = run(*command, env={"LD_LIBRARY_PATH": str(installed / "lib"), **environment})
    assert said.splitlines() == SAID + ["released"] * released


def test_cxx(installed, tmp_path):
    run("g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
        f"-I{installed / 'include'}", EXAMPLES / "share.cc", f"-L{installed / 'lib'}", "-ldlx",
        "-o", tmp_path / "share")  # fmt: skip

    check(installed, tmp_path / "share", released=True)


def test_rust(installed, tmp_path):
    need("rustc")
    run("rustc", EXAMPLES / "share.rs", "-L", f"native={installed / 'lib'}", "-l", "dlx",
        "-D", "warnings", "-o", tmp_path / "share")  # fmt: skip

    check(installed, tmp_path / "share", released=True)


def test_go(installed, tmp_path):
    need("go", "gcc", "pkg-config")
    environment = {"PKG_CONFIG_PATH": str(installed / "lib/pkgconfig"), "GOCACHE": str(tmp_path / "cache"),
                   "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}  # fmt: skip
    run("go", "vet", EXAMPLES / "share.go", env=environment)
    run("go", "build", "-o", tmp_path / "share", EXAMPLES / "share.go", env=environment)

    # cgocheck finds pointers to garbage-collected memory that C keeps.
    check(installed, tmp_path / "share", released=True, GODEBUG="cgocheck=2")


def test_luajit(installed):
    need("luajit")

    check(installed, "luajit", EXAMPLES / "share.lua", released=False)


def test_ruby(installed):
    need("ruby")

    check(installed, "ruby", "-w", EXAMPLES / "share.rb", released=False)


def test_node(installed):
    need("node")
    if not KOFFI.is_dir():
        pytest.skip("no koffi (npm install --prefix .venv-systems/node koffi)")

    check(installed, "node", EXAMPLES / "share.js", released=True, NODE_PATH=os.fspath(KOFFI))


def test_csharp(installed, tmp_path):
    need("mcs", "mono")
    run("mcs", "-unsafe", "-warnaserror", EXAMPLES / "Share.cs", f"-out:{tmp_path / 'Share.exe'}")

    check(installed, "mono", tmp_path / "Share.exe", released=True)


def test_java(installed):
    need("java", "javac")
    if not JNA.exists():
        pytest.skip("no JNA (Debian: libjna-java)")

    check(installed, "java", "-cp", JNA, EXAMPLES / "Share.java", released=True,
          JAVA_TOOL_OPTIONS="-Djna.library.path=" + os.fspath(installed / "lib"))  # fmt: skip


def test_filter_by_cmake(installed, tmp_path):
    """One library in C that C and C++ call; tests/python/systems/test_filter.py has the other callers."""
    need("cmake")
    run("cmake", "-S", EXAMPLES / "filter", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path)

    blurred = "25 30 40 45 45 50 60 65 65 70 80 85 "
    assert run(tmp_path / "use_c").splitlines()[0] == blurred
    assert run(tmp_path / "use_cpp").splitlines()[0] == blurred
