"""Runs jobs side by side: one per core, and no two at once that use the same resource."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Callable

from .settings import Settings
from .shell import Failed, Shell, minutes
from .summary import Report

if TYPE_CHECKING:
    from .runners import Runner

BAZEL = "bazel"  # one command of Bazel at a time; it uses all cores by itself
MEMORY = "memory"  # takes gigabytes
SHARED_MEMORY = "/dev/shm"  # tests look for what others leave there


@dataclass(frozen=True)
class Job:
    name: str
    work: Callable[[Runner], None]
    uses: str = ""
    after: tuple[str, ...] = ()  # jobs that have to end first


def workers() -> int:
    """At most four: more need more memory than most machines have."""
    return min(4, os.cpu_count() or 1)


def run_jobs(settings: Settings, jobs: Sequence[Job], folder: Path, count: int) -> list[Report]:
    """The reports of all jobs, in the jobs' order."""
    pool = Pool(settings, jobs, folder)
    if count == 1 or len(jobs) == 1 or settings.dry:
        for job in jobs:
            pool.run(job, Shell(settings))
    else:
        pool.run_beside(count)
    for report in pool.reports.values():
        report.read()
    return list(pool.reports.values())


class Pool:
    def __init__(self, settings: Settings, jobs: Sequence[Job], folder: Path) -> None:
        self.settings = settings
        self.waiting = list(jobs)
        self.running: list[Job] = []
        self.changed = threading.Condition()
        self.reports = {}
        for job in jobs:
            (folder / job.name).mkdir()
            self.reports[job.name] = Report(job.name, folder / job.name)

    def run(self, job: Job, shell: Shell) -> None:
        from .runners import Runner

        report = self.reports[job.name]
        started = time.monotonic()
        try:
            job.work(Runner(shell, report))
        except Failed as error:
            shell.warn(f"{job.name}: {error}")
            report.broken.append(f"{job.name}: {error}")
        except Exception as error:  # a fault of tools/dev: the other jobs go on
            shell.warn(f"{job.name}: {error!r}")
            report.broken.append(f"{job.name}: {error!r}")
        report.seconds = time.monotonic() - started

    def run_beside(self, count: int) -> None:
        threads = [threading.Thread(target=self._worker) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            with self.changed:
                self.waiting.clear()
            for thread in threads:
                thread.join()
            raise

    def _worker(self) -> None:
        console = Shell(self.settings)
        while job := self._take():
            console.say(f"{job.name} begins; what it says comes when it ends")
            log = self.reports[job.name].folder / "log"
            with log.open("w") as stream:
                self.run(job, Shell(self.settings, stream))
            with self.changed:  # one log at a time
                print(log.read_text(errors="replace"), end="", flush=True)
                console.say(f"{job.name} took {minutes(self.reports[job.name].seconds)}")
                self.running.remove(job)
                self.changed.notify_all()

    def _take(self) -> Job | None:
        """The first job that can run now; None if no job is left."""
        with self.changed:
            while self.waiting:
                for job in self.waiting:
                    if self._may_run(job):
                        self.waiting.remove(job)
                        self.running.append(job)
                        return job
                self.changed.wait()
            return None

    def _may_run(self, job: Job) -> bool:
        unfinished = {other.name for other in [*self.waiting, *self.running]}
        busy = {other.uses for other in self.running if other.uses}
        return job.uses not in busy and unfinished.isdisjoint(job.after)
