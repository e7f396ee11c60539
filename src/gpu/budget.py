"""Counts the instructions, registers and memory of the CUDA kernels, by ptxas and nvdisasm.

    python src/gpu/budget.py PTXAS NVDISASM           writes src/gpu/budget.txt
    python src/gpu/budget.py PTXAS NVDISASM --check   fails if that table is another one

The table lists what is beyond the budget. The instructions counted are those of the path that a work item
takes whose tile or chunk is whole: among the paths through the kernel, one that moves the most bytes of
global memory, and of those the shortest.
"""

from __future__ import annotations

import argparse
import functools
import lzma
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from make_images import FAMILIES, LZMA

GPU = Path(__file__).resolve().parent
ARCHITECTURE = "sm_90"
MOST_REGISTERS = 48
MOST_INSTRUCTIONS = 24  # of a warp, for 128 bytes read and written

# Bytes that a work item writes, and how often the inner loop of the path runs. Kernels whose loops run as
# often as a layout says are not here.
WRITES = {
    "turn_1": (48, 2),
    "turn_1_even": (64, 1),
    "turn_1_narrow": (32, 1),
    "turn_1_table": (48, 2),
    "turn_2": (24, 1),
    "turn_2_even": (32, 1),
    "turn_2_table": (24, 1),
    "turn_4": (64, 1),
    "turn_4_even": (64, 1),
    "turn_4_table": (64, 1),
    "turn_8": (32, 1),
    "turn_8_even": (32, 1),
    "turn_8_table": (32, 1),
    "turn_16": (32, 1),
    "turn_16_even": (16, 1),
    "turn_16_table": (32, 1),
    "planes_3": (12, 1),
    "planes_4": (16, 1),
    "pixels_3": (12, 1),
    "pixels_4": (16, 1),
    "rows": (32, 1),
    "rows_16": (32, 1),
    "pattern_1_every2": (16, 1),
    "pattern_1_every3": (16, 1),
    "pattern_1_every4": (16, 1),
    "pattern_1_back": (16, 1),
    "pattern_2_every2": (16, 1),
    "pattern_2_every3": (16, 1),
    "pattern_2_back": (16, 1),
    "pattern_3_back": (12, 1),
    "pattern_3_of4": (12, 1),
    "pattern_3_turned": (12, 1),
    "elements_1": (16, 1),
    "elements_2": (16, 1),
    "elements_4": (16, 1),
    "elements_8": (16, 1),
}

# What these kernels cannot be without, for 128 bytes, and why: to find a work item's tile or chunk takes 55 to
# 60 instructions, and an address of 64 bits two.
BOUNDS = {
    "turn_1": (
        23.7,
        "rows begin at any byte, so a word takes two loads and a shift on both sides, and 16 words are "
        "loaded and stored for 12 that a work item keeps",
    ),
    "turn_2": (27.3, "as turn_1, and a work item has 6 words to share the search for its tile"),
    "turn_1_table": (46.0, "as turn_1, and each row's address and alignment come from a table"),
    "turn_2_table": (51.3, "as turn_1_table, for 6 words"),
    "elements_1": (28.5, "16 loads of a byte with addresses of their own, and 12 permutes"),
    "pattern_3_of4": (24.3, "5 loads, 4 shifts, 3 permutes and 3 stores for 3 words"),
}


def unpacked(family: str) -> str:
    """The PTX of a family from images_ptx.inc: one image, its size, its packed size, the packed bytes."""
    text = (GPU / "images_ptx.inc").read_text(encoding="utf-8")
    body = re.search(rf"k_ptx_{FAMILIES.index(family)}\[\] = \{{(.*?)\}};", text, flags=re.S)
    assert body is not None
    _, _, size, *words = (int(word, 0) for word in re.findall(r"\w+", body[1]))
    packed = b"".join(word.to_bytes(8, "little") for word in words)[:size]
    return lzma.decompress(packed, lzma.FORMAT_RAW, filters=[LZMA]).rstrip(b"\0").decode()


@dataclass
class Block:
    label: str
    instructions: int = 0
    accesses: int = 0  # of global memory, without a guard, in bytes
    guarded: dict[str, int] = field(default_factory=dict)  # bytes by their guard
    after: list[tuple[str, str]] = field(
        default_factory=list
    )  # blocks, and the guard that leads there


def blocks_of(sass: list[str]) -> list[Block]:
    """The basic blocks of a function, in order."""
    targets = set(re.findall(r"`\((\.L\w+)\)", "\n".join(sass)))
    blocks = [Block("")]
    for line in sass:
        if label := re.match(r"\s*(\.L\w+):", line):
            if label[1] in targets:
                blocks[-1].after.append((label[1], ""))
                blocks.append(Block(label[1]))
            continue
        found = re.match(r"\s*/\*\w+\*/\s+(@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)(.*?);", line)
        if not found:
            continue
        guard, name, rest = (found[1] or "").strip(" @"), found[2], found[3]
        block = blocks[-1]
        if name == "NOP":
            continue
        block.instructions += 1
        if name.startswith(("LDG", "STG")):
            width = re.search(r"\.[US]?(8|16|64|128)\b", name)
            size = int(width[1]) // 8 if width else 4
            if guard:
                block.guarded[guard] = block.guarded.get(guard, 0) + size
            else:
                block.accesses += size
        if name.startswith(("BRA", "EXIT", "RET")):
            target = re.search(r"`\((\.L\w+)\)", rest)
            ends = not guard and "P" not in rest.split("`")[0]
            fresh = Block(f"after {len(blocks)}")
            block.after.append((target[1] if target else "", guard))
            if not ends:
                block.after.append(
                    (fresh.label, guard[1:] if guard.startswith("!") else f"!{guard}")
                )
            blocks.append(fresh)
    # A block that ends in no jump goes on in the next one, whose label was added above; one that jumps
    # away has a fresh block behind it, which nothing reaches.
    return blocks


