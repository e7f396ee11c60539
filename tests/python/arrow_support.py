"""What the tests of Arrow share: PyArrow, and objects with one Arrow method each."""

import pytest

import dlx

pyarrow = pytest.importorskip("pyarrow", reason="is the library under test here")

NAMES = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip


def address(array):
    """Where the values of an array begin, its offset aside."""
    return array.buffers()[-1].address


def counted(values, dtype="float64"):
    """A Tensor, and a list that gets an entry when its memory is given back."""
    calls = []
    inner = dlx.asarray(values, dtype=dtype)
    tensor = dlx.from_pointer(
        inner.data_ptr, inner.shape, dtype, owner=inner, on_release=lambda: calls.append(1)
    )
    return tensor, calls


class OnlyArray:
    """Somebody else's object with one Arrow method."""

    def __init__(self, source):
        self.source = source

    def __arrow_c_array__(self, requested_schema=None):
        return self.source.__arrow_c_array__(requested_schema)


class OnlyDeviceArray:
    def __init__(self, source):
        self.source = source

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        return self.source.__arrow_c_device_array__(requested_schema, **kwargs)


class OnlyStream:
    def __init__(self, source):
        self.source = source

    def __arrow_c_stream__(self, requested_schema=None):
        return self.source.__arrow_c_stream__(requested_schema)


IMPORTS = [lambda array: array, OnlyArray, OnlyDeviceArray]
