"""Writes the declarations of dlx's C headers for each language, a description of the ABI in JSON, and
the bits of the classify hook.

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
import emit_java
import emit_json
import emit_node
import emit_pxd
import emit_raw
import emit_rust
import emit_text
from parse import read_headers

ROOT = Path(__file__).resolve().parents[2]
EMITTERS = {
    "bindings/abi.json": emit_json.emit,
    "bindings/csharp/src/Raw.cs": emit_text.emit_csharp,
    "bindings/java/src/main/java/dlx/Raw.java": emit_java.emit,
    "bindings/lua/dlx/generated.lua": emit_text.emit_lua,
    "bindings/node/src/generated.h": emit_node.emit,
    "bindings/node/lib/generated.js": emit_node.emit_constants,
    "bindings/ruby/lib/dlx/generated.rb": emit_text.emit_ruby,
    "bindings/rust/dlx-sys/src/generated.rs": emit_rust.emit,
    "bindings/python/dlx/_lib/generated_ctypes.py": emit_ctypes.emit,
    "bindings/python/dlx/_lib/generated_cffi.py": emit_cffi.emit,
    "bindings/python/dlx/_raw/generated.py": emit_raw.emit,
    "bindings/python/dlx/_take/generated_bits.py": emit_bits.emit,
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
            path.parent.mkdir(parents=True, exist_ok=True)
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
