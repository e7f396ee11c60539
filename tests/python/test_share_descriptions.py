"""Random descriptions of shared segments, frames of pickles and messages between processes: a Tensor that
lies inside its memory, or an error of dlx. DLX_TEST_SEED repeats a run, which prints its seed."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import time

import pytest

import dlx
from dlx import _pickling
from dlx._share import segments, sharing

SEED = int(os.environ.get("DLX_TEST_SEED", time.time_ns() % 2**32))
ROUNDS = 1500
NUMBERS = [
    -1,
    0,
    1,
    2,
    3,
    7,
    8,
    16,
    64,
    128,
    2**31 - 1,
    2**31,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63),
]
ODD = [None, True, 1.5, "", "8", [], {}, [1], float("inf")]


@pytest.fixture
def chance():
    print(f"DLX_TEST_SEED={SEED}")
    return random.Random(SEED)


def any_number(chance, usual):
    drawn = chance.random()
    return usual if drawn < 0.6 else chance.choice(NUMBERS if drawn < 0.95 else ODD)


def any_description(chance):
    """Like that of a float64 Tensor of shape (3, 4); any part may differ."""
    described = {
        "dtype": [any_number(chance, usual) for usual in (2, 64, 1)],
        "flags": any_number(chance, 0),
        "shape": [any_number(chance, usual) for usual in (3, 4)],
    }
    if chance.random() < 0.1:
        del described[chance.choice(list(described))]
    if chance.random() < 0.1:
        described[chance.choice(["dtype", "shape", "more"])] = chance.choice(ODD + NUMBERS)
    return described


def any_text(chance):
    text = bytearray(json.dumps(any_description(chance)).encode())
    while chance.random() < 0.3:
        text[chance.randrange(len(text))] = chance.randrange(256)
    return bytes(text)


def check_inside(tensor, size):
    """The Tensor's elements, read, are inside `size` bytes."""
    assert tensor.nbytes <= size
    if max(tensor.shape, default=0) < 200:  # not 2^62 lists of no elements
        with contextlib.suppress(dlx.Error):  # a dtype that has no Python values
            tensor.tolist()


def segment_of(text, length=None):
    """A file that ends in a description, and says that it has that length."""
    tail = (len(text) if length is None else length) % 2**64
    return bytes(128) + text + tail.to_bytes(8, "little") + b"dlxshare"


def any_segment(chance):
    text = any_text(chance)
    length = any_number(chance, len(text))
    return segment_of(text, length if type(length) is int else 0)


def attach_segment(content):
    """1 if the segment was taken. So are the results of the other two."""
    descriptor = os.memfd_create("sender", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, content)
        with contextlib.suppress(dlx.Error):
            check_inside(dlx.attach(descriptor, trust=True), 128)
            return 1
    finally:
        os.close(descriptor)
    return 0


def rebuild_frame(chance):
    shape = tuple(any_number(chance, usual) for usual in (3, 4))
    code = tuple(any_number(chance, usual) for usual in (2, 64, 1))
    block = bytearray(chance.choice([0, 1, 95, 96, 97]))
    with contextlib.suppress(dlx.Error, TypeError, OverflowError, ValueError):
        check_inside(_pickling.rebuild(block, shape, code, any_number(chance, 0)), len(block))
        return 1
    return 0


class Handle:
    def __init__(self, descriptor):
        self.descriptor = descriptor

    def detach(self):
        return os.dup(self.descriptor)


@functools.lru_cache(None)
def shared_tensor():
    return dlx.share(dlx.asarray([[1.0] * 4] * 3))


def rebuild_message(chance):
    shared = shared_tensor()
    capacity = segments.find(shared.data_ptr).capacity
    shape = tuple(any_number(chance, usual) for usual in (3, 4))
    strides = tuple(any_number(chance, usual) for usual in (4, 1))
    code = tuple(any_number(chance, usual) for usual in (2, 64, 1))
    place = any_number(chance, capacity), any_number(chance, 0), shape, strides
    with contextlib.suppress(dlx.Error, TypeError, OverflowError, ValueError):
        handle = Handle(dlx.shared_fd(shared))
        check_inside(sharing._rebuild(handle, *place, code, 0), 2**63)
        return 1
    return 0


def some_are_taken(chance, way):
    taken = sum(way(chance) for _ in range(ROUNDS))
    assert 0 < taken < ROUNDS


def test_descriptions_of_segments(chance):
    if not hasattr(os, "memfd_create"):
        pytest.skip("this Python lacks memfd_create")
    before = len(os.listdir("/proc/self/fd"))
    some_are_taken(chance, lambda chance: attach_segment(any_segment(chance)))
    assert len(os.listdir("/proc/self/fd")) == before


def test_frames_of_pickles(chance):
    some_are_taken(chance, rebuild_frame)


def test_messages_between_processes(chance):
    some_are_taken(chance, rebuild_message)
