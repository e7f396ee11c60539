"""NumPy as producer and consumer."""

import gc
import subprocess
import sys

import pytest

import dlx

numpy = pytest.importorskip("numpy", reason="is the library under test here")

# Before 2.1, numpy.from_dlpack has no keywords and asks for legacy capsules only.
versioned = pytest.mark.skipif(
    tuple(map(int, numpy.__version__.split(".")[:2])) < (2, 1),
    reason=f"NumPy {numpy.__version__} imports legacy capsules only (2.1 is the first that does more)",
)

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "float32", "float64", "complex64", "complex128"]  # fmt: skip


def _layouts():
    base = numpy.arange(24).reshape(2, 3, 4)
    yield "compact", base
    yield "fortran", numpy.asfortranarray(base)
    yield "transposed", base.T
    yield "sliced", base[:, ::2, 1:]
    yield "reversed", base[::-1, :, ::-1]
    yield "broadcast", numpy.broadcast_to(base[0, 0], (3, 4))
    yield "scalar", numpy.array(7)
    yield "empty", base[:, :0]
    yield "unit axes", base.reshape(1, 2, 1, 12)


LAYOUTS = list(_layouts())


@pytest.mark.parametrize(("name", "array"), LAYOUTS)
def test_every_layout_goes_there_and_back_without_a_copy(name, array):
    tensor = dlx.from_dlpack(array)

    assert tensor.shape == array.shape
    assert tensor.tolist() == array.tolist()
    assert tensor.readonly == (not array.flags.writeable)
    for back in (numpy.asarray(tensor), tensor.numpy(), numpy.asarray(memoryview(tensor))):
        assert type(back) is numpy.ndarray
        assert back.dtype == array.dtype
        assert back.flags.writeable == array.flags.writeable
        assert numpy.array_equal(back, array)
        if array.size:
            assert back.ctypes.data == array.ctypes.data
            assert all(a == b for a, b, n in zip(back.strides, array.strides, array.shape) if n > 1)


FIRST = """
import dlx, numpy
broadcast = numpy.broadcast_arrays(numpy.zeros(1), numpy.zeros(3))[0]  # writeable, with a warning
tensor = dlx.asarray(broadcast)
print(tensor.readonly, memoryview(broadcast).readonly)
print(dlx.asarray(numpy.zeros(2, "i4,i2")["f0"]).tolist())  # which `__dlpack__` refuses
"""


