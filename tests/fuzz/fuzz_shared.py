"""What arrives from elsewhere: shared segments, frames of pickles, messages between processes, whole pickles
of Tensors. A Tensor lies inside its memory, or the error is dlx's (tests/python/test_share_descriptions.py)."""

from __future__ import annotations

import test_share_descriptions as descriptions
from source import Source, settle

LINES = True
WAYS = (
    lambda source: descriptions.attach_segment(descriptions.any_segment(source)),
    lambda source: descriptions.attach_segment(descriptions.segment_of(source.rest())),
    descriptions.rebuild_frame,
    descriptions.rebuild_message,
)


def run(data: bytes) -> None:
    settle()
    source = Source(data)
    source.choice(WAYS)(source)
