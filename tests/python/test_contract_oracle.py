"""What a contract takes and refuses, beside a plain reading of its grammar: random parameters, random arrays.

The rules are those of include/dlx/call.h. DLX_TEST_SEED repeats a run.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import numpy as np

import dlx
from calls import library

SEED = int(os.environ.get("DLX_TEST_SEED", random.randrange(2**32)))
DTYPES = ("uint8", "int16", "float32", "float64", "complex64", "complex128")
REFUSALS = (dlx.Error,)
MEMORY = np.zeros(4096, np.uint8)
MIDDLE = 2048  # MEMORY's own address is a multiple of 16


@dataclass
class Parameter:
    dtypes: tuple[str, ...]
    extents: tuple[object, ...]  # "...", "_", a name, a number
    writable: bool
    layout: str
    unaligned: bool

    def __str__(self) -> str:
        words = [self.layout, *(["writable"] * self.writable), *(["unaligned"] * self.unaligned)]
        return f"{'|'.join(self.dtypes) or 'any'}[{', '.join(map(str, self.extents))}] {' '.join(words)}"

    def takes(self, array: np.ndarray, names: dict[object, int]) -> bool:
        open_end = self.extents[:1] == ("...",)
        extents = self.extents[1:] if open_end else self.extents
        if self.dtypes and array.dtype.name not in self.dtypes:
            return False
        if array.ndim < len(extents) or (array.ndim > len(extents) and not open_end):
            return False
        for extent, wanted in zip(array.shape[array.ndim - len(extents) :], extents, strict=True):
            known = wanted if isinstance(wanted, int) else names.setdefault(wanted, extent)
            if wanted != "_" and extent != known:
                return False
        if self.writable and not array.flags.writeable:
            return False
        return array.size == 0 or self.takes_memory(array)

    def takes_memory(self, array: np.ndarray) -> bool:
        parts = 2 if array.dtype.kind == "c" else 1
        if not self.unaligned and array.ctypes.data % (array.itemsize // parts):
            return False
        if self.writable and np.unique(offsets(array)).size < array.size:
            return False
        return self.layout == "strided" or bool(array.flags[f"{self.layout}_CONTIGUOUS"])


def offsets(array: np.ndarray) -> np.ndarray:
    """Where each element is, in bytes from the first one."""
    steps = np.array(array.strides, np.intp).reshape(-1, *[1] * array.ndim)
    return (np.indices(array.shape) * steps).sum(axis=0)


def some_parameter(chosen: random.Random) -> Parameter:
    extents = [
        chosen.choice((0, 1, 2, 3, "_", "n", "n", "m", "m")) for _ in range(chosen.randrange(4))
    ]
    return Parameter(
        dtypes=tuple(chosen.sample(DTYPES, chosen.choice((0, 1, 1, 2)))),
        extents=(*(["..."] * (chosen.randrange(4) == 0)), *extents),
        writable=chosen.randrange(2) == 0,
        layout=chosen.choice(("C", "C", "F", "strided")),
        unaligned=chosen.randrange(4) == 0,
    )


def some_array(chosen: random.Random, like: Parameter) -> np.ndarray:
    """Often one that the parameter takes, but for a detail."""
    wanted = [extent for extent in like.extents if extent != "..."]
    shape = [e if isinstance(e, int) else chosen.choice((0, 1, 2, 2, 3)) for e in wanted]
    if chosen.randrange(6) == 0 or like.extents[:1] == ("...",):
        shape.insert(0, chosen.randrange(3))
    if shape and chosen.randrange(6) == 0:
        shape[chosen.randrange(len(shape))] = chosen.randrange(4)
    dtype = np.dtype(chosen.choice(like.dtypes if like.dtypes and chosen.randrange(6) else DTYPES))
    strides = list(np.zeros(shape, dtype, order=chosen.choice("CCF")).strides)
    for axis in range(len(shape)):
        if chosen.randrange(12) == 0:
            strides[axis] = dtype.itemsize * chosen.choice((0, 0, 2, -1))
    offset = MIDDLE + chosen.choice((0, 0, 0, 1, 2, 4, 8))
    array = np.ndarray(shape, dtype, MEMORY, offset, strides)
    array.flags.writeable = chosen.randrange(5) > 0
    return array


def test_random_arrays_meet_random_contracts():
    chosen = random.Random(SEED)
    taken = refused = 0
    for _ in range(300):
        first, second = some_parameter(chosen), some_parameter(chosen)
        function = dlx.function(library().take_two, f"two(a: {first}, b: {second}) -> int")
        for _ in range(40):
            a, b = some_array(chosen, first), some_array(chosen, second)
            names: dict[object, int] = {}
            expected = first.takes(a, names) and second.takes(b, names)
            try:
                assert function(a, b) == a.ndim * 10 + b.ndim
                got = True
            except REFUSALS:
                got = False
            shown = [
                (x.dtype, x.shape, x.strides, x.ctypes.data % 16, x.flags.writeable) for x in (a, b)
            ]
            assert got == expected, f"seed {SEED}: a: {first}, b: {second}, {shown}"
            taken, refused = taken + got, refused + (not got)
    assert taken > 500
    assert refused > 500
