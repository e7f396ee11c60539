"""Says for which system and processor a library file is: the loaders do not, and call it missing.

Read only after the library could not be loaded.
"""

from __future__ import annotations

import sys

# By the numbers in the file's head.
_ELF = {3: "x86", 21: "ppc64", 22: "s390x", 40: "arm", 62: "x86-64", 183: "aarch64", 243: "riscv",
        258: "loongarch"}  # fmt: skip
_MACH_O = {0x01000007: "x86-64", 0x0100000C: "aarch64"}
_PE = {0x014C: "x86", 0x8664: "x86-64", 0xAA64: "aarch64"}


def explain(files: list[str], said: str, remedy: str) -> str:
    """Why none of the files could be loaded, as lines to append to `said`, the words of the loader.

    Args:
        remedy: what to do then.
    """
    lines, here = [], built_for(sys.executable)
    for file in files:
        there = built_for(file)
        if there and here and there != here:
            lines.append(f"{file} is for {there}, but this Python is for {here}")
    if "version `GLIBC_" in said:
        lines.append("the library was built for a newer C library (glibc) than this system has")
    return "".join(f"\n{line}: {remedy}" for line in lines)


def built_for(file: str) -> str | None:
    """Such as "Linux on aarch64"; None if the file cannot be read or is of an unknown kind."""
    try:
        with open(file, "rb") as opened:
            head = opened.read(4096)
    except OSError:
        return None
    if head[:4] == b"\x7fELF" and len(head) > 20:
        system, number, names = "Linux", _number(head, 18, 2, head[5] == 2), _ELF
    elif head[:4] == b"\xcf\xfa\xed\xfe":
        system, number, names = "macOS", _number(head, 4, 4), _MACH_O
    elif head[:2] == b"MZ":
        system, number, names = "Windows", _number(head, _number(head, 60, 4) + 4, 2), _PE
    else:
        return None
    return f"{system} on {names.get(number, f'processor {number}')}"


def _number(head: bytes, offset: int, size: int, big: bool = False) -> int:
    return int.from_bytes(head[offset : offset + size], "big" if big else "little")
