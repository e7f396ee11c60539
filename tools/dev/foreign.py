"""What the tests of the wheels for other platforms run on, in .venv-systems/platforms: a root of Debian for
arm64 with CPython, CPython for Windows out of a PyPI wheel, CPython built with musl, and the source of cmocka.
All of it is optional."""

from __future__ import annotations

import platform
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from . import debian, environments
from .shell import Failed, Shell

PROGRAMS = {
    "wine": "wine",
    "musl": f"/lib/ld-musl-{platform.machine()}.so.1",
    "musl-tools": "musl-gcc",
    "qemu-user": "qemu-aarch64",
    "llvm-19": "llvm-readobj-19",
    "lld-19": "ld.lld-19",
}
ARM64 = ("python3", "musl", "libstdc++6")  # with what they depend on; NumPy needs the last
# Debian's own lists, for another architecture and with sources. Nothing of the machine changes.
APT = """
Dir::State "{0}/apt";
Dir::State::status "{0}/apt/status";
Dir::Cache "{0}/apt/cache";
Dir::Etc::SourceList "{0}/apt/sources.list";
Dir::Etc::SourceParts "{0}/apt/parts";
APT::Architecture "arm64";
APT::Architectures {{ "arm64"; }};
APT::Sandbox::User "root";
Acquire::Languages "none";
"""
# wine 8 lacks functions of C that NumPy 2 needs.
WINDOWS = ("panda3d==1.10.16", ("numpy==1.26.4", "colorama"))
# CPython for musl. Its configure refuses a mere "readelf", finds the libraries of Debian's own libc by
# pkg-config, and asks two things of a running system.
MUSL = ("--host=x86_64-linux-musl", "--build=x86_64-linux-gnu")
FFI = ("--disable-shared", "--with-pic", "--disable-exec-static-tramp", "--disable-docs",
       "--disable-multi-os-directory")  # fmt: skip
PYTHON = ("--without-ensurepip", "--disable-test-modules", "--disable-ipv6",
          "READELF=/usr/bin/readelf", "PKG_CONFIG=/bin/false", "ac_cv_file__dev_ptmx=yes",
          "ac_cv_file__dev_ptc=no")  # fmt: skip
MODULES = """*static*
_ctypes _ctypes/_ctypes.c _ctypes/callbacks.c _ctypes/callproc.c _ctypes/stgdict.c _ctypes/cfield.c \
 -DHAVE_FFI_PREP_CIF_VAR -DHAVE_FFI_PREP_CLOSURE_LOC -DHAVE_FFI_CLOSURE_ALLOC \
 -I$(prefix)/include $(prefix)/lib/libffi.a
binascii binascii.c
"""
PYTHON_EXE = """
#include <windows.h>
int wmain(int argc, wchar_t **argv) {
  HMODULE python = LoadLibraryW(L"python%s.dll");
  int (*run)(int, wchar_t **) = (int (*)(int, wchar_t **))(void *)GetProcAddress(python, "Py_Main");
  return run(argc, argv);
}
"""


def setup(shell: Shell, zig: Path) -> None:
    """Makes what is missing; the tests skip what could not be had."""
    folder = shell.settings.elsewhere("platforms")
    debian.need(shell, "optional tests of other platforms", PROGRAMS, optional=True)
    # The last thing that each part makes. The first part has what the others need.
    parts: dict[str, Callable[[], None]] = {
        "arm64/site": lambda: _debian(shell, folder),
        "windows/python.exe": lambda: _windows(shell, folder, zig),
        "musl/site": lambda: _musl(shell, folder),
    }
    for made, make in parts.items():
        if (folder / made).exists():
            continue
        if shell.settings.dry:
            shell.print(f"downloads of Debian and PyPI for {shell.settings.shown(folder / made)}")
            continue
        shell.say(f"what wheels for other platforms run on: {shell.settings.shown(folder / made)}")
        try:
            make()
        except (Failed, OSError, StopIteration, ValueError) as error:
            shell.warn(f"going on without some tests of other platforms ({error})")


def _debian(shell: Shell, folder: Path) -> None:
    apt = folder / "apt"
    for name in ("lists/partial", "cache/archives/partial", "parts"):
        (apt / name).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "apt.conf").write_text(APT.format(folder))
    one_line = Path("/etc/apt/sources.list")
    lines = one_line.read_text() if one_line.exists() else ""
    (apt / "sources.list").write_text(lines + re.sub(r"^deb ", "deb-src ", lines, flags=re.M))
    for file in Path("/etc/apt/sources.list.d").glob("debian*.sources"):
        text = re.sub(r"^Types:.*$", "Types: deb deb-src", file.read_text(), flags=re.M)
        (apt / "parts" / file.name).write_text(text)
    env = {"APT_CONFIG": str(apt / "apt.conf")}
    shell.check("apt-get", "-qq", "update", env=env)
    options = ("-qq", "-y", "--no-install-recommends", "--download-only")
    shell.check("apt-get", *options, "install", *ARM64, env=env)
    for package in sorted((apt / "cache/archives").glob("*.deb")):
        shell.check("dpkg", "-x", package, folder / "arm64")
    shutil.rmtree(folder / "cmocka", ignore_errors=True)
    _source(shell, apt, "cmocka").rename(folder / "cmocka")
    _packages(shell, folder / "arm64/site", "manylinux_2_28_aarch64", "numpy")


