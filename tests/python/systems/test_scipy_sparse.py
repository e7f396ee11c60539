"""scipy.sparse: no single block of memory, so the whole is refused; its parts are shared."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

sparse = arrays.require("scipy.sparse")

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


def dense():
    return numpy.array([[0, 1, 0], [2, 0, 3]], dtype="float64")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_format_is_refused_with_the_way_out(form, kind):
    matrix = getattr(sparse, f"{form}_{kind}")(dense())

    for take in (dlx.asarray, dlx.from_dlpack, lambda x: dlx.convert(x, "numpy")):
        with pytest.raises((dlx.UnsupportedError, TypeError)) as caught:
            take(matrix)
        if take is not dlx.from_dlpack:
            assert "`.toarray()`" in str(caught.value)
    assert dlx.asarray(matrix.toarray()).tolist() == dense().tolist()


@pytest.mark.parametrize(
    ("form", "parts"),
    [
        ("csr", ["data", "indices", "indptr"]),
        ("csc", ["data", "indices", "indptr"]),
        ("bsr", ["data", "indices", "indptr"]),
        ("coo", ["data", "row", "col"]),
        ("dia", ["data", "offsets"]),
    ],
)
def test_the_parts_that_the_message_names_are_shared(form, parts):
    matrix = getattr(sparse, f"{form}_array")(dense())
    with pytest.raises(dlx.UnsupportedError) as caught:
        dlx.asarray(matrix)
    for part in parts:
        assert f"`.{part}`" in str(caught.value)
        array = getattr(matrix, part)
        assert dlx.asarray(array).data_ptr == array.ctypes.data


def test_parts_go_to_another_library_and_back():
    torch = pytest.importorskip("torch", reason="takes the parts")
    matrix = sparse.csr_array(dense())
    parts = [dlx.convert(x, "torch") for x in (matrix.indptr, matrix.indices, matrix.data)]
    other = torch.sparse_csr_tensor(*parts, size=(2, 3))

    assert other.to_dense().tolist() == dense().tolist()
    back = [dlx.convert(x, "numpy") for x in (other.values(), other.col_indices())]
    assert back[0].tolist() == [1, 2, 3]
    assert back[1].tolist() == [1, 0, 2]
    made = sparse.csr_array((back[0], back[1], matrix.indptr), shape=(2, 3))
    assert made.toarray().tolist() == dense().tolist()


@pytest.mark.parametrize("name", ["int8", "int64", "uint16", "float32", "float64", "complex128"])
def test_matrices_are_made_of_tensors(name):
    source = dlx.asarray(numpy.array([[0, 1], [2, 0]], dtype=name))
    matrix = sparse.csr_array(source.numpy())

    assert matrix.toarray().tolist() == source.tolist()
    assert matrix.dtype == name


def test_writes_to_a_part_are_seen():
    matrix = sparse.csr_array(dense())
    values = dlx.asarray(matrix.data)
    values[0] = 10.0

    assert matrix.toarray()[0, 1] == 10


def test_lifetimes():
    matrix = sparse.csr_array(numpy.asarray(arrays.aligned(3, 4)))
    values = dlx.asarray(matrix.data)
    del matrix
    assert values.tolist() == list(range(1, 12))
