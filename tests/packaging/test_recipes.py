"""The recipes of packaging/, each read by its own tool where that can be had, else by a stand-in."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import types

import pytest

from dev import release
from packaging_support import ROOT, run
from test_release import tool

RECIPES = ROOT / "packaging"
SOURCES = ("CMakeLists.txt", "LICENSE", "cmake", "capi", "include", "src", "tools")


def need(*programs: str) -> None:
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"no {program}")


def copy_sources(folder) -> None:
    folder.mkdir(parents=True)
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)


def test_the_readme_lists_every_recipe():
    folders = {path.name for path in RECIPES.iterdir() if path.is_dir()}

    assert set(re.findall(r"^\| \[(\w+)\]", (RECIPES / "README.md").read_text(), re.M)) == folders


@pytest.mark.heavy
def test_conan(tmp_path):
    """Builds the package, and a program against it."""
    need("cmake")
    conan = tool("conan")
    env = {"CONAN_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    run(*conan, "profile", "detect", env=env)

    done = subprocess.run(
        [*conan, "create", "--no-remote", "-c", "tools.build:jobs=2", RECIPES / "conan"],
        env={**os.environ, **env}, capture_output=True, text=True)  # fmt: skip

    assert done.returncode == 0, done.stderr[-4000:]
    assert "sum 12" in done.stdout + done.stderr


@pytest.mark.heavy
def test_debian(tmp_path):
    """Builds the packages; lintian finds no error in them, and every file is in one."""
    need("dpkg-buildpackage", "dh", "lintian", "cmake")
    tree = tmp_path / "dlx"
    copy_sources(tree)
    shutil.copytree(RECIPES / "debian", tree / "debian")
    (tree / "debian/source/format").write_text("3.0 (native)\n")  # there is no archive of a release
    changelog = tree / "debian/changelog"
    changelog.write_text(changelog.read_text().replace("-1)", ")", 1))

    env = {"DEB_BUILD_OPTIONS": "parallel=2", "LC_ALL": "C"}
    run("dpkg-buildpackage", "-us", "-uc", "-b", cwd=tree, env=env)

    names = {path.name.split("_")[0] for path in tmp_path.glob("*.deb")}
    assert {"libdlx1", "libdlx-dev", "dlx-check"} <= names
    [changes] = tmp_path.glob("*.changes")
    run(
        "lintian",
        "--fail-on",
        "error",
        "--suppress-tags",
        "bad-distribution-in-changes-file",
        changes,
    )
    [library] = tmp_path.glob("libdlx1_*.deb")
    assert "libdlx.so.1 ->" in run("dpkg-deb", "-c", library)


@pytest.mark.heavy
def test_meson(tmp_path):
    """The wrap gets the repository, and CMake configures it as a subproject."""
    need("cmake", "git")
    meson = tool("meson")
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    wrap = configparser.ConfigParser()
    wrap.read(RECIPES / "meson/dlx.wrap")
    [kind] = [name for name in wrap.sections() if name.startswith("wrap-")]
    assert (kind, wrap[kind]["method"]) == ("wrap-git", "cmake")
    wrap[kind]["url"], wrap[kind]["revision"] = f"file://{ROOT}", "HEAD"
    project = tmp_path / "project"
    (project / "subprojects").mkdir(parents=True)
    with (project / "subprojects/dlx.wrap").open("w") as file:
        wrap.write(file)
    (project / "meson.build").write_text(
        "project('consumer', 'c', 'cpp')\n"
        "dlx = dependency('dlx')\n"
        "executable('consumer', 'consumer.c', dependencies: dlx)\n"
    )
    shutil.copy(ROOT / "tests/packaging/consumer.c", project)

    said = run(*meson, "setup", project / "build", project, env={"PATH": os.environ["PATH"]})

    assert re.search(r"Dependency dlx .*found: YES", said), said


def test_spack():
    """The recipe defines one package, in the words of Spack."""
    said: list[tuple[str, tuple, dict]] = []
    words = ("license", "version", "depends_on", "requires")
    stand_in = types.ModuleType("spack.package")
    stand_in.CMakePackage = type("CMakePackage", (), {})
    for word in words:
        setattr(stand_in, word, lambda *a, _word=word, **k: said.append((_word, a, k)))
    stand_in.__all__ = [*words, "CMakePackage"]
    names = {"spack": types.ModuleType("spack"), "spack.package": stand_in}
    before = {name: sys.modules.get(name) for name in names}
    sys.modules.update(names)
    try:
        inside: dict[str, object] = {}
        exec((RECIPES / "spack/packages/dlx/package.py").read_text(), inside)
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module:
                sys.modules[name] = module

    assert inside["Dlx"].homepage
    assert [words for words, *_ in said].count("version") == 2


VCPKG = """
cmake_minimum_required(VERSION 3.18)
set(CURRENT_PORT_DIR "{port}")
set(CURRENT_PACKAGES_DIR "{out}")
function(vcpkg_copy_tools)
  message("tools: ${{ARGV}}")
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" SOURCE_PATH "")
  execute_process(COMMAND ${{CMAKE_COMMAND}} -S ${{arg_SOURCE_PATH}} -B "{out}/tree"
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_install)
endfunction()
function(vcpkg_cmake_config_fixup)
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" FILE_LIST)
  file(COPY ${{arg_FILE_LIST}} DESTINATION "{out}/copyright")