def path(sass: list[str], repeats: int) -> int:
    """Instructions of the path of a whole tile; blocks of loops count `repeats` times."""
    blocks = blocks_of(sass)
    number = {block.label: k for k, block in enumerate(blocks)}
    number[""] = len(blocks)  # the end
    loops: set[int] = set()
    for k, block in enumerate(blocks):
        for label, _ in block.after:
            if number[label] <= k and blocks[number[label]].instructions and number[label] != k:
                loops.update(range(number[label], k + 1))
            elif number[label] == k and block.accesses + block.instructions > 1:
                loops.add(k)

    def guarded(block: Block, true: str) -> int:
        """Most bytes that guards let through, of which one is true."""
        guards = {guard.strip("!") for guard in block.guarded} - {true.strip("!")}
        either = (max(block.guarded.get(name, 0) for name in (g, f"!{g}")) for g in guards)
        return block.guarded.get(true, 0) + sum(either)

    @functools.cache
    def best(k: int) -> tuple[int, int]:
        if k == len(blocks):
            return 0, 0
        block = blocks[k]
        times = repeats if k in loops else 1
        onward = []
        for label, guard in block.after:
            if number[label] > k:
                accesses, instructions = best(number[label])
                onward.append((accesses + guarded(block, guard) * times, instructions))
        accesses, instructions = max(onward, default=(0, 0))
        return accesses + block.accesses * times, instructions - block.instructions * times

    sys.setrecursionlimit(10000)
    return -best(0)[1]


def measure(ptxas: str, nvdisasm: str) -> tuple[list[str], list[str]]:
    """The lines of the table, and what is beyond the budget."""
    lines, beyond = [], []
    for family in FAMILIES:
        with tempfile.TemporaryDirectory() as folder:
            source, code = Path(folder) / "k.ptx", Path(folder) / "k.cubin"
            source.write_text(unpacked(family), encoding="utf-8")
            log = subprocess.run(
                [ptxas, f"-arch={ARCHITECTURE}", "-v", "-o", code, source],
                check=True, capture_output=True, text=True,
            ).stderr  # fmt: skip
            sass = subprocess.run(
                [nvdisasm, code], check=True, capture_output=True, text=True
            ).stdout
        functions: dict[str, list[str]] = {}
        name = ""
        for line in sass.splitlines():
            if start := re.match(r"\s*\.text\.(\w+):", line):
                name = start[1]
            elif name:
                functions.setdefault(name, []).append(line)
        for entry in re.finditer(
            r"entry function '(\w+)'.*?(?=entry function|\Z)", log, flags=re.S
        ):
            kernel, text = entry[1].removeprefix("dlx_"), entry[0]
            registers = int(re.search(r"Used (\d+) registers", text)[1])
            stack = int(re.search(r"(\d+) bytes stack frame", text)[1])
            spills = sum(int(n) for n in re.findall(r"(\d+) bytes spill", text))
            local = re.search(r"(\d+) bytes smem", text)
            written, repeats = WRITES.get(kernel, (0, 1))
            cost = path(functions[entry[1]], repeats) / (written / 4) if written else 0
            lines.append(
                f"{kernel:18s} {registers:9d} {stack + spills:5d} {int(local[1]) if local else 0:6d} "
                + (f"{cost:8.1f}" if written else "       –")
            )
            if registers > MOST_REGISTERS:
                beyond.append(f"{kernel}: {registers} registers, at most {MOST_REGISTERS}")
            if stack + spills:
                beyond.append(f"{kernel}: {stack + spills} bytes of stack and spills")
            if cost > MOST_INSTRUCTIONS:
                least, why = BOUNDS.get(kernel, (0, ""))
                beyond.append(
                    f"{kernel}: {cost:.1f} instructions, at most {MOST_INSTRUCTIONS}"
                    + (f"; at least {least:.1f}: {why}" if why else "")
                )
    return sorted(lines), beyond


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ptxas")
    parser.add_argument("nvdisasm")
    parser.add_argument("--check", action="store_true", help="change nothing, fail if stale")
    options = parser.parse_args()
    version = subprocess.run(
        [options.ptxas, "--version"], capture_output=True, text=True, check=True
    )
    release = re.search(r"V[\d.]+", version.stdout)
    lines, beyond = measure(options.ptxas, options.nvdisasm)
    text = "\n".join(
        [
            f"The kernels for {ARCHITECTURE}, by ./dev kernels --budget with ptxas "
            f"{release[0] if release else ''}: do not edit.",
            "Instructions are those of a warp for 128 bytes read and written, on the path of a whole tile",
            f"or chunk. Budget: {MOST_REGISTERS} registers, no stack, no spills, "
            f"{MOST_INSTRUCTIONS} instructions.",
            "",
            "kernel             registers stack shared instructions",
            *lines,
            "",
            "Beyond the budget:",
            *(sorted(beyond) or ["none"]),
            "",
        ]
    )  # fmt: skip
    print(text)
    table = GPU / "budget.txt"
    stale = not table.exists() or table.read_text(encoding="utf-8") != text
    if not options.check:
        table.write_text(text, encoding="utf-8")
    elif stale:
        print("stale: src/gpu/budget.txt: run ./dev kernels --budget", file=sys.stderr)
    return int(options.check and stale)


if __name__ == "__main__":
    sys.exit(main())
