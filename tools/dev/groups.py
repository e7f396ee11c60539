"""What ./dev test runs in each mode: THE list of its jobs."""

from __future__ import annotations

import shutil
from pathlib import Path

from . import bazel, languages, systems
from .jobs import BAZEL, MEMORY, SHARED_MEMORY, Job
from .runners import Runner
from .settings import Settings
from .shell import Failed

C_TESTS = ("//tests/capi/...", "//tests/cpp/...", "//tests/src/...", "//tests/tools/...")
PYTHON_TESTS = ("tests/python", "tests/packaging", "tests/docs", "tests/dev")
REFEREE = "tests/python/testing"
WITHOUT_REFEREE = (f"--ignore={REFEREE}",)
LIGHT = ("-m", "not heavy")
HEAVY = ("-m", "heavy")
LIBRARY = "libdlx.so"
OTHER_MACHINES = "riscv64 or s390x"
# By zig, minutes for each platform, and what compiles the library anew for each kind of project.
OTHER_WHEELS = tuple(
    f"tests/packaging/test_{name}.py" for name in ("platforms", "platforms_run", "static")
)
RECIPES = "tests/packaging/test_recipes.py"
MODES = ("quick", "", "all", "release", "systems", "bindings", "gpu", "array-api")

# The jobs of --release that --all does not have: heavy, and least likely to find something. ./dev help
# prints these words.
BEYOND = {
    "systems-mxnet": "MXNet",
    "systems-oneapi": "oneAPI",
    "emulated": "riscv64 and s390x",
    "platforms": "wheels for other platforms, by zig, and the static library",
    "recipes": "the recipes of packaging, by Conan, dpkg, Meson, Nix and rattler-build",
    "hostile": "hostile objects for 5 minutes",
    "clang": "the build with clang",
    "analyzer": "clang's static analyzer",
    "fuzz-long": "fuzzing for 2 minutes a target",
    "msan": "corpora under MemorySanitizer",
    "valgrind": "the C tests under valgrind",
    "coverage": "coverage",
}


def jobs(settings: Settings, mode: str) -> list[Job]:
    if mode == "systems":
        return systems.jobs(settings)
    if mode == "bindings":
        return languages.jobs(settings)
    if mode == "quick":
        return [_bazel("bazel", *C_TESTS), _light("ctypes"), _fakes("ctypes")]
    every_commit = [
        _bazel("bazel", "//..."),
        _light("ctypes"),
        _light("cffi"),
        _fakes("ctypes"),
        _fakes("cffi"),
    ]
    if mode == "":
        return every_commit
    # The longest chain first: pytest under the sanitizer waits for the sanitizer's build.
    ci = [_sanitized("asan"), *every_commit, *_ci(settings)]
    if mode == "all":
        return ci
    if mode == "release":
        return [*ci, *_release(settings)]
    raise Failed(f"test: no mode --{mode}")


def _ci(settings: Settings) -> list[Job]:
    """The jobs of CI beyond the tests of each commit. Those of Bazel come first: they run one after the
    other, and the rest beside them, so that none ends alone."""
    return [
        Job("pytest-asan", _pytest_asan, uses=SHARED_MEMORY, after=("asan",)),
        _sanitized("tsan"),
        Job("avx512-by-avx2", _avx512_by_avx2, uses=BAZEL),
        _fuzz("fuzz", "6", "1"),
        *(job for job in systems.jobs(settings) if job.name not in BEYOND),
        _packaging(
            "packaging",
            "tests/packaging",
            *(f"--ignore={file}" for file in OTHER_WHEELS),
            f"--ignore={RECIPES}",
            "-k",
            f"not ({OTHER_MACHINES})",
        ),
        _heavy("ctypes"),
        _heavy("cffi"),
        *languages.jobs(settings),
        Job("style", _style),
        Job("docs", lambda r: r.step("docs", "./dev docs --check", "./dev", "docs", "--check")),
        Job("array-api", lambda runner: systems.array_api(runner, settings.array_api)),
    ]


def _release(settings: Settings) -> list[Job]:
    return [
        *(job for job in systems.jobs(settings) if job.name in BEYOND),
        _packaging("emulated", "tests/packaging/test_emulated.py", "-k", OTHER_MACHINES),
        _packaging("platforms", *OTHER_WHEELS),
        _packaging("recipes", RECIPES),
        Job("hostile", _hostile),
        Job("clang", _clang, uses=BAZEL),
        Job("analyzer", lambda r: r.step("analyzer", "./dev lint", "./dev", "lint")),
        _fuzz("fuzz-long", "120", "0"),
        Job("msan", lambda r: r.step("msan", "MemorySanitizer", "tests/msan.sh")),
        Job("valgrind", _valgrind, uses=BAZEL),
        Job("coverage", _coverage, uses=BAZEL),
    ]


def _bazel(name: str, *arguments: str) -> Job:
    return Job(name, lambda runner: runner.bazel(name, *arguments), uses=BAZEL)