endfunction()
include("{port}/portfile.cmake")
"""


@pytest.mark.heavy
def test_vcpkg(tmp_path):
    """The port, with stand-ins for vcpkg's functions, configures this tree. It keeps what Windows has in bin."""
    need("cmake")
    (tmp_path / "port.cmake").write_text(VCPKG.format(port=RECIPES / "vcpkg/dlx", out=tmp_path))
    kept = ("bin/dlx.dll", "debug/bin/dlx.dll", "lib/libdlx.dll.a")
    taken = ("debug/include/dlx.h", "debug/share/a", "share/licenses/dlx/LICENSE")
    for name in (*kept, *taken):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    cmake = ("cmake", "-DVCPKG_TARGET_IS_LINUX=ON", "-P", tmp_path / "port.cmake")

    done = subprocess.run(cmake, capture_output=True, text=True, check=True)

    assert (tmp_path / "tree/CMakeCache.txt").exists()
    assert (tmp_path / "copyright/LICENSE").exists()
    assert [name for name in (*kept, *taken) if (tmp_path / name).exists()] == list(kept)
    assert "tools: TOOL_NAMES;dlx-check;AUTO_CLEAN" in done.stderr


def test_the_port_of_vcpkg_has_its_fields():
    port = json.loads((RECIPES / "vcpkg/dlx/vcpkg.json").read_text())

    assert {"name", "version", "license", "dependencies"} <= set(port)
    assert "(!windows | mingw)" in port["supports"]  # CMakeLists.txt refuses MSVC


# Stands in for nixpkgs.
PKGS = """{
  stdenv.mkDerivation = words: words;
  cmake = "cmake";
  lib = {
    cleanSource = path: path;
    licenses.asl20 = "Apache-2.0";
    platforms = { linux = [ "linux" ]; darwin = [ "darwin" ]; };
  };
}"""


@pytest.mark.heavy
def test_nix():
    """Nix evaluates the expression, which reads the version out of the header."""
    need("nix-instantiate")
    wanted = f"with import {RECIPES}/nix {{ pkgs = {PKGS}; }}; [ pname version meta ]"
    done = json.loads(run("nix-instantiate", "--eval", "--strict", "--json", "-E", wanted))

    assert done[:2] == ["dlx", release.version(ROOT)]
    assert done[2]["license"] == "Apache-2.0"


# Of the channel conda-forge, which says what C++ compiler and C library packages are built with.
RENDER = """
import json, sys
from rattler_build import Stage0Recipe, VariantConfig
recipe = Stage0Recipe.from_file(sys.argv[1])
variants = VariantConfig({"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.17"]})
print(json.dumps([one.recipe.to_dict() for one in recipe.render(variants)]))
"""


@pytest.mark.heavy
def test_conda():
    """rattler-build reads the recipe, and renders its two packages; the context is the only version."""
    recipe = RECIPES / "conda/recipe.yaml"
    library, package = json.loads(run(*tool("python"), "-c", RENDER, recipe))

    assert recipe.read_text().count("${{ version }}") == 1
    names = [(one["package"]["name"], one["package"]["version"]) for one in (library, package)]
    assert names == [(name, release.version(ROOT)) for name in ("libdlx", "python-dlx")]
    assert "gxx_linux-64" in library["requirements"]["build"]
    assert package["build"]["python"] == {"version_independent": True}
