"""Structured arrays: fields that are one more axis, and the calls for all others."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import warnings
import weakref

import pytest

import dlx

numpy = pytest.importorskip("numpy", reason="makes the arrays of these tests")
from numpy.lib.recfunctions import structured_to_unstructured  # noqa: E402

XYZ = [("x", "f4"), ("y", "f4"), ("z", "f4")]


def padded(offsets, formats, itemsize):
    names = [f"f{i}" for i in range(len(offsets))]
    return {"names": names, "formats": formats, "offsets": offsets, "itemsize": itemsize}


def filled(dtype, *shape):
    """A structured array with another number in each element."""
    array = numpy.zeros(shape, dtype)
    values = structured_to_unstructured(array)
    numbers = numpy.arange(values.size).reshape(values.shape)
    array = numpy.lib.recfunctions.unstructured_to_structured(
        numbers.astype(values.dtype), array.dtype
    )
    assert array.dtype == numpy.dtype(dtype)
    return array


REGULAR = {
    "points": XYZ,
    "one field": [("x", "i2")],
    "padded at the end": padded([0, 4, 8], ["f4"] * 3, 32),
    "PointCloud2 without its colour": padded([16, 20, 24], ["f4"] * 3, 48),
    "every other": padded([0, 8], ["f4"] * 2, 16),
    "nested": [("p", XYZ), ("q", XYZ)],
    "subarrays": [("position", "f8", (3,)), ("normal", "f8", (3,))],
    "a subarray and a number": [("position", "f4", (3,)), ("intensity", "f4")],
    "a matrix": [("m", "u1", (2, 3))],
    "an array of points": [("p", XYZ, (2,)), ("q", XYZ)],
    "titles": [(("horizontal", "x"), "f4"), (("vertical", "y"), "f4")],
}


@pytest.mark.parametrize("name", REGULAR)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (), (0,)])
def test_fields_of_one_dtype_are_one_more_axis(name, shape):
    source = filled(REGULAR[name], *shape)
    tensor = dlx.asarray(source, copy=False)

    assert tensor.tolist() == structured_to_unstructured(source).tolist()
    assert tensor.shape == structured_to_unstructured(source).shape
    if not source.size:
        return
    first = source
    while first.dtype.names:
        first = first[first.dtype.names[0]]
    assert tensor.data_ptr == first.ctypes.data
    tensor[...] = 7
    assert (structured_to_unstructured(source) == 7).all()
    source[...] = 0
    assert not tensor.numpy().any()


def test_strides_of_the_array_stay():
    source = filled(XYZ, 6)
    tensor = dlx.asarray(source[::-2])

    assert tensor.data_ptr == source.ctypes.data + 5 * 12
    assert tensor.strides == (-6, 1)
    assert tensor.tolist() == structured_to_unstructured(source[::-2]).tolist()
    assert dlx.asarray(source.view(numpy.recarray)).data_ptr == source.ctypes.data


def test_copies():
    source = filled(XYZ, 4)
    copy = dlx.asarray(source, copy=True)
    assert copy.data_ptr != source.ctypes.data
    assert copy.tolist() == structured_to_unstructured(source).tolist()
    assert dlx.asarray(source, dtype="float64").tolist() == copy.tolist()

    uneven = filled(padded([0, 4], ["f4"] * 2, 10), 3)  # a step of two and a half elements
    assert dlx.asarray(uneven).tolist() == structured_to_unstructured(uneven).tolist()
    with pytest.raises(dlx.CopyRefusedError, match="not whole elements"):
        dlx.asarray(uneven, copy=False)
    with pytest.raises(dlx.CopyRefusedError, match="converting float32 to float64"):
        dlx.asarray(source, dtype="float64", copy=False)


def test_they_are_sources_and_destinations_of_copies():
    source, destination = filled(XYZ, 4), numpy.zeros(4, XYZ)
    dlx.copyto(destination, source)
    assert destination.tolist() == source.tolist()
    tensor = dlx.empty((4, 3))
    tensor[...] = source
    assert tensor.tolist() == structured_to_unstructured(source).tolist()
    dlx.copyto(destination, tensor[::-1])
    assert destination.tolist() == source[::-1].tolist()
    for bad, error in ((numpy.zeros(4, ">f4"), dlx.CopyRefusedError),
                       (numpy.zeros(4, [("x", ">f4")]), dlx.CopyRefusedError),
                       (numpy.zeros(4, "f4,i4"), dlx.UnsupportedError)):  # fmt: skip
        with pytest.raises(error):
            dlx.copyto(bad, 1)
        assert bad.tobytes() == bytes(bad.nbytes)


def test_read_only_stays_so():
    source = filled(XYZ, 2)
    source.flags.writeable = False
    tensor = dlx.asarray(source)
    assert tensor.readonly
    with pytest.raises(dlx.ReadOnlyError):
        tensor[0, 0] = 1


def test_the_other_byte_order_is_a_copy():
    source = filled([("x", ">i4"), ("y", ">i4")], 3)
    assert dlx.asarray(source).tolist() == structured_to_unstructured(source).tolist()
    with pytest.raises(dlx.CopyRefusedError, match="needs a copy"):
        dlx.asarray(source, copy=False)


def test_an_element():
    source = filled(XYZ, 3)
    element = dlx.asarray(source[1])

    assert element.tolist() == [3, 4, 5]
    assert element.data_ptr == source.ctypes.data + 12
    assert element.readonly  # as the buffer of a numpy.void is


def test_memory_lives_as_long_as_the_view():
    source = filled(XYZ, 1000).copy()  # with memory of its own
    expected = structured_to_unstructured(source).tolist()
    tensor = dlx.asarray(source)
    count = sys.getrefcount(source)
    del tensor
    assert sys.getrefcount(source) == count - 1
    tensor = dlx.asarray(source)
    del source
    assert tensor.tolist() == expected


@pytest.mark.parametrize("library", ["torch", "tvm_ffi", "pyarrow"])
def test_they_convert(library):
    pytest.importorskip(library, reason="the library that they are handed to")
    source = filled(XYZ, 4)
    result = dlx.asarray(dlx.convert(source, library))

    assert result.data_ptr == source.ctypes.data
    assert result.tolist() == structured_to_unstructured(source).tolist()


# ---- ctypes -------------------------------------------------------------------------------------


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float), ("z", ctypes.c_float)]


class Line(ctypes.Structure):
    _fields_ = [("start", Point), ("end", Point)]


class Matrix(ctypes.Structure):
    _fields_ = [("m", ctypes.c_double * 3 * 2)]


class Big(ctypes.BigEndianStructure):
    _fields_ = [("x", ctypes.c_int16), ("y", ctypes.c_int16)]


class Bits(ctypes.Structure):
    _fields_ = [("low", ctypes.c_int, 3), ("high", ctypes.c_int)]


class Mixed(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int), ("value", ctypes.c_double)]


class Either(ctypes.Union):
    _fields_ = [("count", ctypes.c_int), ("value", ctypes.c_float)]


def test_structures_of_ctypes():
    point = Point(1, 2, 3)
    tensor = dlx.asarray(point)
    assert tensor.tolist() == [1, 2, 3]
    assert tensor.data_ptr == ctypes.addressof(point)
    tensor[1] = 5
    assert point.y == 5
    point.z = 7
    assert tensor.tolist() == [1, 5, 7]

    points = (Point * 2 * 4)()
    points[3][1].y = 8
    tensor = dlx.asarray(points)
    assert tensor.shape == (4, 2, 3)
    assert tensor[3, 1, 1] == 8
    tensor[0, 0, 2] = 9
    assert points[0][0].z == 9
    assert dlx.asarray(memoryview(points)).data_ptr == ctypes.addressof(points)

    assert dlx.asarray(Line(point, point)).tolist() == [1, 5, 7, 1, 5, 7]
    assert dlx.asarray(Matrix()).shape == (6,)
    assert dlx.asarray(Big(1, 2)).tolist() == [1, 2]
    assert dlx.asarray(memoryview(point).toreadonly()).readonly
    assert not dlx.asarray(memoryview(point)).readonly


def test_a_reversed_view_of_structures_is_not_taken_for_the_array():
    points = (Point * 3)(*[Point(i, i, i) for i in range(3)])
    with pytest.raises(dlx.UnsupportedError):
        dlx.asarray(memoryview(points)[::-1])


def test_memory_behind_an_array_interface_lives_as_long_as_the_view():
    class Owner:
        def __init__(self):
            self.array = filled(XYZ, 1000).copy()

        @property
        def __array_interface__(self):
            return self.array.__array_interface__

    owner = Owner()
    alive = weakref.ref(owner)
    expected = structured_to_unstructured(owner.array).tolist()
    tensor = dlx.asarray(owner)
    del owner
    assert alive() is not None
    assert tensor.tolist() == expected
    del tensor
    assert alive() is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("take", [lambda x: x, memoryview])
def test_structures_of_ctypes_that_are_no_axis(take):
    for bad in (Bits(-1, 5), Either(), (Bits * 2)()):
        with pytest.raises(dlx.UnsupportedError):
            dlx.asarray(take(bad))
    x = take(Mixed(1, 2.5))
    with pytest.raises(dlx.UnsupportedError) as caught:
        dlx.asarray(x)
    assert dlx.asarray(called_by(caught.value, x)).tolist() == [1, 2.5]


def test_structures_of_ctypes_import_numpy():
    code = (
        "import ctypes, dlx\n"
        "class P(ctypes.Structure): _fields_ = [('x', ctypes.c_int), ('y', ctypes.c_int)]\n"
        "assert dlx.asarray(P(1, 2)).tolist() == [1, 2]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    without = code.replace(
        "import ctypes", "import sys; sys.modules['numpy'] = None; import ctypes"
    )
    done = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True)
    assert "UnavailableError: the fields of a __main__.P need NumPy" in done.stderr


def called_by(error, x):
    """What the call makes of `x` that the error names."""
    call, found, module = str(error).partition("or copy all by ")[2].partition(", after ")
    assert found
    assert module == "`import numpy.lib.recfunctions`"  # done above
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # before CPython 3.12, ctypes' formats lack the padding
        return eval(call.strip("`"), {"numpy": numpy, "x": x})


# ---- what is no axis ----------------------------------------------------------------------------

IRREGULAR = {
    "two dtypes": [("x", "f4"), ("n", "i4")],
    "uneven": padded([0, 4, 12], ["f4"] * 3, 16),
    "not in order": padded([4, 0], ["f4"] * 2, 8),
    "overlapping": padded([0, 0], ["f4"] * 2, 4),
    "half an element apart": padded([0, 6], ["f4"] * 2, 12),
    "nested, with gaps": [("p", padded([0, 4], ["f4"] * 2, 12)), ("q", "f4")],
    "a number, then a dense pair": padded([0, 8], ["f4", ("f4", (2,))], 16),
    "an empty subarray": [("x", "f4", (0,)), ("y", "f4")],
    "two byte orders": [("x", "<f4"), ("y", ">f4")],
}


@pytest.mark.parametrize("name", IRREGULAR)
def test_others_are_refused_with_a_call_that_works(name):
    source = numpy.zeros(3, IRREGULAR[name])
    for x in (source, source[0]):
        for take in (dlx.asarray, dlx.from_dlpack):
            if take is dlx.from_dlpack and x is not source:
                continue
            with pytest.raises(dlx.UnsupportedError) as caught:
                take(x)
            assert "numpy.lib.recfunctions.structured_to_unstructured(x)" in str(caught.value)
            made = called_by(caught.value, x)
            assert dlx.asarray(made).tolist() == structured_to_unstructured(x).tolist()


def test_others_in_a_buffer_name_the_array_first():
    memory = memoryview(numpy.zeros(3, IRREGULAR["two dtypes"]))
    with pytest.raises(dlx.UnsupportedError) as caught:
        dlx.asarray(memory)
    made = dlx.asarray(called_by(caught.value, memory))
    assert made.tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("dtype", [[("x", "f4"), ("name", "S3")], [("x", "O"), ("y", "O")]])
def test_fields_without_numbers_are_taken_one_by_one(dtype):
    with pytest.raises(dlx.UnsupportedError, match=r"take one field, `.*x\)?\['") as caught:
        dlx.asarray(numpy.zeros(3, dtype))
    assert "structured_to_unstructured" not in str(caught.value)


def test_masks_are_not_dropped():
    masked = numpy.ma.array(filled(XYZ, 2), mask=[(True, False, False)] * 2)
    with pytest.raises(dlx.UnsupportedError, match="lose its mask"):
        dlx.asarray(masked)
    with pytest.raises(dlx.UnsupportedError, match="masked"):
        dlx.asarray(structured_to_unstructured(masked))
