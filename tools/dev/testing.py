"""./dev test: a mode, folders, or arguments of pytest."""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Callable

from . import (
    arguments,
    bazel,
    coverage,
    debian,
    docs,
    downloads,
    environments,
    folders,
    foreign,
    gpu,
    groups,
    installed,
    kit,
    languages,
    summary,
    systems,
    wheel,
)
from .jobs import BAZEL, Job, run_jobs, workers
from .runners import python_variables
from .shell import STARTED, Failed, Shell

OPTIONS = [*(f"--{mode}" for mode in groups.MODES if mode), "--wheel"]


def run(shell: Shell, words: Sequence[str]) -> int:
    mode = words[0] if words else ""
    if shell.settings.kit:
        if mode != "--gpu":
            raise Failed(kit.ONLY)
        return _gpu(shell, words[1:])
    if mode == "--gpu":
        return _gpu(shell, words[1:])
    if mode == "--wheel":
        return installed.run(shell, words[1:])
    if mode == "--array-api":
        return _array_api(shell, words[1:])
    if mode == "--bindings":
        return _bindings(shell, words[1:])
    if mode in ("", *OPTIONS):
        arguments.takes(f"test {mode}", words[1:])
        return _mode(shell, mode[2:])
    if mode.startswith("--") and "did you mean" in arguments.hint(mode, OPTIONS):
        raise Failed(f"test: unknown argument '{mode}' ({arguments.hint(mode, OPTIONS)})")
    return _chosen(shell, arguments.from_caller(shell.settings, words))


def _mode(shell: Shell, mode: str) -> int:
    jobs = groups.jobs(shell.settings, mode)
    setup = functools.partial(_setup_mode, mode=mode)
    # What the steps of these modes install by themselves.
    steps: list[Callable[[Shell], object]] = [docs.setup] if mode in ("all", "release") else []
    steps += [coverage.setup] if mode == "release" else []
    downloads.announce(shell, setup, *steps, jobs=jobs)
    setup(shell)
    bazel.build_library(shell, *bazel.FAKES)
    return _run(shell, jobs, workers())


def _setup_mode(shell: Shell, mode: str) -> None:
    _setup(shell)
    if mode in ("all", "release"):
        debian.setup_packaging(shell, recipes=mode == "release")
        debian.setup_emulated(shell, every=mode == "release")
        debian.setup_fuzzing(shell)
        languages.setup(shell)
        environments.setup_release(shell)
        environments.setup(shell, "lint", *(["platforms"] if mode == "release" else []))
    if mode == "release":
        foreign.setup(shell, wheel.zig(shell))


def _setup(shell: Shell) -> None:
    debian.setup_tests(shell)
    environments.setup_tests(shell)
    environments.setup_embedding(shell)


def _bindings(shell: Shell, words: Sequence[str]) -> int:
    """All languages, or those that are named."""
    arguments.takes("test --bindings", words, *languages.STEPS)
    jobs = languages.jobs(shell.settings)
    if words:
        jobs = [job for job in jobs if job.name.removeprefix("bindings-") in words]
    downloads.announce(shell, languages.setup, jobs=jobs)
    languages.setup(shell)
    return _run(shell, jobs, workers())


def _gpu(shell: Shell, words: Sequence[str]) -> int:
    words = arguments.from_caller(shell.settings, words)
    if not shell.settings.kit:
        downloads.announce(shell, _setup)
        _setup(shell)
        bazel.build_library(shell)
    return _run(shell, gpu.jobs(shell.settings, words), 1)


def _array_api(shell: Shell, words: Sequence[str]) -> int:
    if not words or not words[0]:
        raise Failed("test --array-api DIR: no DIR")
    arguments.takes("test --array-api", words[1:])
    directory = (shell.settings.caller / words[0]).resolve()
    if not directory.exists():
        directory = (shell.settings.root / words[0]).resolve()
    systems.check_array_api(directory)
    jobs = [Job("array-api", lambda runner: systems.array_api(runner, directory))]
    downloads.announce(shell, _setup, jobs=jobs)
    _setup(shell)
    bazel.build_library(shell)
    return _run(shell, jobs, 1)


def _chosen(shell: Shell, words: Sequence[str]) -> int:
    """Maps folders and files by the table of folders; passes other arguments on to pytest."""
    paths = [words[index] for index in arguments.paths_in(words)]
    options = [word for index, word in enumerate(words) if index not in arguments.paths_in(words)]
    found = folders.find(shell.settings.root, paths)
    if not found.targets and found.as_given:
        downloads.announce(shell, debian.setup_build, environments.setup_tests)
        environments.setup_tests(shell)
        bazel.build_library(shell)
        python = shell.settings.interpreter
        return shell.run(python, "-m", "pytest", *words, env=python_variables(shell))
    if found.targets and found.files and options:
        raise Failed(
            f"test: '{options[0]}' with tests of Bazel and of pytest: name files or folders of one of them"
        )
    jobs = []
    setups = [debian.setup_tests, *([environments.setup_tests] if found.files else [])]
    downloads.announce(shell, *setups)
    for setup in setups:
        setup(shell)
    if found.targets:
        name = [*options, *found.targets]
        jobs.append(Job("bazel", lambda runner: runner.bazel("bazel", *name), uses=BAZEL))
    if found.files:
        bazel.build_library(shell)
        marked = [] if "-m" in options else found.marks
        words = [*marked, *options, *found.files]
        jobs.append(Job("pytest", lambda runner: runner.pytest("pytest", "ctypes", *words)))
    return _run(shell, jobs, 1)


def _run(shell: Shell, jobs: Sequence[Job], count: int) -> int:
    import resource  # Windows has none, and comes here never

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        reports = run_jobs(shell.settings, jobs, Path(folder), count)
    if shell.settings.dry:
        return 0
    shell.print(summary.text(reports, time.monotonic() - STARTED))
    return 1 if any(report.failed for report in reports) else 0
