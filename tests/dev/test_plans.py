"""What each command would run: the lines of ./dev --dry-run."""

from __future__ import annotations

import re
import sys

import pytest

from dev import groups, settings
from dev.jobs import BAZEL, SHARED_MEMORY
from dev.settings import ROOT

SETTINGS = settings.read({}, dry=True)


def names(mode: str) -> list[str]:
    return [job.name for job in groups.jobs(SETTINGS, mode)]


def ran(lines: list[str], text: str) -> list[str]:
    return [line for line in lines if text in line and not line.startswith("==")]


def test_each_mode_has_all_of_the_one_before():
    assert set(names("quick")) < set(names("")) < set(names("all")) < set(names("release"))
    assert set(names("systems")) < set(names("all")) | set(names("release"))
    for mode in groups.MODES[:5]:
        assert len(set(names(mode))) == len(names(mode))


def test_ci_leaves_out_only_what_the_help_says():
    """--all and what is beyond it together are every group that there is."""
    beyond = set(names("release")) - set(names("all"))
    text = (ROOT / "tools/dev/help.txt").read_text()
    said = re.search(r"test --release(.*?)\n  bench", text, re.S)[1]

    for name in beyond:
        word = groups.BEYOND[name]
        assert word in " ".join(said.split()), name


def test_jobs_wait_only_for_earlier_ones():
    """A dry run and a machine with one core run them in this order."""
    for mode in groups.MODES[:5]:
        seen = set()
        for job in groups.jobs(SETTINGS, mode):
            assert set(job.after) <= seen
            seen.add(job.name)


def test_quick(clone):
    lines = clone.plan("test", "--quick")

    folders = ("capi", "cpp", "src", "tools")
    tests = " ".join(f"//tests/{folder}/..." for folder in folders)
    assert ran(lines, "bazel test")[0].endswith(tests)
    assert len(ran(lines, "DLX_BINDING=ctypes")) == 4
    assert not ran(lines, "DLX_BINDING=cffi")
    assert all("not heavy" in line or "stubs" in line for line in ran(lines, "-m pytest"))


def test_the_tests_before_a_commit(clone):
    lines = clone.plan("test")

    assert ran(lines, "bazel test")[0].endswith(" //...")
    assert len(ran(lines, "DLX_BINDING=cffi")) == 3
    assert len(ran(lines, "DLX_BINDING=ctypes")) == 4  # the referee's tests use no binding
    library = f"DLX_LIBRARY={clone.folder}/bazel-bin/libdlx.so".replace(f"{clone.folder}/", "")
    assert all(library in line for line in ran(lines, "-m pytest"))


def test_what_ci_runs(clone):
    lines = clone.plan("test", "--all")

    for words in ("--config=asan", "--config=tsan", "LD_PRELOAD=", "./dev format --check",
                  "./dev lint", "./dev fuzz 6 1", "-m heavy tests/python"):  # fmt: skip
        assert ran(lines, words), words
    systems = {path.stem for path in (ROOT / "third_party/python").glob("systems-*.txt")}
    assert systems <= set(names("release"))


@pytest.mark.parametrize("mode", groups.MODES[:4])
def test_one_command_of_bazel_at_a_time(mode):
    """A second one would wait for the first, and hold a core's place meanwhile."""
    for job in groups.jobs(SETTINGS, mode):
        if job.name in ("bazel", "asan", "tsan", "clang", "fuzz", "avx512-by-avx2"):
            assert job.uses == BAZEL


@pytest.mark.parametrize("mode", groups.MODES[:4])
def test_no_two_jobs_look_at_shared_memory_at_once(mode):
    """Each of them checks that tests/python leaves nothing in /dev/shm."""
    for job in groups.jobs(SETTINGS, mode):
        assert (job.uses == SHARED_MEMORY) == job.name.startswith("pytest-")


def test_folders(clone):
    for folder in ("src/base", "tests/src/base", "tests/python"):
        (clone.folder / folder).mkdir(parents=True)
    (clone.folder / "tests/src/base/test_error.cc").touch()
    (clone.folder / "bindings/python").mkdir(parents=True)

    assert ran(clone.plan("test", "src/base"), "bazel test")[0].endswith(" //tests/src/base/...")
    asan = ran(clone.plan("test", "src/base", "--config=asan"), "bazel test")[0]
    assert asan.endswith(" --config=asan //tests/src/base/...")
    [line] = ran(clone.plan("test", "bindings/python", "-k", "strides"), "-m pytest")
    assert line.endswith("-m 'not heavy' -k strides tests/python")
    [line] = ran(clone.plan("test", "bindings/python", "-m", "heavy"), "-m pytest")
    assert line.endswith("-m heavy tests/python")

    done = clone.dev("test", "src/base", "tests/python", "-x")
    assert done.returncode == 1
    assert "'-x' with tests of Bazel and of pytest" in done.stderr


