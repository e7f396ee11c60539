"""./dev test --bindings: the packages of other languages, each with its own test runner."""

from __future__ import annotations

import functools
import os
import platform
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Callable

from . import bazel, debian, environments
from .jobs import Job
from .runners import Runner, python_variables
from .settings import Settings
from .shell import Environment, Failed, Shell, Word
from .summary import SKIPPED

JARS = Path("/usr/share/java")
JUNIT = (
    "junit-jupiter-api", "junit-jupiter-engine", "junit-jupiter-params", "junit-platform-commons",
    "junit-platform-console", "junit-platform-engine", "junit-platform-launcher",
    "junit-platform-reporting", "opentest4j", "apiguardian-api", "picocli", "univocity-parsers",
)  # fmt: skip
VALGRIND = (
    "valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite"
    " --errors-for-leak-kinds=definite"
)
TYPESCRIPT = "typescript@5.9.3"
MAVEN = Path("/usr/share/maven-repo")
NEWER_GO = "go-1.24"
CRATES = Path("/usr/share/cargo/registry")
WANTED = "ndarray-0.1[5-7].*"  # as bindings/rust/dlx/Cargo.toml says
NDARRAY = [
    f"librust-{name}-dev"
    for name in ("ndarray", "matrixmultiply", "num-complex", "num-integer", "num-traits", "rawpointer", "autocfg")
]  # fmt: skip
PYTHONS = ("3.9", "3.14")  # with packages of JPype, lupa and .NET Core


def built(settings: Settings, *names: str) -> Path:
    """A file or folder of what the packages are built into."""
    return settings.root.joinpath("build/bindings", *names)


def setup(shell: Shell) -> None:
    """The toolchains, and libdlx as an installed one: what pkg-config and the loader find."""
    debian.setup_languages(shell)
    bazel.build_library(shell, *bazel.FAKES)
    if shell.settings.dry:
        return
    prefix = built(shell.settings, "prefix")
    shutil.rmtree(prefix, ignore_errors=True)
    (prefix / "lib/pkgconfig").mkdir(parents=True)
    (prefix / "include").symlink_to(shell.settings.root / "include")
    for name in ("libdlx.so", "libdlx.so.1"):
        (prefix / "lib" / name).symlink_to(shell.settings.library)
    (prefix / "lib/pkgconfig/dlx.pc").write_text(
        f"libdir={prefix}/lib\nName: dlx\nDescription: dlx\nVersion: 0\n"
        f"Libs: -L{prefix}/lib -ldlx\nCflags: -I{prefix}/include\n"
    )
    build_filter(shell)
    # Devices are those of the fake driver.
    folder = shell.settings.root / "bindings/conformance"
    cases = "\n".join((folder / name).read_text() for name in ("cases.txt", "cuda.txt"))
    built(shell.settings, "cases.txt").write_text(cases)


def build_filter(shell: Shell) -> None:
    """The functions of C that the packages' tests call."""
    source, prefix = shell.settings.root / "examples/filter", built(shell.settings, "prefix")
    folders = (f"-I{prefix}/include", "-DDLX_DLPACK_OWN", f"-L{prefix}/lib")
    shell.run(
        *("cc", "-shared", "-fPIC", "-O2", "-std=c11", *folders, source / "filter.c", "-ldlx"),
        *("-o", prefix / "lib/libfilter.so"),
    )


def variables(settings: Settings) -> Environment:
    library = built(settings, "prefix/lib")
    return {
        "PKG_CONFIG_PATH": str(library / "pkgconfig"),
        "LD_LIBRARY_PATH": str(library),
        "DLX_FILTER": str(library / "libfilter.so"),
        "DLX_CONFORMANCE": str(built(settings, "cases.txt")),
        "DLX_CUDA_PATH": str(settings.root / "bazel-bin/tests/stubs/fake_libcuda.so"),
        "CARGO_TARGET_DIR": str(built(settings, "cargo")),
        "GOCACHE": str(built(settings, "go-cache")),
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GODEBUG": "cgocheck=1",
        "DLX_LIBRARY": None,
    }


