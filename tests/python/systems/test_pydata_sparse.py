"""PyData Sparse: the whole is refused, its parts are shared."""

from __future__ import annotations

import re

import arrays
import numpy
import pytest

import dlx

sparse = arrays.require("sparse")


def dense():
    return numpy.array([[0, 1, 0], [2, 0, 3]], dtype="float64")


@pytest.mark.parametrize("kind", ["COO", "GCXS", "DOK"])
def test_every_format_is_refused_with_the_way_out(kind):
    array = getattr(sparse, kind)(dense())

    for take in (dlx.asarray, lambda x: dlx.convert(x, "numpy")):
        with pytest.raises(dlx.UnsupportedError, match=r"`\.todense\(\)`"):
            take(array)
    assert dlx.asarray(array.todense()).tolist() == dense().tolist()


@pytest.mark.parametrize(
    ("kind", "parts"), [("COO", ["data", "coords"]), ("GCXS", ["data", "indices", "indptr"])]
)
def test_the_parts_that_the_message_names_are_shared(kind, parts):
    array = getattr(sparse, kind)(dense())
    with pytest.raises(dlx.UnsupportedError) as caught:
        dlx.asarray(array)
    assert re.findall(r"`\.(\w+)`", str(caught.value)) == parts
    for part in parts:
        value = getattr(array, part)
        assert dlx.asarray(value).data_ptr == value.ctypes.data


def test_a_dictionary_of_keys_names_the_format_that_has_parts():
    array = sparse.DOK(dense())
    with pytest.raises(dlx.UnsupportedError, match=r"\(`\.to_coo\(\)` has them\)"):
        dlx.asarray(array)
    assert sorted(dlx.asarray(array.to_coo().data).tolist()) == [1, 2, 3]


@pytest.mark.parametrize("name", ["int8", "int64", "float32", "float64", "complex128", "bool"])
def test_arrays_are_made_of_tensors(name):
    coords = dlx.asarray(numpy.array([[0, 1], [1, 0]]))
    data = dlx.asarray(numpy.array([1, 1], dtype=name))
    array = sparse.COO(coords.numpy(), data.numpy(), shape=(2, 2))

    assert dlx.asarray(array.todense()).tolist() == [[0, 1], [1, 0]]
    assert array.dtype == name


def test_lifetimes():
    values = dlx.asarray(sparse.COO(arrays.aligned(3, 4)).data)

    assert values.tolist() == list(range(1, 12))


class Derived(sparse.COO):
    pass


def test_a_derived_class_is_refused_with_the_way_out():
    with pytest.raises(dlx.UnsupportedError, match=r"`\.todense\(\)`"):
        dlx.asarray(Derived(dense()))
