"""Compiles the strided-copy kernels, a family at a time, ahead of time and writes what the library embeds.

    python src/gpu/make_images.py           writes src/gpu/images_*.inc anew
    python src/gpu/make_images.py --check   fails if they are not what the source compiles to

Needs clang-19 and lld-19. Without them --check compares only the source text: an image whose
source has changed is stale.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
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

# In the order of kernels.h. Each is a source and a module of its own.
FAMILIES = ["turn", "few", "pattern", "rows", "tiles", "elements"]

# PTX for every driver since CUDA 9 and every GPU since Maxwell; the driver compiles it.
PTX = ["--target=nvptx64-nvidia-cuda", "-march=sm_50", "--cuda-feature=+ptx50", "-S"]
# Code objects of version 4: ROCm 4.1 and newer load them.
AMDGCN = ["--target=amdgcn-amd-amdhsa", "-mcode-object-version=4", "-Wl,-s"]
ARCHITECTURES = ["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100"]
COMMON = [
    "-x",
    "cl",
    "-cl-std=CL1.2",
    "-O3",
    "-nogpulib",
    "-DDLX_AHEAD_OF_TIME",
    "-Wall",
    "-Werror",
]


def source_text(family: str) -> str:
    """The kernels of a family and their includes as one text without comments."""

    def read(path: Path) -> str:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        return re.sub(r'#include "(src/gpu/[^"]+)"\n', lambda m: read(ROOT / m[1]), text)

    text = read(GPU / f"{family}.cl").replace("\\\n", " ")
    lines = (re.sub(r"\s+", " ", line).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def compile_to(arguments: list[str], text: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        # Relative names, because some of them end up in the result.
        (Path(folder) / "dlx.cl").write_text(text, encoding="utf-8")
        command = [CLANG, *COMMON, *arguments, "-o", "out", "dlx.cl"]
        subprocess.run(command, cwd=folder, check=True)
        return (Path(folder) / "out").read_bytes()


def as_words(data: bytes) -> str:
    """Little-endian 64-bit numbers: short to write."""
    data += bytes(-len(data) % 8)
    words = [f"{word:#x}" if word else "0" for (word,) in struct.iter_unpack("<Q", data)]
    return re.sub(r"(.{1,98}(?:,|$))", r"\1\n", ",".join(words))


def shorter(ptx: bytes) -> bytes:
    """Without comments, empty lines and long names of parameters and labels; zero-terminated."""
    lines = (re.sub(r"\s*//.*", "", line) for line in ptx.decode().splitlines())
    text = "".join(line + "\n" for line in lines if line.strip())
    text = re.sub(r"\bdlx_\w+_param_(\d)\b", r"p\1", text).replace("$L__BB", "$L")
    text = re.sub(r"[ \t]+", " ", text).replace(", ", ",").replace("\n ", "\n")
    return text.encode() + b"\0"


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
        for place in reversed(seen.get(data[at : at + 4], [])[-2048:]):
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


def lengths_of(data: bytes) -> list[int]:
    """The length in bits of each byte's Huffman code, at most 15."""
    counts = [data.count(value) for value in range(256)]
    least = 1
    while True:
        heap = [(max(n, least), value, (value,)) for value, n in enumerate(counts) if n]
        lengths = [0] * 256
        if len(heap) == 1:
            lengths[heap[0][1]] = 1
            return lengths
        heapq.heapify(heap)
        while len(heap) > 1:
            (a, key, few), (b, _, more) = heapq.heappop(heap), heapq.heappop(heap)
            for value in few + more:
                lengths[value] += 1
            heapq.heappush(heap, (a + b, key, few + more))
        if max(lengths) <= 15:
            return lengths
        least *= 2  # rare bytes get shorter codes


def encode(data: bytes) -> bytes:
    """The bytes in canonical Huffman codes: their number, half a byte a length, the codes."""
    lengths = lengths_of(data)
    codes, code = {}, 0
    for bits in range(1, 16):
        for value in range(256):
            if lengths[value] == bits:
                codes[value] = format(code, f"0{bits}b")
                code += 1
        code <<= 1
    text = "".join(codes[value] for value in data)
    text += "0" * (-len(text) % 8)
    packed = struct.pack("<Q", len(data))
    packed += bytes(lengths[k] | lengths[k + 1] << 4 for k in range(0, 256, 2))
    return packed + int(text, 2).to_bytes(len(text) // 8, "big")


def as_packed(name: str, data: bytes) -> str:
    """As a C array: the size, then the encoded block."""
    return f"constexpr uint64_t {name}[] = {{{len(data)},\n{as_words(encode(compress(data)))}}};\n"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def source_digest(texts: dict[str, str]) -> str:
    return digest("".join(texts.values()).encode())


def head(what: str, texts: dict[str, str], more: dict[str, str]) -> str:
    lines = {"source": source_digest(texts), **more}
    return f"// {what}, by ./dev kernels: do not edit.\n" + "".join(
        f"// {key}: {value}\n" for key, value in lines.items()
    )


def images(texts: dict[str, str], compiler: str) -> dict[str, str]:
    targets = {"ptx": PTX}
    for architecture in ARCHITECTURES:
        targets[architecture] = [*AMDGCN, f"-mcpu={architecture}"]
    result = {}
    for name, arguments in targets.items():
        more, arrays = {"compiler": compiler}, []
        for family, text in texts.items():
            code = compile_to(arguments, text)
            if name == "ptx":
                code = shorter(code)
            more[f"image {family}"] = digest(code)
            arrays.append(as_packed(f"k_{name}_{family}", code))
        table = ", ".join(f"k_{name}_{family}" for family in texts)
        arrays.append(f"constexpr const uint64_t* k_{name}[] = {{{table}}};\n")
        result[f"images_{name}.inc"] = head(f"Kernels for {name}", texts, more) + "".join(arrays)
    return result


def sources(texts: dict[str, str]) -> str:
    arrays = [
        as_packed(f"k_source_{family}", text.encode() + b"\0") for family, text in texts.items()
    ]
    table = ", ".join(f"k_source_{family}" for family in texts)
    arrays.append(f"constexpr const uint64_t* k_source[] = {{{table}}};\n")
    return head("Source", texts, {}) + "".join(arrays)


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
    texts = {family: source_text(family) for family in FAMILIES}
    files = {"images_source.inc": sources(texts)}
    complete = shutil.which(CLANG) is not None and shutil.which("ld.lld-19") is not None
    if complete:
        version = subprocess.run([CLANG, "--version"], capture_output=True, text=True, check=True)
        compiler = version.stdout.splitlines()[0]
        if check and compiler != recorded("compiler"):
            print(f"only the source is compared: {compiler} is not {recorded('compiler')}")
            complete = False
        else:
            files |= images(texts, compiler)
    elif check:
        print(f"only the source is compared: there is no {CLANG} with ld.lld-19")
    else:
        print(f"{CLANG} and ld.lld-19 are needed (Debian: clang-19 lld-19)", file=sys.stderr)
        return 1
    failed = False
    if check and not complete and recorded("source") != source_digest(texts):
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