class Language:
    """The steps of one language. A missing tool skips it, except on a test machine."""

    def __init__(self, runner: Runner, name: str) -> None:
        self.runner, self.name = runner, name
        self.settings = runner.shell.settings
        self.folder = self.settings.root / "bindings" / name
        self.built = built(self.settings, name)
        if not self.settings.dry:
            self.built.mkdir(parents=True, exist_ok=True)

    def step(self, *command: Word, cwd: Path | None = None, env: Environment | None = None) -> bool:
        """Whether a command of the language succeeds; it counts as one test."""
        words = [str(word).replace(f"{self.settings.root}/", "") for word in command]
        name = " ".join(words)[:70]
        self.runner.shell.say(f"{self.name}: {name}")
        status = self.runner.shell.run(
            *command, cwd=cwd or self.folder, env={**variables(self.settings), **(env or {})}
        )
        self.runner.report.step(f"bindings-{self.name}", name, status)
        return status == 0

    def skip(self, name: str, why: str) -> None:
        self.runner.shell.say(f"{self.name}: {name}: skipped: {why}")
        self.runner.report.step(f"bindings-{self.name}", name, SKIPPED)

    def copied(self, name: str) -> Path:
        """A copy of the package, for tools that write beside the sources. It has a licence, not a link."""
        target = self.built / name
        if not self.settings.dry:
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(self.folder, target)
        return target

    def example(self, fence: str, file: str, **changes: str) -> Path:
        """The first example of the README as a program."""
        target = self.built / file
        if not self.settings.dry:
            text = (self.folder / "README.md").read_text()
            [code] = re.findall(rf"^```{fence}\n(.*?)^```", text, re.M | re.S)[:1]
            for old, new in changes.items():
                code = code.replace(old, new)
            target.write_text(code)
        return target


def crates(x: Language) -> tuple[Path, bool]:
    """A configuration of Cargo that takes Debian's crates for the registry's, and whether there are some. Else ndarray
    is empty: Cargo resolves the optional dependencies of the packages that it tests, needed or not."""
    unpacked, config = built(x.settings, "crates"), x.built / "config.toml"
    if x.settings.dry:
        return config, True
    folders = [CRATES, unpacked / "usr/share/cargo/registry"]
    if not any(list(folder.glob(WANTED)) for folder in folders):
        x.runner.shell.run("tools/dev/debian-unpack", unpacked, "sid", *NDARRAY)
    empty = x.built / "empty/ndarray-0.17.0"
    (empty / "src").mkdir(parents=True, exist_ok=True)
    (empty / "src/lib.rs").touch()
    (empty / "Cargo.toml").write_text('[package]\nname = "ndarray"\nversion = "0.17.0"\n')
    (empty / ".cargo-checksum.json").write_text('{"files": {}, "package": null}')
    [folder, *_] = [folder for folder in folders if list(folder.glob(WANTED))] + [empty.parent]
    config.write_text(
        f'[source.crates-io]\nreplace-with = "found"\n[source.found]\ndirectory = "{folder}"\n'
    )
    (x.folder / "Cargo.lock").unlink(missing_ok=True)  # of the other folder
    return config, folder != empty.parent


