"""./dev test --gpu: the device suite and Python on a machine's own driver, also from a kit."""

from __future__ import annotations

import os
from collections.abc import Sequence

from . import bazel, environments
from .jobs import BAZEL, Job
from .kit import unpack
from .runners import Runner, python_variables
from .settings import Settings
from .shell import Environment, Shell, Word

TESTS = ("tests/python/gpu", "tests/python/test_gpu_scripts.py")


def jobs(settings: Settings, arguments: Sequence[str]) -> list[Job]:
    device = _device_of_kit if settings.kit else _device
    return [
        Job("gpu-device", device, uses=BAZEL),
        Job("gpu-python", lambda runner: _python(runner, arguments or TESTS)),
    ]


def _device(runner: Runner) -> None:
    runner.bazel("gpu-device", "//tests/device/...")


def _device_of_kit(runner: Runner) -> None:
    kit = runner.shell.settings.kit
    assert kit is not None
    path = [str(kit / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    env: Environment = {"LD_LIBRARY_PATH": ":".join(filter(None, path)), "DLX_TEST_REAL": "1"}
    for test in sorted((kit / "tests/device").glob("test_*")):
        runner.step("gpu-device", f"{test.name} on the machine's own driver", test, env=env)


def _python(runner: Runner, arguments: Sequence[str]) -> None:
    python = interpreter(runner.shell)
    for binding in ("ctypes", "cffi"):
        if (
            binding == "cffi"
            and runner.shell.ask(python, "-c", "import cffi", env=python_variables(runner.shell))
            is None
        ):
            runner.shell.say("gpu-cffi: not run: cffi is not installed")
            continue
        runner.pytest(f"gpu-{binding}", binding, "-rs", *arguments, python=python)


def interpreter(shell: Shell) -> Word:
    """The kit's, else that of third_party/python/gpu.txt if it is available, else that of .venv."""
    if shell.settings.kit:
        unpack(shell)
        return shell.settings.interpreter
    venv = shell.settings.elsewhere("gpu")
    python = environments.find(shell)
    if (
        python
        and environments.make(shell, venv, python)
        and environments.install(shell, venv, "gpu")
    ):
        return venv / "bin/python"
    shell.say("gpu: third_party/python/gpu.txt could not be installed; going on with .venv")
    return shell.settings.interpreter


def bench(shell: Shell, arguments: Sequence[str]) -> int:
    program = ("benchmarks/bench_gpu.py", *arguments)
    if not shell.settings.kit:
        bazel.build_library(shell)
        environments.setup_tests(shell)
        # Before gigabytes of peers are installed.
        probe = (shell.settings.interpreter, *program, "--probe")
        status = shell.run(*probe, env=python_variables(shell))
        if status or {"-h", "--help", "--probe"} & set(arguments):
            return status
    return shell.run(interpreter(shell), *program, env=python_variables(shell))
