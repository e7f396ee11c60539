"""Compiles the strided-copy kernels ahead of time and writes what the library embeds.

    python src/gpu/make_images.py           writes src/gpu/images_*.inc anew
    python src/gpu/make_images.py --check   fails if they are not what the source compiles to

Needs clang-19 and lld-19. The source text is written and compared without them, too: an image whose
source has changed is stale, whoever looks.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

GPU = Path(__file__).resolve().parent
ROOT = GPU.parent.parent
CLANG = "clang-19"

# PTX that every driver since CUDA 9 takes, for every GPU since Maxwell; the driver compiles it.
PTX = ["--target=nvptx64-nvidia-cuda", "-march=sm_50", "--cuda-feature=+ptx50", "-S"]
# Code objects of version 4: ROCm 4.1 and newer load them.
AMDGCN = ["--target=amdgcn-amd-amdhsa", "-mcode-object-version=4", "-Wl,-s"]
ARCHITECTURES = ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100"]
COMMON = ["-x", "cl", "-cl-std=CL1.2", "-Os", "-nogpulib", "-DDLX_AHEAD_OF_TIME", "-Wall", "-Werror"]


def source_text() -> str:
    """The kernels with what they include, as one text without comments."""

    def read(path: Path) -> str:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        return re.sub(r'#include "(src/gpu/[^"]+)"\n', lambda m: read(ROOT / m[1]), text)

    text = read(GPU / "strided_copy.cl").replace("\\\n", " ")
    lines = (re.sub(r"\s+", " ", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def compile_to(arguments: list[str], text: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        # Relative names, because some of them end up in the result.
        (Path(folder) / "strided_copy.cl").write_text(text, encoding="utf-8")
        command = [CLANG, *COMMON, *arguments, "-o", "out", "strided_copy.cl"]
        subprocess.run(command, cwd=folder, check=True)
        return (Path(folder) / "out").read_bytes()


def as_string(text: str) -> str:
    """C string literals, one a line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", " ")
    return "".join(f'"{line}\\n"\n' for line in escaped.splitlines())


def as_words(data: bytes) -> str:
    """Little-endian 64-bit numbers: short to write, and aligned."""
    data += bytes(-len(data) % 8)
    words = [f"{word:#x}" if word else "0" for (word,) in struct.iter_unpack("<Q", data)]
    return re.sub(r"(.{1,98}(?:,|$))", r"\1\n", ",".join(words))


def shorter(ptx: bytes) -> str:
    """Without comments and empty lines."""
    lines = (re.sub(r"\s*//.*", "", line) for line in ptx.decode().splitlines())
    return "\n".join(line for line in lines if line.strip()) + "\n"


def head(what: str, text: str, compiler: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return (
        f"// {what}, by ./dev kernels: do not edit.\n"
        f"// source: {digest}\n" + (f"// compiler: {compiler}\n" if compiler else "")
    )


def images(text: str, compiler: str) -> dict[str, str]:
    ptx = as_string(shorter(compile_to(PTX, text)))
    result = {"images_ptx.inc": head("PTX", text, compiler) + ptx}
    for architecture in ARCHITECTURES:
        code = as_words(compile_to([*AMDGCN, f"-mcpu={architecture}"], text))
        what = head(f"Code object for {architecture}", text, compiler)
        result[f"images_{architecture}.inc"] = what + code
    return result


def recorded(kind: str) -> str:
    """What the committed images say of their source or compiler."""
    path = GPU / "images_ptx.inc"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = re.search(rf"^// {kind}: (.*)$", text, flags=re.M)
    return found[1] if found else "none"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, fail if stale")
    check = parser.parse_args().check
    text = source_text()
    files = {"images_source.inc": head("Source", text, "") + as_string(text)}
    complete = shutil.which(CLANG) is not None and shutil.which("ld.lld-19") is not None
    if complete:
        version = subprocess.run([CLANG, "--version"], capture_output=True, text=True, check=True)
        compiler = version.stdout.splitlines()[0]
        if check and compiler != recorded("compiler"):
            print(f"only the source is compared: {compiler} is not {recorded('compiler')}")
            complete = False
        else:
            files |= images(text, compiler)
    elif check:
        print(f"only the source is compared: there is no {CLANG} with ld.lld-19")
    else:
        print(f"{CLANG} and ld.lld-19 are needed (Debian: clang-19 lld-19)", file=sys.stderr)
        return 1
    failed = False
    if check and not complete and recorded("source") != hashlib.sha256(text.encode()).hexdigest():
        print("stale: the images were made from another source", file=sys.stderr)
        failed = True
    for name, content in files.items():
        path = GPU / name
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if not check:
            path.write_text(content, encoding="utf-8")
            print(f"{name}: {'unchanged' if old == content else 'written'}")
        elif old != content:
            print(f"stale: {name}: run ./dev kernels", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
