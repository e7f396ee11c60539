"""Which tests belong to a folder: THE table, which CONTRIBUTING.md shows, and the search in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .shell import Failed

ROOM = "bindings/python/dlx"
LIGHT = ("-m", "not heavy")
OF_PYTEST = ("tests/python", "tests/packaging", "tests/docs", "tests/dev")

# Folder or file -> its tests: files, folders and patterns. A deeper file or folder without a row has
# the tests of the nearest parent with a row. `*` stands for a folder that exists on both sides.
TABLE: dict[str, tuple[str, ...]] = {
    "include": ("tests/abi", "tests/cpp"),
    "capi": ("tests/capi",),
    "capi/abi": ("tests/abi",),
    "src": ("tests/src",),
    "src/*": ("tests/src/*",),
    "src/arrow": ("tests/src/arrow", "tests/capi/test_arrow*.c", "tests/python/test_arrow*.py"),
    "src/contract": (
        "tests/src/contract",
        "tests/capi/test_contract.c",
        "tests/python/test_{function,array_parameter}*.py",
    ),
    "src/device": ("tests/src/device", "tests/device"),
    "src/dtype": ("tests/src/dtype", "tests/capi/test_dtype*.c", "tests/python/test_dtype*.py"),
    "src/python": (
        "tests/python/test_{tensor,asarray,convert,capsules,indexing,scalar,sequences,buffers,torch}*.py",
    ),
    "src/tensor": ("tests/src/tensor", "tests/capi/test_{tensor,views,dlpack}*.c"),
    "bindings": ("tests/python",),
    "bindings/python": ("tests/python",),
    "bindings/gen": ("tests/python/test_generated*.py",),
    "bindings/conformance": ("tests/python/test_bindings_conformance.py",),
    f"{ROOM}/_lib": ("tests/python/test_import.py", "tests/python/raw/test_raw_loading.py"),
    f"{ROOM}/_take": (
        "tests/python/test_{asarray,arrow,buffers,capsules,cffi,from_pointer,sequences,structured,hooks,odd}*.py",
    ),
    f"{ROOM}/_give": ("tests/python/test_convert.py",),
    f"{ROOM}/_call": ("tests/python/test_{function,array_parameter}*.py",),
    f"{ROOM}/_compute": ("tests/python/test_{compute,scalar}*.py",),
    f"{ROOM}/_share": ("tests/python/test_{share,pickle}*.py",),
    f"{ROOM}/_raw": ("tests/python/raw",),
    f"{ROOM}/testing": ("tests/python/testing",),
    f"{ROOM}/_tensor": (
        "tests/python/test_{tensor,indexing}.py",
        "tests/python/test_compute_methods.py",
    ),
    f"{ROOM}/_cli": ("tests/python/test_{command_line,demo}.py",),
    "docs": ("tests/docs", "tests/packaging/test_readme.py"),
    "README.md": ("tests/packaging/test_readme.py",),
    "examples": ("tests/packaging/test_examples.py",),
    "cmake": ("tests/packaging/test_{cmake,flags}.py",),
    "CMakeLists.txt": ("tests/packaging/test_{cmake,flags}.py",),
    "packaging": ("tests/packaging/test_{recipes,release}.py",),
    ".github": ("tests/packaging/test_release.py",),
    "RELEASING.md": ("tests/packaging/test_release.py",),
    "benchmarks": ("tests/python/test_gpu_scripts.py", "tests/python/gpu/test_gpu_bench.py"),
    "tools": ("tests/dev",),
    "dev": ("tests/dev",),
    "CONTRIBUTING.md": ("tests/dev",),
    "tests": ("tests", *OF_PYTEST),
    "tests/embed": ("tests/python/test_embedding.py",),
    "tests/fuzz": ("tests/python/test_fuzz_corpora.py",),
}
# All their tests are marked heavy.
HEAVY = ("examples",)


@dataclass
class Found:
    targets: list[str] = field(default_factory=list)  # of Bazel
    files: list[str] = field(default_factory=list)  # of pytest
    marks: list[str] = field(default_factory=list)  # for pytest, unless it is told others
    as_given: bool = True  # every path was one of pytest's own


def find(root: Path, words: Sequence[str]) -> Found:
    """The tests of these folders and files, which are relative to the clone, or full paths."""
    found = Found()
    for word in words:
        path = root / word.split("::")[0]
        if not path.exists():
            raise Failed(
                f"test: no folder or file '{word}'; with tests of their own are: {known(root)}"
            )
        if "::" in word or not path.resolve().is_relative_to(root) or _is_of_pytest(root, path):
            found.files.append(word)
            continue
        found.as_given = False
        name = str(path.resolve().relative_to(root))
        tests = _tests_of(root, name)
        if not tests:
            raise Failed(f"test: '{word}' has no tests; with tests of their own are: {known(root)}")
        for test in tests:
            _add(found, root, test)
        if name not in HEAVY:
            found.marks = list(LIGHT)
    return found


def known(root: Path) -> str:
    """The folders that the table names, for a message."""
    names = {name for name in TABLE if "*" not in name and (root / name).exists()}
    names |= {str(path.relative_to(root)) for path in _mirrored(root)}
    return ", ".join(sorted(names))


def _mirrored(root: Path) -> Iterator[Path]:
    for path in sorted((root / "src").glob("*")):
        if _has_tests(root / "tests/src" / path.name):
            yield path


def _is_of_pytest(root: Path, path: Path) -> bool:
    name = str(path.resolve().relative_to(root))
    return any(name == folder or name.startswith(f"{folder}/") for folder in OF_PYTEST)


def _has_tests(folder: Path) -> bool:
    """Whether Bazel finds tests in the folder or below."""
    return any(_label(str(path)) for path in folder.rglob("*"))


def _tests_of(root: Path, name: str) -> list[str]:
    """Files and folders under tests/."""
    path = root / name
    if name.startswith("tests/"):
        if name in TABLE:
            return list(TABLE[name])
        if path.is_dir():
            return [name] if _has_tests(path) else []
        return [name] if _label(name) else _tests_of(root, str(Path(name).parent))
    for folder in [name, *map(str, Path(name).parents)]:
        if tests := _entry(root, folder):
            return _narrowed(root, tests, path) if path.is_file() else tests
    return []


def _entry(root: Path, folder: str) -> list[str]:
    """The row for this folder: by name, or by pattern if the other side has the folder."""
    patterns = TABLE.get(folder)
    if patterns is None and folder.startswith("src/") and _has_tests(root / "tests" / folder):
        patterns = (f"tests/{folder}",)
    return [
        str(path.relative_to(root))
        for pattern in patterns or ()
        for plain in alternatives(pattern)
        for path in sorted(root.glob(plain))
    ]


def alternatives(pattern: str) -> list[str]:
    """test_{a,b}.py -> test_a.py, test_b.py"""
    start, brace, rest = pattern.partition("{")
    names, _, end = rest.partition("}")
    return [start + name + end for name in names.split(",")] if brace else [pattern]


def markdown() -> str:
    """The table as CONTRIBUTING.md shows it. Folders with the same tests share a line."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for folder, tests in TABLE.items():
        lines.setdefault(tests, []).append(folder)
    return "".join(
        f"| {_quoted(names)} | {_quoted(tests)} | `./dev test {names[0].replace('*', 'NAME')}` |\n"
        for tests, names in lines.items()
    )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _narrowed(root: Path, tests: list[str], source: Path) -> list[str]:
    """The tests that are named after the source file, if any."""
    files = [
        file
        for test in tests
        for file in ([root / test] if (root / test).is_file() else (root / test).rglob("test_*"))
    ]
    stem = f"test_{source.stem}"
    named = {
        str(file.relative_to(root))
        for file in files
        if file.stem == stem or file.stem.startswith(f"{stem}_")
    }
    return sorted(named) or tests


def _label(test: str) -> str | None:
    """Bazel's name of a test file."""
    path = Path(test)
    is_script = path.suffix == ".sh" and path.name != "common.sh"
    is_program = path.name.startswith("test_") and path.suffix in (".c", ".cc")
    return f"//{path.parent}:{path.stem}" if is_script or is_program else None


def _add(found: Found, root: Path, test: str) -> None:
    if _is_of_pytest(root, root / test):
        found.files.append(test)
    else:
        found.targets.append(_label(test) or f"//{test}/...")
