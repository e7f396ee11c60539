"""Compiles the strided-copy kernels, a family at a time, ahead of time and writes what the library embeds.

    python src/gpu/make_images.py           writes src/gpu/images_*.inc anew
    python src/gpu/make_images.py --check   fails if they are not what the source compiles to

Needs clang-19 and lld-19. Without them --check compares only the source text: an image whose
source has changed is stale.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
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


# What src/gpu/lzma.cc unpacks. The size of the dictionary is that of the longest bundle, at least.
LZMA = {
    "id": lzma.FILTER_LZMA1,
    "preset": 9 | lzma.PRESET_EXTREME,
    "lc": 3,
    "lp": 0,
    "pb": 2,
    "nice_len": 273,
    "dict_size": 1 << 20,
}


def bundle(name: str, images: list[bytes]) -> str:
    """A C array: the number of images, the size of each, the packed size, and all packed as one."""
    packed = lzma.compress(b"".join(images), lzma.FORMAT_RAW, filters=[LZMA])
    head = ", ".join(str(number) for number in [len(images), *map(len, images), len(packed)])
    return f"constexpr uint64_t {name}[] = {{{head},\n{as_words(packed)}}};\n"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def source_digest(texts: dict[str, str]) -> str:
    return digest("".join(texts.values()).encode())


Images = dict[tuple[str, str], bytes]  # by target and family


def include_file(
    name: str, texts: dict[str, str], images: Images, bundles: list[list[bytes]], **more: str
) -> str:
    """What was packed, and of what, in comments; the bundles; a table of them."""
    lines = {"source": source_digest(texts), **more}
    lines |= {f"image {target} {family}": digest(code) for (target, family), code in images.items()}
    parts = [f"// Kernels as {name}, by ./dev kernels: do not edit.\n"]
    parts += [f"// {key}: {value}\n" for key, value in lines.items()]
    names = [f"k_{name}_{number}" for number in range(len(bundles))]
    parts += [bundle(each, images) for each, images in zip(names, bundles)]
    return "".join(parts) + f"constexpr const uint64_t* k_{name}[] = {{{', '.join(names)}}};\n"


def comments(text: str) -> list[str]:
    """What --check compares: versions of the packer may pack the same image otherwise."""
    return [line for line in text.splitlines() if line.startswith("//")]


def images(texts: dict[str, str], compiler: str) -> dict[str, str]:
    """A bundle for each family: PTX; the code objects of all architectures, which have much in common."""
    ptx: Images = {}
    objects: Images = {}
    for family, text in texts.items():
        ptx["ptx", family] = shorter(compile_to(PTX, text))
        for architecture in ARCHITECTURES:
            code = compile_to([*AMDGCN, f"-mcpu={architecture}"], text)
            objects[architecture, family] = code
    of_families = [[objects[each, family] for each in ARCHITECTURES] for family in texts]
    names = ", ".join(f'"{each}"' for each in ARCHITECTURES)
    return {
        "images_ptx.inc": include_file(
            "ptx", texts, ptx, [[code] for code in ptx.values()], compiler=compiler
        ),
        "images_amdgcn.inc": include_file("amdgcn", texts, objects, of_families, compiler=compiler)
        + f"constexpr const char* k_architectures[] = {{{names}}};\n",
    }


def sources(texts: dict[str, str]) -> str:
    """One bundle."""
    codes: Images = {("source", name): text.encode() + b"\0" for name, text in texts.items()}
    return include_file("source", texts, codes, [[*codes.values()]])


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
        elif comments(old) != comments(content):
            print(f"stale: {name}: run ./dev kernels", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