def _light(binding: str) -> Job:
    """The tests of packaging, of ./dev and of the referee use no binding: once is enough."""
    name = f"pytest-{binding}"

    def work(runner: Runner) -> None:
        tests = PYTHON_TESTS if binding == "ctypes" else ("tests/python",)
        runner.pytest(name, binding, *LIGHT, *WITHOUT_REFEREE, *tests)
        if binding == "ctypes":
            # The referee forks its caller, and a fork of a process that has imported PyTorch is slow.
            runner.pytest(f"{name}-referee", binding, *LIGHT, REFEREE)

    return Job(name, work, uses=SHARED_MEMORY)


def _packaging(name: str, *arguments: str) -> Job:
    return Job(name, lambda runner: runner.pytest(name, "ctypes", *HEAVY, *arguments))


def _heavy(binding: str) -> Job:
    name = f"heavy-{binding}"
    without = () if binding == "ctypes" else WITHOUT_REFEREE
    return Job(
        name, lambda r: r.pytest(name, binding, *HEAVY, *without, "tests/python"), uses=MEMORY
    )


def _fakes(binding: str) -> Job:
    """Python on the fake drivers, each in its own process: a process opens its drivers once."""

    def work(runner: Runner) -> None:
        bin = runner.shell.settings.root / "bazel-bin/tests/stubs"
        env = {
            "DLX_CUDA_PATH": str(bin / "fake_libcuda.so"),
            "DLX_HIP_PATH": str(bin / "fake_libamdhip64.so"),
        }
        for folder in ("devices", "gpu"):
            runner.pytest(f"fakes-{binding}-{folder}", binding, f"tests/python/{folder}", env=env)

    return Job(f"fakes-{binding}", work)


def _sanitized(config: str) -> Job:
    def work(runner: Runner) -> None:
        tags = f"--test_tag_filters=-no-sanitizer,-no-{config}"
        runner.bazel(config, f"--config={config}", "--build_tests_only", tags, "//tests/...")
        if config == "asan":
            bazel.build(runner.shell, "--config=asan", "//:libdlx.so")
            if not runner.shell.settings.dry:
                (runner.report.folder / LIBRARY).symlink_to(
                    bazel.built(runner.shell, "asan", LIBRARY)
                )

    return Job(config, work, uses=BAZEL)


def _pytest_asan(runner: Runner) -> None:
    """Python is not instrumented: the sanitizer comes in first, with the library whose exceptions it
    watches, and leaks of others are not ours. pytest hides what a dying process writes, so a file."""
    shell = runner.shell
    reports = runner.report.folder / "asan-report"
    libraries = [
        shell.ask("gcc", f"-print-file-name={name}.so") for name in ("libasan", "libstdc++")
    ]
    env = {
        "LD_PRELOAD": " ".join(filter(None, libraries)),
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:log_path={reports}",
        # Do not ask Bazel, which answers only after its current job.
        "DLX_LIBRARY": str(runner.report.folder.parent / "asan" / LIBRARY),
    }
    # Of the referee's tests only those that judge dlx: nothing else there is instrumented, crashes are
    # planted and each leaves a report, and forks of a process with threads stop in locks of the
    # sanitizer (GCC 12: its quarantine's), which no library can help.
    others = [
        f"--ignore={file.relative_to(shell.settings.root)}"
        for file in sorted((shell.settings.root / REFEREE).glob("test_*.py"))
        if file.name != "test_dlx_itself.py"
    ]
    runner.pytest("pytest-asan", "ctypes", *LIGHT, *others, "tests/python", env=env)
    for report in sorted(runner.report.folder.glob("asan-report*")):
        shell.print(report.read_text(errors="replace"))


def _style(runner: Runner) -> None:
    runner.step("style", "./dev format --check", "./dev", "format", "--check")
    runner.step("style", "./dev lint --quick", "./dev", "lint", "--quick")


def _clang(runner: Runner) -> None:
    if shutil.which("clang-19"):
        runner.step("clang", "the build with clang", "bazel", "build", "--config=clang", "//...")


def _valgrind(runner: Runner) -> None:
    """Without tests whose threads wait for each other busily, beside forks: valgrind runs one at a time."""
    tests = ("//tests/capi/...", "//tests/cpp/...", "//tests/src/...")
    without = ("//tests/capi:no_memory", "//tests/capi:test_threads", "//tests/src/device/...")
    runner.bazel("valgrind", "--config=valgrind", "--build_tests_only", "--", *tests,
                 *(f"-{name}" for name in without))  # fmt: skip


def _coverage(runner: Runner) -> None:
    runner.step("coverage", "./dev coverage", "./dev", "coverage")


def _avx512_by_avx2(runner: Runner) -> None:
    """The copy tests with the kernels for AVX-512, on a processor that has only AVX2."""
    flags = Path("/proc/cpuinfo").read_text().split()
    if "avx2" in flags and "avx512vl" not in flags:
        runner.bazel("avx512-by-avx2", "--config=avx512-by-avx2", "//tests/src/copy/...")


def _fuzz(name: str, seconds: str, seed: str) -> Job:
    """With a seed, runs are reproducible; 0 chooses another seed each time."""
    command = ("./dev", "fuzz", seconds, seed)
    return Job(name, lambda r: r.step(name, " ".join(command), *command), uses=BAZEL)


def _hostile(runner: Runner) -> None:
    test = "tests/python/test_hostile_random.py"
    runner.pytest("hostile", "ctypes", test, env={"DLX_HOSTILE_SECONDS": "100"})
