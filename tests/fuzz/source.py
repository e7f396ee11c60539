"""Decisions from a fuzzer's bytes, with the methods of random.Random that tests use."""

from __future__ import annotations

import gc
import itertools
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Source:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        # Behind the last byte. Zeros would never end a loop that goes on with a probability.
        self._rest = random.Random(len(data))

    def bytes(self, count: int) -> bytes:
        self._at += count
        return self._data[self._at - count : self._at]

    def rest(self) -> bytes:
        return self.bytes(len(self._data))

    def randrange(self, start: int, stop: int | None = None) -> int:
        low, high = (0, start) if stop is None else (start, stop)
        size = ((high - low - 1).bit_length() + 7) // 8
        if self._at + size > len(self._data):
            return self._rest.randrange(low, high)
        return low + int.from_bytes(self.bytes(size), "little") % (high - low)

    def random(self) -> float:
        return self.randrange(256) / 256

    def choice(self, items: Sequence[T]) -> T:
        return items[self.randrange(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        left = list(items)
        return [left.pop(self.randrange(len(left))) for _ in range(count)]


_inputs = itertools.count()


def settle() -> None:
    """Called before each input. What lives now lives on, as modules do: the collector need not look at it
    again, which would take most of the time."""
    number = next(_inputs)
    if number in (0, 20, 200) or number % 1000 == 0:
        gc.collect()
        gc.freeze()
