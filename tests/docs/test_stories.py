"""Pages whose blocks continue each other: each block runs, and prints the text block that follows it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from packaging_support import ROOT, STORIES

BLOCK = re.compile(
    r"^```python\n(?P<source>.*?)^```\n(?:\n^```text\n(?P<said>.*?)^```)?", re.M | re.S
)


@pytest.mark.parametrize("page", STORIES)
def test_each_block_prints_what_follows_it(page, tmp_path):
    blocks = [match.groupdict() for match in BLOCK.finditer((ROOT / page).read_text())]
    assert blocks
    if any('"torch"' in block["source"] for block in blocks):
        pytest.importorskip("torch")
    program = "\n".join(f"{block['source']}\nprint('--end--', flush=True)" for block in blocks)
    (tmp_path / "story.py").write_text(program)

    done = subprocess.run(
        [sys.executable, "story.py"], cwd=tmp_path, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.split("--end--\n")
    assert said.pop() == ""
    for block, text in zip(blocks, said):
        promised = block["said"] or "".join(
            line + "\n" for line in re.findall(r"# prints: (.*)$", block["source"], re.M)
        )
        assert re.sub(r"\s+", " ", text) == re.sub(r"\s+", " ", promised), block["source"]
