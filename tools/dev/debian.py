"""The Debian packages that each kind of work needs. A package is needed if its probe is missing."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

from .shell import Failed, Shell

# Package -> probe: a command, or a file by its full path.
BUILD = {"bazel-bootstrap": "bazel", "gcc": "gcc", "g++": "g++", "binutils": "readelf"}
DEMO = {"g++": "c++"}
TESTS = {"libcmocka-dev": "/usr/include/cmocka.h", "abigail-tools": "abidiff"}
MORE_TESTS = {
    "libdlpack-dev": "/usr/include/dlpack/dlpack.h",
    "clang-19": "clang-19",
    "libamdhip64-dev": "/usr/include/hip/hip_runtime_api.h",
    # An OpenCL for the CPU, and the loader that finds it.
    "pocl-opencl-icd": "/etc/OpenCL/vendors/pocl.icd",
    "ocl-icd-libopencl1": f"/usr/lib/{platform.machine()}-linux-gnu/libOpenCL.so.1",
}
FUZZING = {"clang-19": "clang-19", "libclang-rt-19-dev": "/usr/lib/llvm-19/lib/clang/19/lib"}
COVERAGE = {**FUZZING, "llvm-19": "llvm-cov-19"}
KERNELS = {"clang-19": "clang-19", "lld-19": "ld.lld-19"}
PACKAGING = {"cmake": "cmake", "ninja-build": "ninja", "pkg-config": "pkg-config"}
RECIPES = {
    "debhelper": "dh",
    "dpkg-dev": "dpkg-buildpackage",
    "fakeroot": "fakeroot",
    "lintian": "lintian",
    "nix-bin": "nix-instantiate",
}
EMULATED = {"g++-aarch64-linux-gnu": "aarch64-linux-gnu-g++", "qemu-user": "qemu-aarch64"}
MORE_EMULATED = {
    "g++-riscv64-linux-gnu": "riscv64-linux-gnu-g++",
    "g++-s390x-linux-gnu": "s390x-linux-gnu-g++",
}
PLUGINS = "/usr/share/maven-repo/org/apache/maven/plugins"
LANGUAGES = {
    "golang-go": "go",
    "luajit": "luajit",
    "luarocks": "luarocks",
    "ruby": "ruby",
    "ruby-minitest": "/usr/share/doc/ruby-minitest",
    "rustc": "rustc",
    "cargo": "cargo",
    "valgrind": "valgrind",
    "nodejs": "node",
    "npm": "npm",
    "pkg-config": "pkg-config",
    "default-jdk-headless": "javac",
    "libjna-java": "/usr/share/java/jna.jar",
    "junit5": "/usr/share/java/junit-platform-console.jar",
    "maven": "mvn",
    **{
        f"libmaven-{name}-plugin-java": f"{PLUGINS}/maven-{name}-plugin"
        for name in ("compiler", "jar", "javadoc", "resources", "source")
    },
    "libsurefire-java": f"{PLUGINS}/maven-surefire-plugin",
    "mono-mcs": "mcs",
    "mono-runtime": "mono",
    "r-base-core": "Rscript",
    "clang-19": "clang++-19",
    "libc++-19-dev": "/usr/lib/llvm-19/include/c++/v1/mdspan",
    "libc++abi-19-dev": "/usr/lib/llvm-19/lib/libc++abi.a",
}


def missing(packages: dict[str, str]) -> list[str]:
    def is_there(probe: str) -> bool:
        return Path(probe).exists() if probe.startswith("/") else shutil.which(probe) is not None

    return [package for package, probe in packages.items() if not is_there(probe)]


def need(shell: Shell, why: str, packages: dict[str, str], *, optional: bool = False) -> None:
    """Installs missing packages. Optional packages may stay missing."""
    if not (names := missing(packages)):
        return
    if shell.run("tools/dev/apt-install", why, *names) == 0:
        return
    if not optional:
        raise Failed(f"cannot go on without: {' '.join(names)}")
    shell.warn(f"going on without: {' '.join(names)}")


def setup_build(shell: Shell) -> None:
    need(shell, "the build", BUILD)


def setup_tests(shell: Shell) -> None:
    setup_build(shell)
    need(shell, "the C tests", TESTS)
    need(shell, "some optional tests", MORE_TESTS, optional=True)


def setup_fuzzing(shell: Shell) -> None:
    need(shell, "optional fuzzing", FUZZING, optional=True)


def setup_packaging(shell: Shell, *, recipes: bool = False) -> None:
    need(shell, "packaging", PACKAGING)
    if recipes:
        need(shell, "optional tests of recipes", RECIPES, optional=True)


def setup_emulated(shell: Shell, *, every: bool) -> None:
    packages = {**EMULATED, **MORE_EMULATED} if every else EMULATED
    need(shell, "optional tests on other processors", packages, optional=True)


def setup_languages(shell: Shell) -> None:
    """The toolchains of bindings/, whatever their packages."""
    need(shell, "the optional packages of other languages", LANGUAGES, optional=True)