def test_folders_go_by_the_caller(clone):
    (clone.folder / "src/base").mkdir(parents=True)
    (clone.folder / "tests/src/base").mkdir(parents=True)
    (clone.folder / "tests/src/base/test_error.cc").touch()

    done = clone.dev("--dry-run", "test", "base", where=clone.folder / "src", command="../dev")

    assert done.stdout.splitlines()[-1].endswith(" //tests/src/base/...")


# ---- what is installed --------------------------------------------------------------------------


def test_a_changed_pin_is_installed_again(clone):
    assert not ran(clone.plan("test", "--quick"), "-m pip")
    (clone.folder / ".venv/test.installed").write_text("numpy==1\n")

    assert ran(clone.plan("test", "--quick"), "-r third_party/python/test.txt")


def without_torch(clone):
    (clone.folder / ".venv/torch.installed").unlink()
    clone.program(".venv/bin/python", 'case "$*" in *torch.txt) exit 1 ;; esac')
    (clone.folder / "tests/python").mkdir(parents=True)


def test_a_machine_without_pytorch_goes_on(clone):
    without_torch(clone)

    done = clone.dev("test", "tests/python")
    assert "going on without PyTorch" in done.stderr
    assert done.returncode == 0
    quiet = clone.dev("test", "tests/python", DLX_NO_TORCH="1")
    assert (quiet.stderr, quiet.returncode) == ("", 0)


def test_a_test_machine_does_not_pass_because_it_tests_less(clone):
    without_torch(clone)

    done = clone.dev("test", "tests/python", CI="true")
    assert done.stderr == "dev: PyTorch could not be installed (DLX_NO_TORCH=1 does without it)\n"
    assert done.returncode == 1
    assert clone.dev("test", "tests/python", CI="true", DLX_NO_TORCH="1").returncode == 0


# ---- the other commands -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("build", "bazel build --curses=no --color=no --show_progress_rate_limit=15 //..."),
        ("demo -o out.png", ".venv/bin/python -m dlx demo -o out.png"),
        ("generate", ".venv/bin/python bindings/gen/gen.py"),
        ("kernels --check", "src/gpu/make_images.py --check"),
        ("kernels --budget --check", "src/gpu/budget.py"),
        ("wheel", ".venv/bin/python tests/packaging/build.py dist"),
        (
            "wheel musl-aarch64",
            "build.py dist build/musl-aarch64 wheel wheel.tags=py3-none-musllinux_1_2_aarch64 ",
        ),
        ("wheel --all", "build.py dist build/sdist sdist"),
        ("wheel --all", "cmake.define.DLX_TARGET=x86_64-windows-gnu"),
        ("abi --update", "tests/abi/abidiff.sh --update bazel-bin/libdlx.so capi/abi/libdlx.abi"),
        ("lint", ".venv/bin/mypy"),
        ("fuzz 7 3", "-seed=3 -max_total_time=7 "),
        ("kit 3.10", "--python-version 3.10 --platform manylinux_2_17_x86_64"),
        (
            "test --array-api suite",
            "--xfails-file tests/python/array_api_xfails.txt array_api_tests",
        ),
    ],
)
def test_commands(clone, words, expected):
    if words.startswith("fuzz"):
        clone.program("fakes/clang-19", "")
    (clone.folder / "suite/array_api_tests").mkdir(parents=True)
    (clone.folder / "suite/array-api/spec").mkdir(parents=True)

    assert ran(clone.plan(*words.split()), expected)


def test_the_workflows_give_commands_that_are_taken(clone):
    """Those of release and sbom, which read the tree, are run by tests/packaging/test_release.py."""
    (clone.folder / "dist").mkdir()
    planned = set()
    for workflow in (ROOT / ".github/workflows").glob("*.yml"):
        for line in re.findall(r"run: \./dev (.*)", workflow.read_text()):
            given = re.sub(r"\$\{\{.*'(.*?)' \|\| '' \}\}", r"\1", line)
            for words in {given, re.sub(r"\$\{\{.*\}\}", "", line)}:
                if words.split()[0] not in ("release", "sbom"):
                    assert clone.plan(*words.split()), words
                    planned.add(" ".join(words.split()))

    assert planned == {
        "test",
        "test --all",
        "test --wheel dist",
        "docs --check",
        "wheel --all",
    }