def rust(x: Language) -> None:
    config, has_ndarray = crates(x)
    cargo = ("cargo", "--config", config)
    test = (*cargo, "test", "--quiet", "--offline")
    feature: tuple[str, ...] = ("--features", "dlx/ndarray")
    x.step(*test)
    version = re.search(r"(\d+)\.(\d+)", x.runner.shell.ask("rustc", "--version") or "0.0")
    if has_ndarray and version and tuple(map(int, version.groups())) >= (1, 64):
        x.step(*test, *feature, "-p", "dlx")
    else:
        x.skip("cargo test --features ndarray", "no crate ndarray, or a Rust before 1.64")
        feature = ()
    if shutil.which("valgrind"):  # Miri cannot run C
        triple = f"{platform.machine().upper()}_UNKNOWN_LINUX_GNU"
        x.step(*test, "--tests", env={f"CARGO_TARGET_{triple}_RUNNER": VALGRIND})
    if shutil.which("cmake"):  # a minute of one processor, until it is built
        x.step(
            *(*test, "--features", "vendored"),
            env={
                "CARGO_TARGET_DIR": str(built(x.settings, "cargo-vendored")),
                **dict.fromkeys(("PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "DLX_FILTER")),
            },
        )
    packed = ("--offline", "--no-verify", "--allow-dirty", "-p", "dlx-sys")
    x.step(*cargo, "package", "--quiet", *packed)  # dlx needs dlx-sys in a registry
    if x.runner.shell.ask("cargo", "fmt", "--version") is not None:
        x.step("cargo", "fmt", "--check")
    if x.runner.shell.ask("cargo", "clippy", "--version") is not None:
        quiet = ("-q", "--offline", "--config", config)  # cargo hands on what comes after its own
        x.step("cargo", "clippy", *quiet, "--all-targets", *feature, "--", "-Dwarnings")


def go(x: Language) -> None:
    x.step("go", "vet", "./...")
    x.step("bash", "-c", "[[ -z $(gofmt -l . | tee /dev/stderr) ]]")
    x.step("go", "test", "-race", "-count=1", "./...")
    module = x.example("go", "main.go").with_name("go.mod")
    if not x.settings.dry:
        name = "libdlx.example/dlx"
        module.write_text(
            f"module example\n\ngo 1.19\n\nrequire {name} v0.0.0\n\nreplace {name} => {x.folder}\n"
        )
    x.step("go", "run", ".", cwd=x.built)
    root = built(x.settings, "go-newer", "usr/lib", NEWER_GO)  # which can pin slices
    if not x.settings.dry and not root.exists():
        packages = (f"golang-{NEWER_GO[3:]}-{part}" for part in ("go", "src"))
        x.runner.shell.run("tools/dev/debian-unpack", root.parents[2], "trixie", *packages)
    if x.settings.dry or root.exists():
        x.step(root / "bin/go", "test", "-count=1", "./...", env={"GOROOT": str(root)})
    else:
        x.skip("newer Go", f"Debian's {NEWER_GO} could not be had")


def node(x: Language) -> None:
    if not x.step("node", "scripts/build.js"):
        return
    x.step("node", "--expose-gc", "--test", "test/")
    x.step("node", x.example("js", "example.js", **{"'libdlx'": repr(str(x.folder))}))
    if shutil.which("npm"):  # the package as users get it is complete
        package = x.built / "package"
        if not x.settings.dry:
            shutil.rmtree(package, ignore_errors=True)
        pack = f"npm pack --silent --pack-destination {x.built} && tar -xzf {x.built}/libdlx-*.tgz -C {x.built}"
        if x.step("bash", "-c", pack):
            x.step("node", "scripts/build.js", cwd=package)
            x.step("node", "-e", "require('.').Tensor.empty([2]).close()", cwd=package)
    modules = x.built / "node_modules"
    if not (modules / "typescript").exists() and shutil.which("npm"):
        quiet = ("--silent", "--no-audit", "--no-fund", "--prefix", x.built)
        x.runner.shell.run("npm", "install", *quiet, TYPESCRIPT)
    if (modules / "typescript").exists():
        libraries = ("--lib", "es2022,esnext.disposable", "--module", "node16")
        x.step(
            modules / ".bin/tsc",
            "--noEmit",
            "--strict",
            "--target",
            "es2022",
            *libraries,
            "test/types.ts",
        )
    else:
        x.runner.shell.say(f"node: the types are not checked: no {TYPESCRIPT}")


def java(x: Language) -> None:
    jna, main, tests = JARS / "jna.jar", x.built / "main", x.built / "test"
    for folder in (main, tests):
        shutil.rmtree(folder, ignore_errors=True)
    sources, test_sources = (
        sorted((x.folder / "src" / part).rglob("*.java")) for part in ("main", "test")
    )
    warnings = ("-Xlint:all,-processing,-classfile", "-Werror")
    junit = [JARS / f"{name}.jar" for name in JUNIT]
    jar = x.built / "dlx.jar"
    path = os.pathsep.join(map(str, [jar, jna, tests, *junit]))
    library = f"-Ddlx.library={built(x.settings, 'prefix/lib/libdlx.so.1')}"
    if not (
        x.step("javac", *warnings, "-cp", jna, "-d", main, *sources)
        and x.step("jar", "-c", "-f", jar, "-C", main, ".")
        and x.step("javac", "-cp", path, "-d", tests, *test_sources)
    ):
        return
    console = (
        "org.junit.platform.console.ConsoleLauncher",
        "--disable-banner",
        "--details=summary",
    )
    x.step("java", library, "-cp", path, *console, "--select-package", "dlx")
    x.step("java", library, "-cp", path, x.example("java", "Example.java"))
    plugin = MAVEN / "org/apache/maven/plugins/maven-javadoc-plugin"
    if x.settings.dry or (shutil.which("mvn") and plugin.exists()):
        offline = ("mvn", "-q", "-B", "-o", f"-Dmaven.repo.local={MAVEN}")
        of_debian = ("-Dsurefire.version=2.22.3", "-P", "release")
        x.step(*offline, *of_debian, "package", cwd=x.copied("maven"))
    else:
        x.skip("mvn package", "no Maven, or none of Debian's plugins for it")
    x.step(
        "javadoc",
        "-quiet",
        "-Xdoclint:all,-missing",
        "-Werror",
        "-cp",
        jna,
        "-d",
        x.built / "doc",
        *sources,
    )


def csharp(x: Language) -> None:
    """On Mono, and on .NET Core by the assemblies of the runtime that PyPI has."""
    csharp_on(x, "mono", ("mono",))
    [*found] = python(x.runner.shell).glob("lib/*/site-packages/dotnetcore2/bin/dotnet")
    if not found:
        x.skip("dotnet", "PyPI has no .NET Core for this machine")
        return
    config = x.built / "core.json"
    config.write_text(
        '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"},'
        ' "configProperties": {"System.Globalization.Invariant": true}}}'
    )
    assemblies = sorted(found[0].parent.glob("shared/Microsoft.NETCore.App/*/System.*.dll"))
    references = ("-nostdlib", "-noconfig", *(f"-r:{path}" for path in assemblies))
    csharp_on(x, "core", (found[0], "exec", "--runtimeconfig", config), references)


def csharp_on(
    x: Language, name: str, runtime: Sequence[Word], references: Sequence[Word] = ()
) -> None:
    folder = x.built / name
    if not x.settings.dry:
        folder.mkdir(exist_ok=True)
    library = folder / "Dlx.dll"
    mcs = ("mcs", "-langversion:Latest", "-unsafe", "-warnaserror")
    sources = sorted(x.folder.glob("src/*.cs"))
    if not x.step(*mcs, "-target:library", f"-out:{library}", *sources, *references):
        return
    programs = {
        "Tests.exe": (
            sorted(x.folder.glob("test/*.cs")),
            [built(x.settings, "cases.txt")],
        ),
        "Example.exe": ([x.example("csharp", "Example.cs")], []),
    }
    for file, (sources, arguments) in programs.items():
        if x.step(*mcs, f"-r:{library}", f"-out:{folder / file}", *sources, *references):
            x.step(*runtime, folder / file, *arguments)


def lua(x: Language) -> None:
    x.step("luajit", "test/run.lua")
    example, folders = x.example("lua", "example.lua"), x.folder
    if x.settings.dry or shutil.which("luarocks"):
        rock = "dlx-0.1.0-1.rockspec"
        x.step("luarocks", "lint", rock)
        rocks = ("luarocks", "--lua-version", "5.1", "--tree", x.built / "rocks")
        x.step(*rocks, "make", rock, cwd=x.copied("source"))
        folders = x.built / "rocks/share/lua/5.1"
    else:
        x.skip("luarocks make", "no luarocks")
    x.step("luajit", example, env={"LUA_PATH": f"{folders}/?.lua;{folders}/?/init.lua"})


def ruby(x: Language) -> None:
    x.step("ruby", "-w", "-Ilib", "test/run.rb")
    gem, gems = x.built / "dlx.gem", x.built / "gems"
    x.step("gem", "build", "--silent", "dlx.gemspec", "--output", gem)
    x.step("gem", "install", "--silent", "--local", "--no-document", "--install-dir", gems, gem)
    x.step("ruby", "-w", x.example("ruby", "example.rb"), env={"GEM_PATH": str(gems)})


def r(x: Language) -> None:
    """From a copy: R compiles in the folder of the sources."""
    source, library = x.copied("source"), x.built / "library"
    if not x.settings.dry:
        library.mkdir(exist_ok=True)
    if x.step("R", "CMD", "INSTALL", "--no-docs", "-l", library, source):
        installed = {"R_LIBS": str(library)}
        x.step("Rscript", "tests/run.R", env=installed)
        x.step("Rscript", x.example("r", "example.R"), env=installed)
    x.step("R", "CMD", "build", x.folder, cwd=x.built)
    check = (
        "R CMD check --no-manual --no-tests dlx_*.tar.gz | tee /dev/stderr | grep -q '^Status: OK'"
    )
    x.step("bash", "-c", check, cwd=x.built, env={"R_REPOSITORIES": "NULL"})


def cpp(x: Language) -> None:
    """std::mdspan, which the compiler of the other tests may lack. Those are tests/cpp."""
    test, program = x.settings.root / "tests/cpp/test_more.cc", x.built / "test_more"
    flags = ("-std=c++23", "-stdlib=libc++", "-Wall", "-Wextra", "-Werror", "-DDLX_DLPACK_OWN")
    prefix = built(x.settings, "prefix")
    folders = (f"-I{prefix}/include", f"-L{prefix}/lib")
    if x.step(
        "clang++-19",
        *flags,
        *folders,
        test,
        "-ldlx",
        "-lcmocka",
        "-o",
        program,
        cwd=x.settings.root,
    ):
        x.step(program, cwd=x.settings.root)


def python(shell: Shell) -> Path:
    """An environment with runtimes that PyPI has."""
    venv = shell.settings.elsewhere("bindings")
    found = environments.find_between(shell, *PYTHONS)
    if found is None or not environments.make(shell, venv, found):
        raise Failed(f"bindings: found no Python from {PYTHONS[0]} to {PYTHONS[1]}")
    if not environments.install(shell, venv, "bindings"):
        raise Failed("third_party/python/bindings.txt could not be installed")
    return venv


def two_runtimes(x: Language) -> None:
    """Python beside each other runtime in one process, each in its own."""
    shell, tests = x.runner.shell, x.settings.root / "tests/bindings"
    library = built(x.settings, "prefix/lib/libdlx.so.1")
    go_library = x.built / "runtime.so"
    java_library = built(x.settings, "java/dlx.jar")
    ready = {
        "rust": shutil.which("cargo") is not None
        and x.step("cargo", "build", "--quiet", "--offline", "--release", cwd=tests / "rust"),
        "go": shutil.which("go") is not None
        and x.step("go", "build", "-buildmode=c-shared", "-o", go_library, ".", cwd=tests / "go"),
        "lua": True,
        "java": x.settings.dry or java_library.exists(),
    }
    venv = python(shell)
    env = {
        **variables(x.settings),
        **python_variables(shell),
        "DLX_LIBRARY": str(library),
        "DLX_TWO_LIBRARY": str(library),
        "DLX_TWO_RUST": str(built(x.settings, "cargo/release/libruntime.so")),
        "DLX_TWO_GO": str(go_library),
        "DLX_TWO_LUA": str(x.settings.root / "bindings/lua"),
        "DLX_TWO_JAVA": f"{java_library}:{JARS / 'jna.jar'}",
    }
    for name in (name for name, is_ready in ready.items() if is_ready):
        x.runner.pytest(
            f"bindings-two-{name}",
            "ctypes",
            str(tests),
            python=venv / "bin/python",
            env={**env, "DLX_TWO": name},
        )


def together(x: Language) -> None:
    """What needs several packages. The benchmark is a test that it runs."""
    two_runtimes(x)
    root = x.settings.root
    x.step(sys.executable, root / "benchmarks/bench_languages.py", cwd=root)


# What each needs, and its steps. The longest first.
STEPS: dict[str, tuple[Sequence[str], Callable[[Language], None]]] = {
    "java": (("javac", str(JARS / "jna.jar"), str(JARS / "junit-platform-console.jar")), java),
    "go": (("go", "gcc", "pkg-config"), go),
    "rust": (("cargo",), rust),
    "node": (("node", "pkg-config"), node),
    "csharp": (("mcs", "mono"), csharp),
    "r": (("R", "Rscript", "cc", "pkg-config"), r),
    "ruby": (("ruby", "gem"), ruby),
    "lua": (("luajit",), lua),
    "cpp": (("clang++-19", "/usr/lib/llvm-19/include/c++/v1/mdspan"), cpp),
}


def jobs(settings: Settings) -> list[Job]:
    made = [Job(f"bindings-{name}", functools.partial(_test, name)) for name in STEPS]
    after = tuple(job.name for job in made)
    return [*made, Job("two-runtimes", lambda r: together(Language(r, "two")), after=after)]


def _test(name: str, runner: Runner) -> None:
    tools, steps = STEPS[name]
    missing = debian.missing({tool: tool for tool in tools})
    if missing and not runner.shell.settings.dry:
        words = f"bindings-{name}: skipped: no {', '.join(missing)}"
        if runner.shell.settings.ci:  # a test machine must not pass because it tested less
            raise Failed(words)
        Language(runner, name).skip("all", f"no {', '.join(missing)}")
        return
    steps(Language(runner, name))
