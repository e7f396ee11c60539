"""./dev release: is the tree ready for a release? --set X.Y.Z writes a version; --sums FOLDER writes checksums;
--notes FILE writes what is new."""

from __future__ import annotations

import hashlib
import os
import re
import runpy
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .shell import Failed, Shell

HEADER = "include/dlx/dlx.h"
NUMBERS = ("MAJOR", "MINOR", "PATCH")
PLACEHOLDER = "dlx.example"  # .example is nobody's; see [project.urls] in pyproject.toml
SUMS = "SHA256SUMS"
WITHOUT_GIT = 1767225600  # 2026-01-01


class Place(NamedTuple):
    """A file that repeats the version, because its format wants it written."""

    file: str
    pattern: str  # (before)version(after)


# THE list. The header is the source; all else reads it, or stands here.
PLACES = (
    Place("CITATION.cff", r"(^version: )([\d.]+)()$"),
    Place("packaging/conda/recipe.yaml", r'(^  version: ")([\d.]+)(")$'),
    Place("packaging/debian/changelog", r"(\Adlx \()([\d.]+)(-\d+\))"),
    Place("packaging/meson/dlx.wrap", r"(^revision = v)([\d.]+)()$"),
    Place("packaging/spack/packages/dlx/package.py", r'(version\(")([\d.]+)(", tag=")'),
    Place("packaging/spack/packages/dlx/package.py", r'(, tag="v)([\d.]+)("\))'),
    Place("packaging/vcpkg/dlx/vcpkg.json", r'("version": ")([\d.]+)(")'),
)


def version(root: Path) -> str:
    text = (root / HEADER).read_text()
    return ".".join(re.findall(rf"#define DLX_VERSION_{name} (\d+)", text)[0] for name in NUMBERS)


def repeated(root: Path) -> dict[Place, str]:
    """Each place's version, "" where the pattern finds none."""
    found = {}
    for place in PLACES:
        match = re.search(place.pattern, (root / place.file).read_text(), re.M)
        found[place] = match[2] if match else ""
    return found


def write_version(root: Path, new: str) -> None:
    """Into the header and all places."""
    path = root / HEADER
    text = path.read_text()
    for name, number in zip(NUMBERS, new.split(".")):
        text = re.sub(rf"(#define DLX_VERSION_{name} )\d+", rf"\g<1>{number}", text)
    path.write_text(text)
    for place in PLACES:
        path = root / place.file
        text = re.sub(place.pattern, rf"\g<1>{new}\g<3>", path.read_text(), count=1, flags=re.M)
        path.write_text(text)


def problems(root: Path, tag: str | None) -> list[str]:
    """What stands in the way of a release of this tree."""
    now = version(root)
    found = [
        f"{place.file} has version {other or '(none)'}, {HEADER} has {now}"
        for place, other in repeated(root).items()
        if other != now
    ]
    if not re.search(
        rf"^## \[{re.escape(now)}\] \d{{4}}-\d\d-\d\d$", (root / "CHANGELOG.md").read_text(), re.M
    ):
        found.append(f"CHANGELOG.md has no heading '## [{now}] YYYY-MM-DD'")
    if PLACEHOLDER in (root / "pyproject.toml").read_text():
        found.append(f"pyproject.toml: the addresses are placeholders ({PLACEHOLDER})")
    if tag and tag != f"v{now}":
        found.append(f"the tag is {tag}, the version {now}")
    return found


def notes(root: Path) -> str:
    """What CHANGELOG.md says of this version, with links that hold outside of the tree."""
    heading = rf"^## \[{re.escape(version(root))}\][^\n]*\n(.*?)(?=^## |\Z)"
    found = re.search(heading, (root / "CHANGELOG.md").read_text(), re.M | re.S)
    if found is None:
        raise Failed(
            f"release --notes: CHANGELOG.md has no heading '## [{version(root)}] YYYY-MM-DD'"
        )
    absolute = runpy.run_path(str(root / "cmake/pypi_readme.py"))["absolute"]
    return str(absolute(found[1].strip() + "\n", repository(root)))


def repository(root: Path) -> str:
    """Its address, of which pyproject.toml is the source."""
    found = re.search(r'^Repository = "(.*)"', (root / "pyproject.toml").read_text(), re.M)
    return found[1] if found else ""


def source_date(root: Path) -> int:
    """The time of all files that are made: SOURCE_DATE_EPOCH, else that of the last commit, so that two builds
    give the same bytes. A source distribution has no commit; git's refusal to say it is no reason for
    another time."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given and not given.isdecimal():
        raise Failed(
            f"SOURCE_DATE_EPOCH is '{given}', not a number of seconds, such as {WITHOUT_GIT}"
        )
    if given or not (root / ".git").exists():
        return int(given or WITHOUT_GIT)
    command = ("git", "log", "-1", "--format=%ct")
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failed(
            f"git, which knows the time of the last commit, does not run: {error}"
        ) from None
    if done.returncode:
        raise Failed(f"git does not say the time of the last commit: {done.stderr.strip()}")
    return int(done.stdout)


def checksums(folder: Path) -> str:
    """As `sha256sum -c` reads them."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files
    )


def run(shell: Shell, words: Sequence[str]) -> int:
    root = shell.settings.root
    if words[:1] == ["--set"]:
        if len(words) != 2 or not re.fullmatch(r"\d+\.\d+\.\d+", words[1]):
            raise Failed(f"release --set X.Y.Z: got '{' '.join(words[1:])}'")
        write_version(root, words[1])
        return 0
    if words[:1] == ["--sums"]:
        folder = root / (words[1] if len(words) == 2 else "")
        if len(words) != 2 or not folder.is_dir():
            raise Failed(f"release --sums FOLDER: no folder '{' '.join(words[1:])}'")
        (folder / SUMS).write_text(checksums(folder))
        return 0
    if words[:1] == ["--notes"]:
        if len(words) != 2:
            raise Failed(f"release --notes FILE: got '{' '.join(words[1:])}'")
        (root / words[1]).write_text(notes(root))
        return 0
    if len(words) > 1 or (words and words[0].startswith("-")):
        raise Failed(
            f"release: takes --set X.Y.Z, --sums FOLDER, --notes FILE or a tag (got '{' '.join(words)}')"
        )
    found = problems(root, words[0] if words else None)
    shell.print("\n".join(found) or f"ready: {version(root)}")
    return 1 if found else 0
