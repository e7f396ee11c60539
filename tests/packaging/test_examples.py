"""The programs of examples/, which use the packages of bindings/, each in its own runtime, with an installed dlx."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from packaging_support import ROOT, run

pytestmark = pytest.mark.heavy

EXAMPLES = ROOT / "examples"
BINDINGS = ROOT / "bindings"
JNA = Path("/usr/share/java/jna.jar")

# Each program prints an error of dlx and the transpose of a matrix. Programs whose own memory is shared also
# print that it was released.
SAID = [
    "dlx_tensor_select: `index` is out of range (got 9 on axis 0, which has 2 elements)",
    "(3, 2): 0 3 1 4 2 5",
]


def need(*commands):
    for command in commands:
        if not shutil.which(command):
            pytest.skip(f"no {command}")


def found(installed):
    """What pkg-config and the loader need."""
    library = installed / "lib"
    return {"PKG_CONFIG_PATH": str(library / "pkgconfig"), "LD_LIBRARY_PATH": str(library)}


def check(installed, *command, released, **environment):
    said = run(*command, env={**found(installed), **environment})
    assert said.splitlines() == SAID + ["released"] * released


def test_cxx(installed, tmp_path):
    run("g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
        f"-I{installed / 'include'}", EXAMPLES / "share.cc", f"-L{installed / 'lib'}", "-ldlx",
        "-o", tmp_path / "share")  # fmt: skip

    check(installed, tmp_path / "share", released=True)


def test_rust(installed, tmp_path):
    need("cargo", "pkg-config")
    shutil.copytree(EXAMPLES / "rust", tmp_path / "examples/rust")
    (tmp_path / "bindings").symlink_to(BINDINGS)
    cargo = ("cargo", "run", "--quiet", "--offline", "--manifest-path")

    check(installed, *cargo, tmp_path / "examples/rust/Cargo.toml", released=True,
          CARGO_TARGET_DIR=str(tmp_path / "target"))  # fmt: skip


def test_go(installed, tmp_path):
    need("go", "gcc", "pkg-config")
    environment = {
        **found(installed),
        "GOCACHE": str(tmp_path / "cache"),
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
    }
    run("go", "vet", ".", env=environment, cwd=EXAMPLES / "go")
    run("go", "build", "-o", tmp_path / "share", ".", env=environment, cwd=EXAMPLES / "go")

    check(installed, tmp_path / "share", released=False)


def test_luajit(installed):
    need("luajit")
    path = BINDINGS / "lua"

    check(
        installed,
        "luajit",
        EXAMPLES / "share.lua",
        released=False,
        LUA_PATH=f"{path}/?.lua;{path}/?/init.lua",
    )


def test_ruby(installed):
    need("ruby")

    check(
        installed, "ruby", "-w", "-I", BINDINGS / "ruby/lib", EXAMPLES / "share.rb", released=False
    )


def test_r(installed, tmp_path):
    need("R", "cc", "pkg-config")
    shutil.copytree(BINDINGS / "r", tmp_path / "dlx")
    (tmp_path / "library").mkdir()
    run(
        "R",
        "CMD",
        "INSTALL",
        "--no-docs",
        "-l",
        tmp_path / "library",
        tmp_path / "dlx",
        env=found(installed),
    )

    check(
        installed, "Rscript", EXAMPLES / "share.R", released=False, R_LIBS=str(tmp_path / "library")
    )


def test_node(installed, tmp_path):
    need("node", "pkg-config", "cc")
    package = tmp_path / "node_modules/libdlx"
    shutil.copytree(
        BINDINGS / "node", package, ignore=shutil.ignore_patterns("build", "node_modules")
    )
    run("node", package / "scripts/build.js", env=found(installed))

    check(
        installed, "node", EXAMPLES / "share.js", released=True, NODE_PATH=os.fspath(package.parent)
    )


def test_csharp(installed, tmp_path):
    need("mcs", "mono")
    mcs = ("mcs", "-langversion:Latest", "-unsafe", "-warnaserror")
    run(
        *mcs,
        "-target:library",
        *(BINDINGS / "csharp/src").glob("*.cs"),
        f"-out:{tmp_path / 'Dlx.dll'}",
    )
    run(*mcs, EXAMPLES / "Share.cs", f"-r:{tmp_path / 'Dlx.dll'}", f"-out:{tmp_path / 'Share.exe'}")

    check(installed, "mono", tmp_path / "Share.exe", released=True)


def test_java(installed, tmp_path):
    need("java", "javac")
    if not JNA.exists():
        pytest.skip("no JNA (Debian: libjna-java)")
    run("javac", "-cp", JNA, "-d", tmp_path, *(BINDINGS / "java/src/main/java/dlx").glob("*.java"))

    check(installed, "java", "-cp", f"{tmp_path}:{JNA}", EXAMPLES / "Share.java", released=True,
          JAVA_TOOL_OPTIONS="-Djna.library.path=" + os.fspath(installed / "lib"))  # fmt: skip


def test_filter_by_cmake(installed, tmp_path):
    """One library in C that C and C++ call; tests/python/systems/test_filter.py has the other callers."""
    need("cmake")
    run("cmake", "-S", EXAMPLES / "filter", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path)

    blurred = "25 30 40 45 45 50 60 65 65 70 80 85 "
    assert run(tmp_path / "use_c").splitlines()[0] == blurred
    assert run(tmp_path / "use_cpp").splitlines()[0] == blurred