def test_arrays_that_will_be_read_only_are_so_already():
    """As NumPy's own buffers say. In an interpreter that sees such an array first, too, by which it
    finds out whether it can read the others."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout, done.stderr) == ("True True\n[0, 0]\n", "")


@versioned
@pytest.mark.parametrize(("name", "array"), LAYOUTS)
def test_numpy_imports_tensors_by_dlpack(name, array):
    tensor = dlx.from_dlpack(array)
    back = numpy.from_dlpack(tensor)

    assert numpy.array_equal(back, array)
    if array.size and name != "reversed":  # a marked copy, by policy
        assert back.ctypes.data == array.ctypes.data
    elif array.size:
        assert back.ctypes.data != array.ctypes.data
        shared = numpy.from_dlpack(tensor, copy=False)
        assert shared.ctypes.data == array.ctypes.data
    assert numpy.from_dlpack(tensor, copy=True).ctypes.data != array.ctypes.data


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_keeps_values_and_identity(name):
    array = numpy.array([[0, 1, 1], [1, 0, 1]], dtype=name)
    tensor = dlx.asarray(array)

    assert tensor.dtype is array.dtype or tensor.dtype == array.dtype
    assert tensor.numpy().dtype == array.dtype
    assert tensor.tolist() == array.tolist()
    assert numpy.from_dlpack(tensor).dtype == array.dtype


@pytest.mark.parametrize(
    "name",
    ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint2", "float6_e2m3fn", "float4_e2m1fn"],
)
def test_dtypes_of_ml_dtypes(name):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="adds these dtypes to NumPy")
    array = numpy.array([[0, 1], [1, 0]]).astype(getattr(ml_dtypes, name))
    tensor = dlx.asarray(array)

    assert str(tensor.dtype) == name
    assert tensor.tolist() == array.astype("f8").tolist()
    back = tensor.numpy()
    assert back.dtype == array.dtype
    assert back.ctypes.data == array.ctypes.data
    assert dlx.dtype(array.dtype) == dlx.dtype(getattr(ml_dtypes, name)) == name
    assert numpy.dtype(dlx.dtype(name)) == array.dtype
    assert tensor.dtype.type is array.dtype.type  # whose name jaxtyping reads
    assert not hasattr(dlx.dtype("float32x4"), "type")


def test_packed_dtypes_have_no_numpy_form():
    with pytest.raises(BufferError, match=r"dlx\.asarray\(x, dtype='int8'\)"):
        dlx.empty(3, dtype="int4").numpy()
    with pytest.raises(BufferError, match="uint8"):
        dlx.empty(3, dtype="float32x4").numpy()


def test_array_interface_tells_address_strides_and_readonly():
    tensor = dlx.asarray(numpy.arange(6, dtype="f4").reshape(2, 3)[:, ::-1]).as_readonly()
    interface = tensor.__array_interface__

    assert interface["data"] == (tensor.data_ptr, True)
    assert interface["strides"] == (12, -4)
    compact = dlx.asarray([[1, 2], [3, 4]])
    assert compact.__array_interface__["strides"] is None  # NumPy's way, which Pillow insists on
    assert compact[:, :1].__array_interface__["strides"] == (16, 8)
    assert interface["typestr"] in ("<f4", ">f4")
    assert not hasattr(dlx.empty(3, dtype="bfloat16"), "__array_interface__")


class Showing:
    """A Tensor with one of its protocols and no other, so that NumPy has to take that."""

    def __new__(cls, tensor, protocol):
        if protocol == "buffer":  # classes of Python have one from 3.12 on only
            return memoryview(tensor)
        shown = property(lambda self: getattr(self.tensor, protocol))
        return object.__new__(type("Showing", (cls,), {protocol: shown}))

    def __init__(self, tensor, protocol):
        self.tensor = tensor


@pytest.mark.parametrize("protocol", ["buffer", "__array_interface__", "__array__"])
@pytest.mark.parametrize(("name", "array"), LAYOUTS)
def test_numpy_by_each_of_its_protocols_while_the_others_are_hidden(protocol, name, array):
    tensor = dlx.asarray(array)
    shown = Showing(tensor, protocol)
    if protocol != "buffer":
        others = {"__array_interface__", "__array__", "__array_struct__", "__dlpack__"} - {protocol}
        assert not any(hasattr(shown, other) for other in others)
        with pytest.raises(TypeError):
            memoryview(shown)
    result = numpy.asarray(shown)

    assert type(result) is numpy.ndarray
    assert (result.dtype, result.shape) == (array.dtype, array.shape)
    assert result.tolist() == array.tolist()
    assert result.flags.writeable == (not tensor.readonly)
    if array.size:
        assert result.ctypes.data == tensor.data_ptr


@pytest.mark.parametrize("protocol", ["buffer", "__array_interface__", "__array__"])
def test_memory_lives_as_long_as_what_numpy_made_of_one_protocol(protocol):
    released = []
    source = numpy.arange(4.0)
    tensor = dlx.from_pointer(
        source.ctypes.data, 4, "float64", owner=source, on_release=lambda: released.append(1)
    )
    result = numpy.asarray(Showing(tensor, protocol))
    del tensor
    result[1] = 7
    assert source.tolist() == [0, 7, 2, 3]
    assert released == []
    del result
    gc.collect()
    assert released == [1]


def test_array_method_obeys_dtype_and_copy():
    tensor = dlx.asarray([1.0, 2.0])

    assert numpy.asarray(tensor, dtype="f8").ctypes.data == tensor.data_ptr
    assert numpy.asarray(tensor, dtype="f4").tolist() == [1, 2]
    assert numpy.array(tensor, copy=True).ctypes.data != tensor.data_ptr
    assert tensor.__array__(copy=False).ctypes.data == tensor.data_ptr
    assert tensor.__array__("f4").dtype == "f4"
    assert tensor.__array__(copy=True).ctypes.data != tensor.data_ptr
    with pytest.raises(ValueError, match="copy=False"):
        tensor.__array__("f4", copy=False)


def test_arrays_made_of_a_tensor_keep_the_memory():
    calls = []
    source = numpy.arange(4.0)
    tensor = dlx.from_pointer(
        source.ctypes.data, 4, "float64", owner=source, on_release=lambda: calls.append(1)
    )
    arrays = [numpy.asarray(tensor), numpy.from_dlpack(tensor), tensor.numpy()[1:]]
    del tensor

    while arrays:
        assert calls == []
        arrays.pop()
    assert calls == [1]


def test_read_only_arrays_stay_read_only():
    array = numpy.arange(3)
    array.flags.writeable = False
    tensor = dlx.from_dlpack(array)

    assert tensor.readonly
    assert not tensor.numpy().flags.writeable
    assert not numpy.asarray(tensor).flags.writeable


@versioned
def test_read_only_tensors_reach_numpy_read_only_by_dlpack():
    assert not numpy.from_dlpack(dlx.asarray(b"abc")).flags.writeable


def test_read_only_tensors_are_refused_in_legacy_capsules():
    class Legacy:
        """What NumPy before 2.1 sees."""

        def __init__(self, inner):
            self.inner = inner

        def __dlpack_device__(self):
            return self.inner.__dlpack_device__()

        def __dlpack__(self, **keywords):
            return self.inner.__dlpack__()

    with pytest.raises(BufferError, match="read-only"):
        numpy.from_dlpack(Legacy(dlx.asarray(b"abc")))


def test_strides_that_are_no_whole_elements_are_copied_or_refused():
    packed = numpy.zeros(3, dtype=[("a", "u1"), ("b", "<f4")])
    packed["b"] = [1, 2, 3]
    field = packed["b"]

    assert dlx.asarray(field).tolist() == [1, 2, 3]
    with pytest.raises(dlx.CopyRefusedError, match="strides"):
        dlx.asarray(field, copy=False)


def most_axes():
    """How many axes this NumPy's arrays may have: 32 before NumPy 2, 64 since."""
    axes = 1
    try:
        while numpy.empty((1,) * (axes + 1)).ndim > axes:
            axes += 1
    except ValueError:
        return axes


