"""nanobind's arrays for the referee: what an extension returns, and a function that takes arrays.

The extension is the file that DLX_NANOBIND_TEST names, or is compiled here.
"""

from __future__ import annotations

import importlib.util
import os

import nanobind_extension
import numpy


def _load():
    path = os.environ.get("DLX_NANOBIND_TEST")
    if path is None:
        return nanobind_extension.load()
    spec = importlib.util.spec_from_file_location("dlx_nanobind_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_extension = _load()
for _name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_",
              "float16", "float32", "float64", "complex64", "complex128"):  # fmt: skip
    globals()[_name] = getattr(numpy, _name)


def asarray(values, dtype=None):
    return _extension.wrap(numpy.array(values, dtype))


def zeros(shape, dtype=None):
    return _extension.wrap(numpy.zeros(shape, dtype))


def from_dlpack(x, /, *, device=None, copy=None):
    """An argument of nanobind has no options, and is writable unless it says otherwise."""
    if device is not None or copy:
        raise BufferError("arguments of nanobind are taken as they are")
    try:
        return _extension.wrap(x)
    except TypeError:
        return _extension.wrap_read_only(x)
