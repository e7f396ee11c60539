"""What runs programs for other platforms here: musl's own loader, qemu's user mode, and wine.

`./dev test --release` fills the folder TOOLS (tools/dev/foreign.py): a root of Debian for arm64 with
CPython, one for musl, one for Windows, and cmocka's source.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from dev.wheel import Platform
from packaging_support import LANGUAGE, ROOT, run

TOOLS = Path(os.environ.get("DLX_PLATFORM_TOOLS") or ROOT / ".venv-systems/platforms")
DEFINES = [flag for flag in LANGUAGE if flag.startswith("-D")]
CMOCKA = """
#define HAVE_INTTYPES_H 1
#define HAVE_STDINT_H 1
#define HAVE_STRING_H 1
#define HAVE_STDIO_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STDARG_H 1
#define HAVE_SETJMP_H 1
#define HAVE_SIGNAL_H 1
#define HAVE_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_MALLOC_H 1
#define HAVE_CALLOC 1
#define HAVE_EXIT 1
#define HAVE_FPRINTF 1
#define HAVE_FREE 1
#define HAVE_LONGJMP 1
#define HAVE_MALLOC 1
#define HAVE_PRINTF 1
#define HAVE_SETJMP 1
#define HAVE_SIGNAL 1
#define HAVE_SNPRINTF 1
#define HAVE_STRNCPY 1
#define HAVE_VSNPRINTF 1
"""
PYTHON = """#!/bin/sh
exec {} -0 "$0" {} "$@"
"""


def needed(tool: str) -> Path:
    """A program, or a file of TOOLS; the test is skipped without it."""
    found = TOOLS / tool if "/" in tool else shutil.which(tool)
    if not found or not Path(found).exists():
        pytest.skip(f"no {tool} (./dev test --release installs it)")
    return Path(found)


class Machine:
    """One platform: compiles C for it, and runs programs of it."""

    def __init__(self, platform: Platform, zig: str, folder: Path) -> None:
        self.platform = platform
        self.windows = platform.name.startswith("windows")
        self.zig = zig
        self.folder = folder  # programs, and on Windows the library beside them

    def runner(self, variables: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """The words before a program, and the environment. Skips what this machine cannot run."""
        name = self.platform.name
        if name == "windows-x86_64":
            needed("wine")
            environment = {"WINEPREFIX": str(TOOLS / "wine"), "WINEDEBUG": "-all", **variables}
            return ["wine"], environment
        if name in ("linux-aarch64", "musl-aarch64"):
            root = needed("arm64/usr")
            words = [str(needed("qemu-aarch64")), "-L", str(root.parent)]
            for key, value in variables.items():
                words += ["-E", f"{key}={value}"]
            return words, {}
        if name == "musl-x86_64" and not Path("/lib/ld-musl-x86_64.so.1").exists():
            pytest.skip("no musl (Debian: musl)")
        if name not in ("linux-x86_64", "musl-x86_64") or os.uname().machine != "x86_64":
            pytest.skip(f"nothing here runs it ({name})")
        return [], dict(variables)

    def run(self, program: Path, *words: str | Path, **variables: str) -> str:
        before, environment = self.runner({"LD_LIBRARY_PATH": str(self.folder), **variables})
        return run(*before, program, *words, env=environment, cwd=self.folder)

    def compile(self, name: str, *words: str | Path, compiler: str = "cc") -> Path:
        """A program; a library if `words` say so. `compiler` is zig's: cc or c++."""
        program = self.folder / (f"{name}.exe" if self.windows else name)
        standard = "-std=c11" if compiler == "cc" else LANGUAGE[0]
        run(self.zig, compiler, "-target", self.platform.target, "-g0", "-O1", standard, *DEFINES,
            f"-I{ROOT}", f"-I{ROOT}/include", *words, "-o", program)  # fmt: skip
        return program

    def path(self, path: Path) -> str:
        """As the platform's programs write it."""
        return windows_path(path) if self.windows else str(path)

    def cmocka(self) -> list[str | Path]:
        """What a test of cmocka is compiled with."""
        source = needed("cmocka/src/cmocka.c")
        library = self.folder / "cmocka.o"
        options = [f"-I{source.parents[1]}/include"]
        if not self.windows:  # cmocka.h would define it, for musl on Arm with 32 bits
            options.append("-D_UINTPTR_T_DEFINED")
        if not library.exists():
            (self.folder / "config.h").write_text(CMOCKA)
            run(self.zig, "cc", "-target", self.platform.target, "-g0", "-O1", "-w", "-DHAVE_CONFIG_H",
                f"-I{self.folder}", *options, "-c", source, "-o", library)  # fmt: skip
        return [*options, library]

    def python(self, *words: str | Path, site: Path, **variables: str) -> str:
        """Runs a CPython of the platform with the modules in `site`."""
        if self.windows:
            interpreter = needed("windows/python.exe")
            path = ";".join(windows_path(p) for p in (site, TOOLS / "windows/site"))
            before, environment = self.runner({"PYTHONPATH": path, **variables})
            return run(*before, interpreter, *words, env=environment, cwd=ROOT)
        before, _ = self.runner({})
        root = TOOLS / ("arm64" if before else "musl")
        interpreter = next(iter(sorted(root.glob("usr/bin/python3.*"))), None)
        interpreter = interpreter or needed(f"{root.name}/usr/bin/python3")
        if before:
            # sys.executable: a script, because the system starts no program of another processor.
            script = self.folder / "python"
            script.write_text(PYTHON.format(" ".join(before), interpreter))
            script.chmod(0o755)
            interpreter = script
        path = f"{site}:{root / 'site'}"
        environment = {"PYTHONHOME": str(root / "usr"), "PYTHONPATH": path, **variables}
        # musl does not take the libdlx.so.1 that Python loaded by its path for the one a library needs.
        environment["LD_LIBRARY_PATH"] = str(site / "dlx")
        return run(interpreter, *words, env=environment, cwd=ROOT)


def windows_path(path: Path) -> str:
    return "Z:" + str(path).replace("/", "\\")
