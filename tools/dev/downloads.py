"""Says before the work starts what will be downloaded, and how to do without.

The steps run dry first, and what they would install is what is said. Each file of third_party/python says how
much pip downloads for it, and apt knows that of its packages.
"""

from __future__ import annotations

import dataclasses
import io
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Callable

from . import environments
from .jobs import Job
from .runners import Runner
from .shell import Failed, Shell
from .summary import Report

SIZE = re.compile(r"^# download: (.*)$", re.M)
FEWER = {
    "torch": "DLX_NO_TORCH=1 does without it; tests that need it are skipped",
    "systems-numpy2": "./dev test does without the systems",
}
LEAST = "DLX_NO_TORCH=1 ./dev test --quick downloads the least; ./dev test src/base needs no Python package."


def announce(shell: Shell, *steps: Callable[[Shell], object], jobs: Iterable[Job] = ()) -> None:
    """Prints what the steps and the jobs install, if they install anything."""
    said = io.StringIO()
    dry = Shell(dataclasses.replace(shell.settings, dry=True), said)
    for step in [*steps, *(_step(job) for job in jobs)]:
        try:
            step(dry)
        except Failed:
            continue  # it says so again when it really runs
    if lines := _wanted(shell, said.getvalue()):
        listed = "\n".join(f"  - {line}" for line in lines)
        least = f"\n{LEAST}" if any("torch.txt" in line for line in lines) else ""
        shell.print(f"This is downloaded first, once:\n{listed}{least}")


def _step(job: Job) -> Callable[[Shell], object]:
    return lambda shell: job.work(Runner(shell, Report(job.name, Path())))


def _wanted(shell: Shell, said: str) -> list[str]:
    """Out of the commands of a dry run."""
    packages: dict[str, None] = {}
    names: dict[str, None] = {}
    others: dict[str, None] = {}
    for line in said.splitlines():
        found = re.search(r" -m pip .* -r '?\S*third_party/python/([\w-]+)\.txt'?$", line)
        if found:
            names[found[1]] = None
        elif line.startswith("tools/dev/apt-install "):
            packages.update(dict.fromkeys(shlex.split(line)[2:]))
        elif line.startswith("tools/dev/debian-unpack "):
            others[f"of Debian {' '.join(shlex.split(line)[2:])}"] = None
        elif line.startswith("npm install "):
            others[f"of npm {line.split()[-1]}"] = None
        elif line.startswith("downloads "):
            others[line[len("downloads ") :]] = None
    lines = [f"Debian packages{_size(shell, packages)}: {' '.join(packages)}"] if packages else []
    for name in names:
        text = environments.requirements(shell, name).read_text()
        size = SIZE.search(text)
        without = f"\n    ({FEWER[name]})" if name in FEWER else ""
        lines.append(f"third_party/python/{name}.txt, {size[1] if size else '?'}{without}")
    return [*lines, *others]


def _size(shell: Shell, packages: Iterable[str]) -> str:
    """Of Debian packages with what they need, if apt has its lists already."""
    options = ("-qq", "--no-install-recommends", "--print-uris")
    said = shell.ask("apt-get", *options, "install", *packages)
    sizes = [int(line.split()[2]) for line in (said or "").splitlines() if line.startswith("'")]
    return f", {sum(sizes) / 1e6:.0f} MB" if sizes else ""
