"""What CONTRIBUTING.md says of the tree, and of CI, is so."""

from __future__ import annotations

import re

from dev.settings import ROOT

FOLDERS = ("src", "capi", "include", "bindings", "tools", "benchmarks")
SUFFIXES = (".c", ".cc", ".h", ".hpp", ".inc", ".py")
LONGEST = 500
LONGER = re.compile(
    r"include/dlx/dlx\.hp*$|benchmarks/bench_copy\.py$|src/copy/(kernels/)?kernels\w*\.inc$"
    r"|src/gpu/images_\w+\.inc$|/_?generated\w*\.(py|h)$"
)


def test_sources_stay_under_500_lines():
    long = [
        f"{name}: {lines} lines"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
        for name, lines in [(str(path.relative_to(ROOT)), len(path.read_bytes().splitlines()))]
        if lines >= LONGEST and not LONGER.search(name)
    ]
    assert long == []


SYSTEM = re.compile(
    r"#include <(dlfcn|link|pthread|sched|signal|unistd|windows|sys/\w+|mach/\w+)\.h>"
    r"|__builtin_cpu_supports|__linux__|__APPLE__"
)


DECLARED = re.compile(r"^DLX_API\b[^;{]*?\b(dlx_\w+)\s*\(", re.MULTILINE)


def test_every_function_is_called_without_memory():
    test = (ROOT / "tests/capi/no_memory.cc").read_text(encoding="utf-8")
    code = re.sub(r"//.*", "", test)
    headers = sorted((ROOT / "include/dlx").glob("*.h"))
    declared = [name for path in headers for name in DECLARED.findall(path.read_text())]
    assert len(declared) > 80
    assert [name for name in declared if not re.search(rf"\b{name}\(", code)] == []


def test_only_one_folder_knows_the_operating_system():
    """src/driver/names.h and loops in kernels know its name; the rest does not."""
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for folder in ("src", "capi")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES and path.parent.name != "system" and path.name != "names.h"
        for match in SYSTEM.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


FOREIGN = re.compile(
    r"(?<!events)(->|\.)(release|deleter|get_schema|get_next|get_last_error|fn)\((?!\))"
    r"|allocator\.\w+\(|(->|\.)(managed_tensor_|dltensor_from_|current_work_stream)\w*\("
)


def test_foreign_functions_are_called_in_one_way():
    """call_foreign() of src/base/foreign.h keeps the error that is pending, call_table() drops one beside
    success."""
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("src", "capi")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in SUFFIXES
        for line in path.read_text(encoding="utf-8").splitlines()
        if FOREIGN.search(line)
    ]
    assert found == []


def test_the_front_door_is_short():
    assert len((ROOT / "dev").read_text().splitlines()) <= 200


def test_hosted_ci_runs_all_each_night():
    """tests/packaging/test_release.py has the rest."""
    text = (ROOT / ".github/workflows/ci.yml").read_text()

    assert "run: ./dev test ${{ github.event_name == 'schedule' && '--all' || '' }}" in text


def test_ci_runs_all():
    assert (ROOT / ".ci/run").read_text().splitlines()[1:] == [
        'exec "$(dirname "$0")/../dev" test --all'
    ]
