"""Compiles the strided-copy kernels ahead of time and writes what the library embeds.

    python src/gpu/make_images.py           writes src/gpu/images_*.inc anew
    python src/gpu/make_images.py --check   fails if they are not what the source compiles to

Needs clang-19 and lld-19. Without them --check compares only the source text: an image whose
source has changed is stale.
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

# PTX for every driver since CUDA 9 and every GPU since Maxwell; the driver compiles it.
PTX = ["--target=nvptx64-nvidia-cuda", "-march=sm_50", "--cuda-feature=+ptx50", "-S"]
# Code objects of version 4: ROCm 4.1 and newer load them.
AMDGCN = ["--target=amdgcn-amd-amdhsa", "-mcode-object-version=4", "-Wl,-s"]
ARCHITECTURES = ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100"]
COMMON = [
    "-x",
    "cl",
    "-cl-std=CL1.2",
    "-Os",
    "-nogpulib",
    "-DDLX_AHEAD_OF_TIME",
    "-Wall",
    "-Werror",
]


def source_text() -> str:
    """The kernels and their includes as one text without comments."""

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
    """C string literals, one for each line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", " ")
    return "".join(f'"{line}\\n"\n' for line in escaped.splitlines())


def as_words(data: bytes) -> str:
    """Little-endian 64-bit numbers: short to write."""
    data += bytes(-len(data) % 8)
    words = [f"{word:#x}" if word else "0" for (word,) in struct.iter_unpack("<Q", data)]
    return re.sub(r"(.{1,98}(?:,|$))", r"\1\n", ",".join(words))


def shorter(ptx: bytes) -> bytes:
    """Without comments and empty lines; zero-terminated."""
    lines = (re.sub(r"\s*//.*", "", line) for line in ptx.decode().splitlines())
    return "".join(line + "\n" for line in lines if line.strip()).encode() + b"\0"


def length_bytes(length: int) -> bytes:
    return bytes([255] * (length // 255) + [length % 255])


def compress(data: bytes) -> bytes:
    """A block of LZ4: literals and copies from the last 64 KiB. images.cc unpacks it."""
    packed = bytearray()
    seen: dict[bytes, list[int]] = {}

    def put(literals: bytes, distance: int, length: int) -> None:
        rest = length - 4
        packed.append(min(len(literals), 15) << 4 | (min(rest, 15) if distance else 0))
        if len(literals) >= 15:
            packed.extend(length_bytes(len(literals) - 15))
        packed.extend(literals)
        if distance:
            packed.extend(struct.pack("<H", distance))
            if rest >= 15:
                packed.extend(length_bytes(rest - 15))

    def match(at: int) -> tuple[int, int]:
        best, distance = 0, 0
        for place in reversed(seen.get(data[at : at + 4], [])[-256:]):
            if at - place > 0xFFFF:
                break
            length = 4
            while at + length < len(data) and data[place + length] == data[at + length]:
                length += 1
            if length > best:
                best, distance = length, at - place
        return best, distance

    start = at = 0
    while at < len(data):
        length, distance = match(at)
        # A literal pays if a longer match begins one byte later.
        step = length if length >= 4 and match(at + 1)[0] <= length + 1 else 1
        if step > 1:
            put(data[start:at], distance, length)
            start = at + length
        for k in range(at, at + step):
            seen.setdefault(data[k : k + 4], []).append(k)
        at += step
    put(data[start:], 0, 0)
    return bytes(packed)


def as_packed(data: bytes) -> str:
    """As the items of a C array: the size, then the block."""
    return f"{len(data)},\n" + as_words(compress(data))


def head(what: str, text: str, more: dict[str, str]) -> str:
    lines = {"source": hashlib.sha256(text.encode()).hexdigest(), **more}
    return f"// {what}, by ./dev kernels: do not edit.\n" + "".join(
        f"// {key}: {value}\n" for key, value in lines.items()
    )


def images(text: str, compiler: str) -> dict[str, str]:
    codes = {"ptx": shorter(compile_to(PTX, text))}
    for architecture in ARCHITECTURES:
        codes[architecture] = compile_to([*AMDGCN, f"-mcpu={architecture}"], text)
    result = {}
    for name, code in codes.items():
        more = {"compiler": compiler, "image": hashlib.sha256(code).hexdigest()}
        result[f"images_{name}.inc"] = head(f"Kernels for {name}", text, more) + as_packed(code)
    return result


def recorded(kind: str) -> str:
    """The source or compiler that the committed images record."""
    path = GPU / "images_ptx.inc"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = re.search(rf"^// {kind}: (.*)$", text, flags=re.M)
    return found[1] if found else "none"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, fail if stale")
    check = parser.parse_args().check
    text = source_text()
    files = {"images_source.inc": head("Source", text, {}) + as_string(text)}
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
