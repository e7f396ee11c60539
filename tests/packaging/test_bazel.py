"""Another Bazel workspace builds programs with dlx as third_party/README.md says, without flags."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from packaging_support import HERE, LANGUAGE, LISTS, ROOT, run

pytestmark = pytest.mark.heavy

PROGRAM = """
cc_binary(
    name = "{name}",
    srcs = ["{name}.{extension}"],
    deps = ["@dlx//:{library}"],
    copts = {copts},
)
"""


@pytest.fixture(scope="module")
def bazel(tmp_path_factory):
    """Runs Bazel in a workspace around dlx, with a server and an output folder of its own."""
    if not shutil.which("bazel"):
        pytest.skip("no bazel")
    around = tmp_path_factory.mktemp("around")
    page = (ROOT / "third_party/README.md").read_text()
    workspace, build = re.findall(r"^```starlark\n(.*?)^```", page, re.M | re.S)
    assert '"../dlx"' in workspace
    (around / "WORKSPACE").write_text(workspace.replace("../dlx", str(ROOT)))
    shutil.copy(HERE / "consumer.c", around / "app.c")
    shutil.copy(HERE / "consumer.c", around / "as_cxx.cc")
    shutil.copy(HERE / "consumer.c", around / "static.c")
    filter_ = ROOT / "examples/filter"
    shutil.copy(filter_ / "use.cc", around)
    shutil.copy(filter_ / "filter.h", around)
    shutil.copy(filter_ / "filter.c", around / "filter.cc")  # valid as C++, too
    (around / "BUILD").write_text(
        build
        + PROGRAM.format(name="as_cxx", extension="cc", copts=[], library="dlx")
        + PROGRAM.format(name="static", extension="c", copts=[], library="dlx_static")
        + PROGRAM.format(
            name="use", extension='cc", "filter.cc", "filter.h', copts=["-std=c++17"], library="dlx"
        )
    )
    root = tmp_path_factory.mktemp("output")
    startup = ("bazel", f"--output_user_root={root}", "--max_idle_secs=60")

    def call(*words) -> str:
        return run(*startup, *words, cwd=around)

    yield call
    call("clean", "--expunge")
    shutil.rmtree(root, ignore_errors=True)


def test_c(bazel):
    assert re.fullmatch(r"dlx \d+\.\d+\.\d+, sum 12\n", bazel("run", "//:app"))


def test_static(bazel):
    assert re.fullmatch(r"dlx \d+\.\d+\.\d+, sum 12\n", bazel("run", "//:static"))


def test_cxx(bazel):
    assert re.fullmatch(r"dlx \d+\.\d+\.\d+, sum 12\n", bazel("run", "//:as_cxx"))


def test_dlx_hpp(bazel):
    assert bazel("run", "//:use").splitlines()[-2:] == ["(3, 4): 25 30 40 45", "released"]


def test_same_flags_as_cmake(bazel, tmp_path):
    """Both builds compile each file, and link the library, with the same flags of src/flags.bzl."""
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    run(
        "cmake",
        "-S",
        ROOT,
        "-B",
        tmp_path,
        "-GUnix Makefiles",
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
    )
    words = {*LANGUAGE, *(word for words in LISTS.values() for word in words)}
    cmake = {}
    for unit in json.loads((tmp_path / "compile_commands.json").read_text()):
        file = unit["file"].replace(f"{ROOT}/", "")
        if not file.startswith("tools/"):  # programs beside the library
            cmake[file] = words & set(unit["command"].split())

    actions = json.loads(
        bazel(
            "aquery", "--output=jsonproto", 'mnemonic("Cpp(Compile|Link)", deps(@dlx//:libdlx.so))'
        )
    )["actions"]
    files = {}
    for action in actions:
        if "-c" in action["arguments"]:
            file = action["arguments"][action["arguments"].index("-c") + 1]
            files[file.replace("external/dlx/", "")] = words & set(action["arguments"])
    [link] = [a["arguments"] for a in actions if "-Wl,-soname,libdlx.so.1" in a["arguments"]]

    assert len(files) > 100
    assert files == cmake
    assert all(
        {*LANGUAGE, *LISTS["WARNINGS"], *LISTS["COMPILE"]} <= flags for flags in files.values()
    )
    linked = set((tmp_path / "CMakeFiles/dlx.dir/link.txt").read_text().split())
    assert words & set(link) == words & linked >= {*LISTS["LINK"], *LISTS["JOIN_PAGES"]}