def _source(shell: Shell, apt: Path, name: str) -> Path:
    """The unpacked source of a Debian package, as its authors released it. Debian's own files beside it
    are not needed: mirrors lack those of the newest version at times."""
    env = {"APT_CONFIG": str(apt / "apt.conf")}
    only = ("--download-only", "--tar-only")
    shell.check("apt-get", "-qq", *only, "source", name, env=env, cwd=apt)
    with tarfile.open(next(apt.glob(f"{name}_*.orig.tar.[gx]z"))) as archive:
        archive.extractall(apt)
        return apt / archive.getnames()[0].split("/")[0]


def _musl(shell: Shell, folder: Path) -> None:
    """CPython and what its ctypes needs, by musl-gcc: 3 minutes of one core's time."""
    if platform.machine() != "x86_64" or not shutil.which("musl-gcc"):
        return
    root, version = folder / "musl/usr", _version(folder)
    env = {"CC": "musl-gcc", "CFLAGS": "-O1 -g0 -w"}
    python = [*PYTHON, f"--with-build-python={shutil.which(f'python{version}')}"]
    for name, options in (("libffi", FFI), (f"python{version}", python)):
        source = _source(shell, folder / "apt", name)
        if name != "libffi":
            (source / "Modules/Setup.local").write_text(MODULES)
            script = (source / "setup.py").read_text()  # would add the folders of Debian's own libc
            (source / "setup.py").write_text(script.replace("self.add_multiarch_paths()", "pass"))
        shell.check("./configure", "-q", f"--prefix={root}", *MUSL, *options, env=env, cwd=source)
        for target in ("all", "install"):
            shell.check("make", "-s", "-j2", target, env=env, cwd=source)
    site = folder / "musl/site"
    # Newer ones have relocations (RELR) that musl 1.2.3 of Debian 12 does not know.
    _packages(shell, site, "musllinux_1_1_x86_64", "numpy==2.0.2")
    for module in site.rglob("*.cpython-*.so"):  # this CPython calls its own ones linux-gnu
        module.rename(module.with_name(f"{module.name.partition('.')[0]}.so"))


def _version(folder: Path) -> str:
    """3.11, of the Debian root, whose standard library Windows' interpreter uses too."""
    return next((folder / "arm64/usr/lib").glob("python3.*")).name[len("python") :]


def _pip(shell: Shell, command: str, folder: Path, platform: str, *packages: str) -> None:
    root = shell.settings.elsewhere("platforms")
    words = ["--only-binary", ":all:", "--platform", platform, "--implementation", "cp"]
    words += ["--python-version", _version(root), *packages]
    where = "--target" if command == "install" else "--dest"
    if environments.pip(shell, shell.settings.venv, command, where, str(folder), *words):
        raise Failed(f"no {' '.join(packages)} for {platform}")


def _packages(shell: Shell, folder: Path, platform: str, *packages: str) -> None:
    file = environments.requirements(shell, "test").read_text()
    pytest = re.findall(r"^(pytest==[^;\s]+)", file, re.M)[0]
    _pip(shell, "install", folder, platform, pytest, *packages)


def _windows(shell: Shell, folder: Path, zig: Path) -> None:
    """The wheel of panda3d has CPython's DLLs. The Python files are those of the Debian root."""
    windows = folder / "windows"
    (windows / "DLLs").mkdir(parents=True, exist_ok=True)
    package, modules = WINDOWS
    _pip(shell, "download", folder / "apt", "win_amd64", "--no-deps", package)
    with zipfile.ZipFile(next((folder / "apt").glob("panda3d-*.whl"))) as wheel:
        for name in wheel.namelist():
            file = name.rpartition("/")[2]
            if name.startswith("deploy_libs/") and not file.startswith("api-ms-"):
                beside = re.match(r"(python3\d+|VCRUNTIME)", file)  # the interpreter's own folder
                (windows / ("." if beside else "DLLs") / file).write_bytes(wheel.read(name))
    version = _version(folder)
    shutil.copytree(
        folder / f"arm64/usr/lib/python{version}",
        windows / "Lib",
        ignore=shutil.ignore_patterns("lib-dynload", "__pycache__"),
        dirs_exist_ok=True,
    )
    _packages(shell, windows / "site", "win_amd64", *modules)
    source = windows / "python.c"
    source.write_text(PYTHON_EXE % version.replace(".", ""))
    target = ("-target", "x86_64-windows-gnu", "-municode", "-O1", "-g0", "-s")
    shell.check(zig, "cc", *target, source, "-o", windows / "python.exe")
