"""examples/filter: one library in C, and a program in each language that calls it by that language's package, with an
installed dlx. tests/python/systems/test_filter.py has the callers in Python."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from packaging_support import ROOT, run

pytestmark = pytest.mark.heavy

EXAMPLE = ROOT / "examples/filter"
BINDINGS = ROOT / "bindings"
JNA = Path("/usr/share/java/jna.jar")

# What each program prints. Programs whose own memory is shared also print that it was released.
SAID = """25 30 40 45 45 50 60 65 65 70 80 85
0 10 20 45 40 50 60 105 80 90 100 165
blur: `image` must have 2 axes, uint8[h, w] (got 1, shape (12,))
blur: `radius` is negative (got -1)
(3, 4): 25 30 40 45""".splitlines()


def need(*commands):
    for command in commands:
        if not shutil.which(command):
            pytest.skip(f"no {command}")


def found(installed):
    """What pkg-config and the loader need."""
    library = installed / "lib"
    return {"PKG_CONFIG_PATH": str(library / "pkgconfig"), "LD_LIBRARY_PATH": str(library)}


@pytest.fixture(scope="module")
def built(installed, tmp_path_factory):
    """The build tree of the example."""
    need("cmake")
    tree = tmp_path_factory.mktemp("filter")
    run("cmake", "-S", EXAMPLE, "-B", tree, f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tree)
    return tree


@pytest.fixture
def check(installed, built):
    def call(*command, released, **environment):
        said = run(*command, built / "libfilter.so", env={**found(installed), **environment})
        assert [line.rstrip() for line in said.splitlines()] == SAID + ["released"] * released

    return call


def test_c_and_cxx(built, check):
    check(built / "use_cpp", released=True)
    assert run(built / "use_c").splitlines()[0].split() == SAID[0].split()


def test_rust(installed, check, tmp_path):
    need("cargo", "pkg-config")
    shutil.copytree(EXAMPLE / "rust", tmp_path / "examples/filter/rust")
    (tmp_path / "bindings").symlink_to(BINDINGS)
    cargo = ("cargo", "run", "--quiet", "--offline", "--manifest-path")

    check(*cargo, tmp_path / "examples/filter/rust/Cargo.toml", "--", released=True,
          CARGO_TARGET_DIR=str(tmp_path / "target"))  # fmt: skip


def test_go(installed, check, tmp_path):
    need("go", "gcc", "pkg-config")
    environment = {
        **found(installed),
        "GOCACHE": str(tmp_path / "cache"),
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
    }
    run("go", "vet", ".", env=environment, cwd=EXAMPLE / "go")
    run("go", "build", "-o", tmp_path / "use", ".", env=environment, cwd=EXAMPLE / "go")

    check(tmp_path / "use", released=False)


def test_luajit(check):
    need("luajit")
    path = BINDINGS / "lua"

    check(
        "luajit",
        EXAMPLE / "use.lua",
        released=False,
        LUA_PATH=f"{path}/?.lua;{path}/?/init.lua",
    )


def test_ruby(check):
    need("ruby")

    check("ruby", "-w", "-I", BINDINGS / "ruby/lib", EXAMPLE / "use.rb", released=False)


def test_r(installed, check, tmp_path):
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

    check("Rscript", EXAMPLE / "use.R", released=False, R_LIBS=str(tmp_path / "library"))


def test_node(installed, check, tmp_path):
    need("node", "pkg-config", "cc")
    package = tmp_path / "node_modules/libdlx"
    shutil.copytree(
        BINDINGS / "node", package, ignore=shutil.ignore_patterns("build", "node_modules")
    )
    run("node", package / "scripts/build.js", env=found(installed))

    check("node", EXAMPLE / "use.js", released=True, NODE_PATH=os.fspath(package.parent))


def test_csharp(installed, check, tmp_path):
    need("mcs", "mono")
    mcs = ("mcs", "-langversion:Latest", "-unsafe", "-warnaserror")
    run(
        *mcs,
        "-target:library",
        *(BINDINGS / "csharp/src").glob("*.cs"),
        f"-out:{tmp_path / 'Dlx.dll'}",
    )
    run(*mcs, EXAMPLE / "Use.cs", f"-r:{tmp_path / 'Dlx.dll'}", f"-out:{tmp_path / 'Use.exe'}")

    check("mono", tmp_path / "Use.exe", released=True)


def test_java(installed, check, tmp_path):
    need("java", "javac")
    if not JNA.exists():
        pytest.skip("no JNA (Debian: libjna-java)")
    run("javac", "-cp", JNA, "-d", tmp_path, *(BINDINGS / "java/src/main/java/dlx").glob("*.java"))

    check("java", "-cp", f"{tmp_path}:{JNA}", EXAMPLE / "Use.java", released=True,
          JAVA_TOOL_OPTIONS="-Djna.library.path=" + os.fspath(installed / "lib"))  # fmt: skip
