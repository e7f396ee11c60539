"""What a job can run: Bazel's tests, pytest, and single commands. Each counts in the job's report."""

from __future__ import annotations

import os
from pathlib import Path

from . import bazel
from .shell import Environment, Shell, Word
from .summary import Report

NO_TESTS = 5  # pytest's status if no test ran: that counts as nothing, not as a failure


def python_variables(shell: Shell) -> Environment:
    """Python with dlx from this tree. Compiled modules are kept, as in an installed dlx, because import
    times depend on them."""
    settings = shell.settings
    path = str(settings.root / "bindings/python")
    if settings.kit:
        path += f":{settings.kit / 'python'}"
    library = os.environ.get("DLX_LIBRARY") or str(settings.library)
    return {"PYTHONDONTWRITEBYTECODE": None, "PYTHONPATH": path, "DLX_LIBRARY": library}


class Runner:
    def __init__(self, shell: Shell, report: Report) -> None:
        self.shell = shell
        self.report = report

    def bazel(self, group: str, *arguments: str) -> None:
        self.shell.say(f"{group}: bazel test {' '.join(arguments)}")
        events = self.report.folder / f"{group}.bazel.json"
        status = bazel.run(
            self.shell,
            "test",
            "--keep_going",
            f"--build_event_json_file={events}",
            *arguments,
            env=bazel.python_variables(self.shell),
        )
        if status:
            self.report.broken.append(f"{group}: bazel")

    def pytest(
        self,
        group: str,
        binding: str,
        *arguments: str,
        python: Word | None = None,
        env: Environment | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.shell.say(f"{group}: pytest {' '.join(arguments)}")
        status = self.shell.run(
            python or self.shell.settings.interpreter,
            *("-m", "pytest", "-q", f"--junit-xml={self.report.folder / group}.junit.xml"),
            *("-o", f"junit_suite_name={group}", "-p", "no:cacheprovider"),
            *arguments,
            env={**python_variables(self.shell), "DLX_BINDING": binding, **(env or {})},
            cwd=cwd,
        )
        if status not in (0, NO_TESTS):
            self.report.broken.append(f"{group}: pytest")

    def step(self, group: str, name: str, *command: Word, env: Environment | None = None) -> None:
        """A command that counts as one test; status 77 says that it was skipped."""
        self.shell.say(f"{group}: {name}")
        self.report.step(group, name, self.shell.run(*command, env=env))
