"""./dev wheel: the wheel and the source distribution; with --all, the source distribution, and a wheel and an
archive for C for each platform, made by zig."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from . import archives, arguments, debian, environments, release
from .shell import Environment, Failed, Shell

ROOT = Path(__file__).resolve().parents[2]


class Platform(NamedTuple):
    name: str
    target: str  # as zig names it
    tag: str  # of the wheel

    def settings(self, zig: str, root: Path = ROOT) -> dict[str, str]:
        """For scikit-build-core."""
        return {
            "wheel.tags": ";".join(f"py3-none-{tag}" for tag in self.tag.split(".")),
            "cmake.define.CMAKE_TOOLCHAIN_FILE": str(root / "cmake/zig.cmake"),
            "cmake.define.DLX_ZIG": zig,
            "cmake.define.DLX_TARGET": self.target,
            "cmake.define.DLX_ALSO_STATIC": "ON",  # for the archive
            "cmake.define.CMAKE_INSTALL_LIBDIR": "lib",
        }


# THE list. glibc 2.17 and musl 1.2 are the oldest that zig and the wheels' standard both know; macOS 11 is
# the first on Arm.
PLATFORMS = (
    Platform("linux-x86_64", "x86_64-linux-gnu.2.17", "manylinux2014_x86_64.manylinux_2_17_x86_64"),
    Platform("linux-aarch64", "aarch64-linux-gnu.2.17",
             "manylinux2014_aarch64.manylinux_2_17_aarch64"),
    Platform("musl-x86_64", "x86_64-linux-musl", "musllinux_1_2_x86_64"),
    Platform("musl-aarch64", "aarch64-linux-musl", "musllinux_1_2_aarch64"),
    Platform("macos-arm64", "aarch64-macos.11.0", "macosx_11_0_arm64"),
    Platform("macos-x86_64", "x86_64-macos.11.0", "macosx_11_0_x86_64"),
    Platform("windows-x86_64", "x86_64-windows-gnu", "win_amd64"),
    Platform("windows-arm64", "aarch64-windows-gnu", "win_arm64"),
)  # fmt: skip
BUILD = "tests/packaging/build.py"


def chosen(words: Sequence[str]) -> list[Platform]:
    """The platforms that the arguments name."""
    names = [platform.name for platform in PLATFORMS]
    arguments.takes("wheel", words, "--all", *names)
    return [platform for platform in PLATFORMS if "--all" in words or platform.name in words]


def run(shell: Shell, wanted: Sequence[str]) -> int:
    platforms = chosen(wanted)
    debian.setup_build(shell)
    debian.setup_packaging(shell)
    environments.setup(shell, "test")
    if not platforms:
        shell.say("building the wheel and the source distribution into dist/")
        shell.check(shell.settings.interpreter, BUILD, "dist")
        return shell.run("ls", "-l", "dist")
    environments.setup(shell, "platforms")
    epoch = source_date(shell)
    if "--all" in wanted:
        shell.say("building the source distribution into dist/")
        shell.check(shell.settings.interpreter, BUILD, "dist", "build/sdist", "sdist", env=epoch)
    for platform in platforms:
        shell.say(f"building the wheel of {platform.name} into dist/ (zig, {platform.target})")
        python, words = shell.settings.interpreter, options(shell, platform)
        if shell.run(python, BUILD, "dist", *words, env=epoch):
            raise Failed(f"wheel: {platform.name} was not built")
        if not shell.settings.dry:
            name = f"libdlx-{version()}-{platform.name}"
            tree = ROOT / "build" / platform.name
            archives.pack(tree, ROOT / "dist", name, int(epoch["SOURCE_DATE_EPOCH"] or 0))
    return shell.run("ls", "-l", "dist")


def options(shell: Shell, platform: Platform) -> list[str]:
    """The arguments of build.py for another platform's wheel."""
    settings = platform.settings(str(zig(shell)))
    tree = f"build/{platform.name}"
    return [tree, "wheel", *(f"{name}={value}" for name, value in settings.items())]


def zig(shell: Shell) -> Path:
    found = shell.ask(
        shell.settings.interpreter, "-c", "import ziglang; print(ziglang.__path__[0])"
    )
    if found is None and not shell.settings.dry:
        raise Failed(
            "wheel: the package ziglang does not import (third_party/python/platforms.txt)"
        )
    return Path(found or "ziglang") / "zig"


def version() -> str:
    header = (ROOT / "include/dlx/dlx.h").read_text()
    return ".".join(re.findall(r"#define DLX_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


def source_date(shell: Shell) -> Environment:
    return {"SOURCE_DATE_EPOCH": str(release.source_date(shell.settings.root))}
