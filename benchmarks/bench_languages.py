"""What each language's package adds to a call, beside C: ./dev bench languages.

The programs of benchmarks/languages print the nanoseconds of an exchange (wrap or make a small tensor,
export it, release both) and of a strided copy of 1 MB, best of five or six rounds. Prints a table in
Markdown. Needs what ./dev test --bindings builds."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "benchmarks/languages"
BUILT = ROOT / "build/bindings"
PREFIX = BUILT / "prefix"
JARS = f"{BUILT / 'java/dlx.jar'}:/usr/share/java/jna.jar"
MONO = BUILT / "csharp/mono"
SPEED = BUILT / "speed"

# Language -> how to build, and how to run.
PROGRAMS: dict[str, tuple[list[str], list[str]]] = {
    "C": (["cc", "-O2", "-std=c11", f"-I{PREFIX}/include", f"{HERE}/speed.c", f"-L{PREFIX}/lib", "-ldlx",
           "-o", f"{SPEED}/speed"], [f"{SPEED}/speed"]),
    "C++": (["c++", "-O2", "-std=c++17", "-DDLX_DLPACK_OWN", f"-I{PREFIX}/include", f"{HERE}/speed.cc", f"-L{PREFIX}/lib",
             "-ldlx", "-o", f"{SPEED}/speed-cpp"], [f"{SPEED}/speed-cpp"]),
    "Rust": (["cargo", "build", "--quiet", "--offline", "--release", "--manifest-path", f"{HERE}/rust/Cargo.toml"],
             [f"{BUILT}/cargo/release/speed"]),
    "Go": (["go", "build", "-o", f"{SPEED}/speed-go", "."], [f"{SPEED}/speed-go"]),
    "Node": (["true"], ["node", "--expose-gc", f"{HERE}/speed.js"]),
    "Java": (["true"], ["java", f"-Ddlx.library={PREFIX}/lib/libdlx.so.1", "-cp", JARS, f"{HERE}/Speed.java"]),
    "C#": (["mcs", "-langversion:Latest", f"-r:{MONO}/Dlx.dll", f"-out:{MONO}/Speed.exe", f"{HERE}/Speed.cs"],
           ["mono", f"{MONO}/Speed.exe"]),
    "R": (["true"], ["Rscript", f"{HERE}/speed.R"]),
    "LuaJIT": (["true"], ["luajit", f"{HERE}/speed.lua"]),
    "Ruby": (["true"], ["ruby", "-I", f"{ROOT}/bindings/ruby/lib", f"{HERE}/speed.rb"]),
}  # fmt: skip


def environment() -> dict[str, str]:
    """Node finds the package under its name."""
    modules = SPEED / "node_modules"
    modules.mkdir(parents=True, exist_ok=True)
    if not (modules / "libdlx").exists():
        (modules / "libdlx").symlink_to(ROOT / "bindings/node")
    lua = ROOT / "bindings/lua"
    return {
        **{name: value for name, value in os.environ.items() if name != "DLX_LIBRARY"},
        "LD_LIBRARY_PATH": f"{PREFIX}/lib",
        "PKG_CONFIG_PATH": f"{PREFIX}/lib/pkgconfig",
        "CARGO_TARGET_DIR": f"{BUILT}/cargo",
        "GOCACHE": f"{BUILT}/go-cache",
        "GOFLAGS": "-mod=mod",
        "GOPROXY": "off",
        "NODE_PATH": f"{modules}:{os.environ.get('NODE_PATH', '')}",
        "R_LIBS": f"{BUILT}/r/library",
        "LUA_PATH": f"{lua}/?.lua;{lua}/?/init.lua",
    }


def measure(name: str, env: dict[str, str]) -> tuple[int, int] | None:
    build, run = PROGRAMS[name]
    if not shutil.which(build[0]) or (len(run) > 1 and not shutil.which(run[0])):
        return None
    subprocess.run(build, cwd=HERE / "go" if name == "Go" else ROOT, env=env, check=True)
    said = subprocess.run(run, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout
    exchange, copy = said.split()
    return int(exchange), int(copy)


def main() -> None:
    if not PREFIX.exists():
        raise SystemExit("bench languages: run ./dev test --bindings first: it builds the packages")
    env = environment()
    print("| | exchange, ns | copy of 1 MB, µs |\n|---|--:|--:|")
    for name in PROGRAMS:
        if found := measure(name, env):
            print(f"| {name} | {found[0]:,} | {found[1] / 1000:.0f} |", flush=True)
        else:
            print(f"{name}: skipped: not installed")


if __name__ == "__main__":
    main()