NAMES = ("exchange", "thresholds", "ways")


def test_benchmarks(clone):
    folder = clone.folder / "benchmarks"
    folder.mkdir()
    for name in ("exchange.c", "ways.cc", *(f"bench_{n}.py" for n in NAMES)):
        (folder / name).touch()

    exchange = ran(clone.plan("bench"), "bench_exchange.py")
    assert exchange[0].endswith("--c bazel-bin/benchmarks/exchange")
    ways = ran(clone.plan("bench", "ways", "--seed", "1"), "bench_ways.py")
    assert ways[0].endswith("--c bazel-bin/benchmarks/ways --seed 1")
    thresholds = ran(clone.plan("bench", "thresholds"), "bench_thresholds.py")
    assert thresholds[0].endswith("--c bazel-bin/benchmarks/ways")
    assert (
        clone.dev("bench", "way").stderr
        == f"dev: no benchmark 'way' (there are: {', '.join(NAMES)})\n"
    )


def test_the_peers_of_the_gpu_benchmark_are_installed_only_beside_a_gpu(clone):
    (clone.folder / "benchmarks").mkdir()
    (clone.folder / "benchmarks/bench_gpu.py").touch()

    def commands(*words):
        lines = clone.plan("bench", "gpu", *words)
        return [line for line in lines if "bench_gpu.py" in line or line.endswith("/gpu.txt")]

    probe, install, bench = commands("--small")
    assert probe.endswith("bench_gpu.py --small --probe")
    assert "gpu.txt" in install
    assert bench.endswith("bench_gpu.py --small")
    assert len(commands("--help")) == 1


def test_a_damaged_suite_is_named(clone):
    done = clone.dev("test", "--array-api", "nowhere")

    assert "not a clone of data-apis/array-api-tests" in done.stderr
    assert done.returncode == 1


# ---- a machine with a kit -----------------------------------------------------------------------


@pytest.fixture
def kit(clone):
    """A kit on a machine whose Python has no NumPy and no cffi."""
    kit = clone.folder / "there/kit"
    (kit / "tests/device").mkdir(parents=True)
    (kit / "wheels").mkdir()
    (kit / "tests/device/test_streams").touch()
    (kit / "wheels/numpy-2.2.6-cp310-cp310-manylinux.whl").touch()
    script = f"""case "$*" in
  "-m dev"*|"-c import sys"*exit*) exec {sys.executable} "$@" ;;
  *cp%d%d*) echo cp310 ;;
  *import\\ numpy*|*import\\ cffi*) exit 1 ;;
esac"""
    clone.program("there/python", script)
    return {"DLX_KIT": "kit", "DLX_PYTHON": "./python", "where": kit.parent, "command": "../dev"}


def test_a_kit_builds_and_installs_nothing(clone, kit):
    done = clone.dev("--dry-run", "test", "--gpu", "-k", "late", **kit)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert not [line for line in lines if re.search("bazel (build|test)|pip|apt-install", line)]
    [device] = ran(lines, "tests/device/test_streams")
    assert "LD_LIBRARY_PATH=there/kit/lib" in device
    assert "DLX_TEST_REAL=1" in device
    assert ran(lines, "-m zipfile -e there/kit/wheels/numpy-2.2.6-cp310-cp310-manylinux.whl")
    [ctypes] = ran(lines, "-m pytest")
    assert "PYTHONPATH=bindings/python:there/kit/python DLX_LIBRARY=there/kit/libdlx.so" in ctypes
    assert "there/python -m pytest" in ctypes
    assert ctypes.endswith("-rs -k late")
    assert "gpu-cffi: not run: cffi is not installed" in done.stdout


def test_a_kit_has_only_what_needs_no_compiler(clone, kit):
    for words in ("test", "test --quick", "test tests/python/gpu", "bench"):
        (clone.folder / "benchmarks").mkdir(exist_ok=True)
        (clone.folder / "benchmarks/bench_exchange.py").touch()
        done = clone.dev(*words.split(), **kit)
        assert (
            done.stderr == "dev: with DLX_KIT there is only ./dev test --gpu and ./dev bench gpu\n"
        )
        assert done.returncode == 1


def test_a_kit_without_numpy_for_this_python_is_named(clone, kit):
    [wheel] = (clone.folder / "there/kit/wheels").iterdir()
    wheel.unlink()
    (clone.folder / "benchmarks").mkdir()
    (clone.folder / "benchmarks/bench_gpu.py").touch()

    done = clone.dev("bench", "gpu", **kit)

    assert "has no NumPy, and the kit has none for it (./dev kit 3.X)" in done.stderr