def test_many_axes():
    most = most_axes()
    array = numpy.arange(4).reshape((1,) * (most - 2) + (2, 2))
    tensor = dlx.from_dlpack(array)

    assert tensor.ndim == most
    assert numpy.asarray(tensor).shape == array.shape
    with pytest.raises((ValueError, RuntimeError)):  # the first from NumPy 2 on
        numpy.asarray(tensor.expand_dims(0))
    wide = tensor.reshape((1,) * 63 + (2, 2))
    assert wide.ndim == 65  # Python's buffers have 64 at most
    with pytest.raises((BufferError, ValueError)):
        memoryview(wide)


def test_memory_maps_of_files(tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(range(16)))
    mapped = numpy.memmap(path, dtype="u1", mode="r")

    tensor = dlx.asarray(mapped)

    assert tensor.readonly
    assert tensor.data_ptr == mapped.ctypes.data
    assert tensor[5].item() == 5


def test_numpy_functions_take_tensors():
    tensor = dlx.asarray([[1.0, 2.0], [3.0, 4.0]])

    assert numpy.sum(numpy.asarray(tensor)) == 10
    assert numpy.concatenate([tensor, tensor]).shape == (4, 2)
    assert numpy.mean(tensor, axis=0).tolist() == [2, 3]


def _layouts():
    block = dlx.asarray(bytearray(range(240)))

    def view(dtype, shape, strides=None, offset=0, readonly=False):
        return dlx.from_pointer(
            block.data_ptr + offset, shape, dtype, strides=strides, owner=block, readonly=readonly
        )

    for dtype in numpy.dtype("?"), *map(numpy.dtype, "bhilBHILefdFD"):
        yield view(dtype, (2, 3))
    yield view("float64", ())
    yield view("float64", (), readonly=True)
    yield view("float64", (2, 3), offset=1)  # not aligned
    yield view("int16", (2, 3), (-3, 1), offset=6)
    yield view("int16", (3, 2), (1, 3))
    yield view("int16", (4, 4), (1, 1), readonly=True)
    yield view("int16", (2, 5), (0, 1), readonly=True)
    yield view("float32", (1, 3, 1), (2**61, 1, -(2**62)))
    yield view("float32", (0, 3), (7, 2))
    yield dlx.empty((0, 3))
    yield dlx.empty((3, 0, 2), dtype="int8")
    yield view("uint8", (1,) * 32)
    if numpy.lib.NumpyVersion(numpy.__version__) >= "2.0.0":  # others have 32 axes at most
        yield view("uint8", (1,) * 33)
    yield block.as_readonly()


def test_numpy_and_the_buffer_protocol_give_the_same_array():
    dlx.empty(1).numpy()  # whoever is first is told of NumPy's functions
    for tensor in _layouts():
        array, expected = tensor.numpy(), numpy.asarray(tensor)
        assert type(array) is numpy.ndarray
        for name in ("shape", "strides", "dtype", "itemsize", "nbytes"):
            assert getattr(array, name) == getattr(expected, name), (tensor, name)
        assert array.dtype.char == expected.dtype.char
        for name in ("c_contiguous", "f_contiguous", "aligned", "writeable", "owndata"):
            assert array.flags[name.upper()] == expected.flags[name.upper()], (tensor, name)
        if tensor.size:
            assert array.ctypes.data == tensor.data_ptr
            assert array.tobytes() == tensor.tobytes()
        with pytest.raises(ValueError, match=r"WRITEABLE|writeable"):
            tensor.as_readonly().numpy().flags.writeable = True


def test_arrays_keep_their_tensor():
    tensor = dlx.asarray([1.0, 2.0, 3.0])
    dlx.empty(1).numpy()
    part = tensor.numpy()[1:]
    pointer = tensor.data_ptr
    del tensor
    gc.collect()
    assert part.tolist() == [2, 3]
    assert part.base.base.data_ptr == pointer
    assert dlx.asarray(part).data_ptr == part.ctypes.data


def test_without_numpy_s_c_api():
    script = """
import sys, numpy
core = sys.modules.get("numpy._core._multiarray_umath") or sys.modules["numpy.core._multiarray_umath"]
core._ARRAY_API = LOST
import dlx
tensor = dlx.asarray([[1.0, 2.0]])
for _ in range(2):
    array = tensor.numpy()
    assert type(array.base) is memoryview and array.tolist() == [[1, 2]]
assert dlx.convert(tensor, "numpy").ctypes.data == tensor.data_ptr
"""
    for lost in ("None", "3"):
        done = subprocess.run(
            [sys.executable, "-c", script.replace("LOST", lost)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
