"""./dev test FOLDER: the table, the search in it, and the table that CONTRIBUTING.md shows."""

from __future__ import annotations

import re

import pytest

from dev import folders
from dev.settings import ROOT
from dev.shell import Failed

ALL = [name for name in folders.TABLE if "*" not in name]


def find(*words):
    return folders.find(ROOT, words)


@pytest.mark.parametrize("name", ALL)
def test_each_row_of_the_table_is_true(name):
    assert (ROOT / name).exists()
    for pattern in folders.TABLE[name]:
        for plain in folders.alternatives(pattern):
            assert list(ROOT.glob(plain)), plain
    found = find(name)
    assert found.targets or found.files


def test_every_room_of_the_package_has_a_row():
    rooms = {path.parent.name for path in (ROOT / folders.ROOM).glob("_*/__init__.py")}

    assert {room for room in rooms if f"{folders.ROOM}/{room}" not in folders.TABLE} == {
        "_pyinstaller"
    }


@pytest.mark.parametrize("folder", sorted(path.name for path in (ROOT / "src").glob("*/")))
def test_every_folder_of_src_has_tests_of_its_own(folder):
    if (ROOT / "src" / folder).is_dir():
        assert find(f"src/{folder}").targets != ["//tests/src/..."]


def test_no_folder_of_tests_is_empty_and_none_is_left_out_of_bazel():
    with_build = {path.parent for path in (ROOT / "tests").glob("**/BUILD")}
    files = [path for end in ("c", "cc") for path in (ROOT / "tests").glob(f"**/test_*.{end}")]
    with_tests = {path.parent for path in files}

    assert with_tests <= with_build
    for folder in with_build:
        assert len(list(folder.iterdir())) > 1, folder


@pytest.mark.parametrize(
    ("word", "targets"),
    [
        ("src", ["//tests/src/..."]),
        ("src/base", ["//tests/src/base/..."]),
        ("src/copy", ["//tests/src/copy/..."]),
        ("src/copy/", ["//tests/src/copy/..."]),
        ("src/base/BUILD", ["//tests/src/base/..."]),
        ("src/base/error.h", ["//tests/src/base:test_error"]),
        ("capi", ["//tests/capi/..."]),
        ("capi/library.cc", ["//tests/capi:test_library"]),
        ("include", ["//tests/abi/...", "//tests/cpp/..."]),
        ("include/dlx", ["//tests/abi/...", "//tests/cpp/..."]),
        ("tests/src/device", ["//tests/src/device/..."]),
        ("tests/capi/test_dtype.c", ["//tests/capi:test_dtype"]),
        ("tests/capi/util.h", ["//tests/capi/..."]),
        ("tests/abi/headers.sh", ["//tests/abi:headers"]),
    ],
)
def test_folders_and_files_of_c(word, targets):
    found = find(word)

    assert (found.targets, found.files) == (targets, [])


@pytest.mark.parametrize(
    ("word", "files", "marks"),
    [
        ("bindings/python", ["tests/python"], ["-m", "not heavy"]),
        (
            "bindings/python/dlx/_give/convert.py",
            ["tests/python/test_convert.py"],
            ["-m", "not heavy"],
        ),
        ("docs/copy.md", ["tests/docs", "tests/packaging/test_readme.py"], ["-m", "not heavy"]),
        ("examples", ["tests/packaging/test_examples.py"], []),
        ("tools/dev", ["tests/dev"], ["-m", "not heavy"]),
        ("tests/embed", ["tests/python/test_embedding.py"], ["-m", "not heavy"]),
    ],
)
def test_folders_of_python(word, files, marks):
    found = find(word)

    assert (found.targets, found.files, found.marks) == ([], files, marks)
    assert not found.as_given


def test_pytests_own_paths_stay_as_they_are():
    words = ["tests/python/test_tensor.py::test_x", "tests/python/raw", "tests/dev/test_folders.py"]
    found = find(*words)

    assert (found.targets, found.files, found.marks) == ([], words, [])
    assert found.as_given
    assert find().as_given


def test_both_kinds_at_once():
    found = find("src/arrow", "tests/python/test_import.py")

    assert "//tests/capi:test_arrow_import" in found.targets
    assert {"tests/python/test_arrow.py", "tests/python/test_import.py"} <= set(found.files)
    assert not found.as_given


def test_a_folder_of_another_clone_is_not_taken_for_one_of_this(tmp_path):
    (tmp_path / "src/base").mkdir(parents=True)

    found = find(str(tmp_path / "src/base"))

    assert found.files == [str(tmp_path / "src/base")]
    assert found.as_given


@pytest.mark.parametrize(
    ("word", "why"),
    [("src/nope", "no folder or file 'src/nope'"), ("third_party", "'third_party' has no tests")],
)
def test_what_has_no_tests_is_refused_with_what_has(word, why):
    with pytest.raises(Failed) as error:
        find(word)

    assert why in str(error.value)
    named = str(error.value).partition("are: ")[2].split(", ")
    assert {"src", "src/base", "src/arrow", "capi", "docs", "bindings/python"} <= set(named)
    for name in named:
        assert (ROOT / name).exists()


def test_contributing_shows_the_table():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    [shown] = re.findall(r"^\| folder \|.*\n\|---.*\n((?:\|.*\n)*)", page, re.M)

    assert shown == folders.markdown(), f"CONTRIBUTING.md has to show:\n{folders.markdown()}"
