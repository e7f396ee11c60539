"""Runs a harness without libFuzzer: `python replay.py fuzz_x`, on its corpus; `… FILE`, on a finding."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

CORPORA = Path(__file__).parent


def main(name: str, *files: str) -> None:
    run = importlib.import_module(name).run
    inputs = [Path(file).read_bytes() for file in files]
    if not files:
        lines = (CORPORA / f"{name}.corpus").read_text().splitlines()
        inputs = [bytes.fromhex(line) for line in lines]
    for data in inputs:
        try:
            run(data)
        except BaseException:
            print(f"input: {data.hex()}", file=sys.stderr)
            raise
    print(f"{len(inputs)} input(s) of {name} run")


if __name__ == "__main__":
    main(*sys.argv[1:])
