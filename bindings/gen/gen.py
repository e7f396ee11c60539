"""Writes the Python and Cython declarations of dlx's C headers, and the bits of the classify hook.

    python bindings/gen/gen.py           writes the files anew
    python bindings/gen/gen.py --check   fails, with a diff, if they are not what the headers say

Needs a C compiler (the CC of the environment, else cc), pycparser and cffi; the result depends on
none of them.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

import emit_bits
import emit_cffi
import emit_ctypes
import emit_pxd
import emit_raw
from parse import read_headers

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "bindings/python/dlx/"
EMITTERS = {
    PACKAGE + "_lib/generated_ctypes.py": emit_ctypes.emit,
    PACKAGE + "_lib/generated_cffi.py": emit_cffi.emit,
    PACKAGE + "_raw/generated.py": emit_raw.emit,
    PACKAGE + "_take/generated_bits.py": emit_bits.emit,
    "include/dlx/dlx.pxd": emit_pxd.emit,
}


def stale(path: Path, text: str) -> list[str]:
    """The difference between a file and what it should be, as lines; empty if there is none."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = (old.splitlines(), text.splitlines())
    return list(difflib.unified_diff(*lines, f"{path.name} (committed)", "generated", lineterm=""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, fail if stale")
    check = parser.parse_args().check
    model = read_headers()
    failed = False
    for name, emit in EMITTERS.items():
        path, text = ROOT / name, emit(model)
        difference = stale(path, text)
        if not check:
            path.write_text(text, encoding="utf-8")
            print(f"{name}: {'written' if difference else 'unchanged'}")
        elif difference:
            failed = True
            print("\n".join(difference))
    if failed:
        print("stale: run python bindings/gen/gen.py", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
