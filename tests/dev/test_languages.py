"""./dev test --bindings, and the manifests of the packages."""

from __future__ import annotations

import importlib.util
import re
from xml.etree import ElementTree

import pytest

from dev import languages, settings
from dev.settings import ROOT

MANIFESTS = {
    "rust/dlx/Cargo.toml": r'^version = "(.*)"',
    "rust/dlx-sys/Cargo.toml": r'^version = "(.*)"',
    "node/package.json": r'"version": "(.*)"',
    "java/pom.xml": r"<artifactId>dlx</artifactId>\s*<version>(.*)</version>",
    "csharp/Dlx.csproj": r"<Version>(.*)</Version>",
    "lua/dlx-0.1.0-1.rockspec": r'^version = "(.*)-1"',
    "r/DESCRIPTION": r"^Version: (.*)",
    "ruby/lib/dlx/version.rb": r"VERSION = '(.*)'",
}


# R's packages name a licence that R itself has.
PACKAGES = ("csharp", "go", "java", "lua", "node", "ruby", "rust/dlx", "rust/dlx-sys")


def version() -> str:
    text = (ROOT / "include/dlx/dlx.h").read_text()
    return ".".join(re.findall(r"DLX_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_manifests_have_the_version_of_the_header(manifest):
    text = (ROOT / "bindings" / manifest).read_text()

    assert re.search(MANIFESTS[manifest], text, re.M)[1] == version()


def test_each_package_says_what_it_is():
    for name in languages.STEPS:
        if name != "cpp":
            folder = ROOT / "bindings" / name
            assert (folder / ("dlx/README.md" if name == "rust" else "README.md")).exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_has_the_licence(package):
    assert (ROOT / "bindings" / package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_project_of_dotnet_names_files_that_exist():
    folder = ROOT / "bindings/csharp"
    project = ElementTree.parse(folder / "Dlx.csproj").getroot()

    names = [item.get("Include") for item in project.findall("ItemGroup/*")]
    assert names == ["src/*.cs", "README.md;LICENSE"]
    assert all(any(folder.glob(name)) for words in names for name in words.split(";"))


def test_the_rock_has_each_file():
    rock = (ROOT / "bindings/lua/dlx-0.1.0-1.rockspec").read_text()

    for file in (ROOT / "bindings/lua/dlx").glob("*.lua"):
        assert f'"dlx/{file.name}"' in rock


def test_the_plan_has_each_language(clone):
    lines = clone.plan("test", "--bindings")

    for words in (" test --quiet --offline", "-P release package", "luarocks lint", "gem install", "go test -race", "node --expose-gc --test", "ConsoleLauncher", "mono ", "Rscript ",
                  "luajit ", "ruby -w", "clang++-19 -std=c++23", "DLX_TWO=java"):  # fmt: skip
        assert any(words in line for line in lines), words


def test_one_language(clone):
    lines = clone.plan("test", "--bindings", "lua")

    assert any("luajit" in line for line in lines)
    assert not any("cargo test" in line for line in lines)


def test_jobs_have_names_of_their_own():
    names = [job.name for job in languages.jobs(settings.read({}, dry=True))]
    assert len(set(names)) == len(names) == len(languages.STEPS) + 1


def test_each_package_is_measured():
    path = ROOT / "benchmarks/bench_languages.py"
    spec = importlib.util.spec_from_file_location("bench_languages", path)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    names = {"C++": "cpp", "C#": "csharp", "LuaJIT": "lua"}

    assert {names.get(name, name.lower()) for name in bench.PROGRAMS} == {"c", *languages.STEPS}
