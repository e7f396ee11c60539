"""`tensor[key] = number`: what fits is stored as NumPy stores it, what does not is refused."""

from __future__ import annotations

import math

import pytest

import dlx

numpy = pytest.importorskip("numpy")

DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split()
EDGES = [0, 1, -1, True, False, 2**24, 2**24 + 1, 1.5, -2.25, 1e300, math.inf, -math.inf]
EDGES += [sign * 2**bits + delta for bits in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)
          for delta in (-1, 0, 1)]  # fmt: skip


def represents(dtype, value):
    """Whether storing loses nothing but float precision."""
    if dtype.kind in "bf":  # every number has a truth value
        return True
    if isinstance(value, float):
        return False
    info = numpy.iinfo(dtype)
    return info.min <= value <= info.max


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("value", EDGES)
def test_a_number_is_stored_or_refused(name, value):
    array = numpy.zeros(3, name)
    tensor = dlx.asarray(array)

    if represents(array.dtype, value):
        tensor[1] = value
        with numpy.errstate(over="ignore"):
            expected = numpy.array([value]).astype(name)[0]
        assert array[1] == expected
        assert array[0] == array[2] == 0
    else:
        with pytest.raises((ValueError, TypeError, OverflowError)):
            tensor[1] = value
        assert not array.any()


def test_nan_is_stored_and_refused_by_integers():
    array = numpy.zeros(2, "f4")
    dlx.asarray(array)[0] = math.nan
    assert numpy.isnan(array[0])
    with pytest.raises(ValueError, match=r"."):
        dlx.asarray(numpy.zeros(2, "i4"))[0] = math.nan


def test_a_number_fills_a_slice():
    array = numpy.zeros((3, 4))
    dlx.asarray(array)[:, ::2] = 7
    assert array.tolist() == [[7, 0, 7, 0]] * 3
