"""`dlx.Tensor`: attributes, views, conversions, repr; indexing is in test_indexing.py."""

import copy
import itertools
import math
import operator

import pytest

import dlx
from dlpack_ctypes import DLTensor, Producer


def test_attributes_of_a_matrix():
    tensor = dlx.empty((2, 3), dtype="float32")

    assert (tensor.shape, tensor.strides, tensor.ndim) == ((2, 3), (3, 1), 2)
    assert (tensor.size, tensor.nbytes, tensor.itemsize) == (6, 24, 4)
    assert (str(tensor.dtype), tensor.device, tensor.readonly) == ("float32", "cpu", False)
    assert tensor.data_ptr % 64 == 0
    assert len(tensor) == 2


def test_the_description_is_a_dltensor():
    tensor = dlx.empty((2, 3, 4), dtype="int16")[:, ::-1]
    described = DLTensor.from_address(tensor.dltensor_ptr)

    assert described.data + described.byte_offset == tensor.data_ptr
    assert (described.device.device_type, described.device.device_id) == (1, 0)
    assert (described.dtype.code, described.dtype.bits, described.dtype.lanes) == (0, 16, 1)
    assert tuple(described.shape[: described.ndim]) == tensor.shape
    assert tuple(described.strides[: described.ndim]) == tensor.strides == (12, -4, 1)


def test_attributes_of_a_scalar():
    tensor = dlx.asarray(2.5)

    assert (tensor.shape, tensor.strides, tensor.ndim, tensor.size) == ((), (), 0, 1)
    with pytest.raises(TypeError):
        len(tensor)
    with pytest.raises(TypeError, match="0-d"):
        iter(tensor)


@pytest.mark.parametrize(
    "name", ["shape", "strides", "dtype", "device", "readonly", "data_ptr", "dltensor_ptr", "T"]
)
def test_attributes_cannot_be_set(name):
    with pytest.raises((AttributeError, TypeError)):
        setattr(dlx.empty(2), name, 1)


def test_new_attributes_cannot_be_added():
    with pytest.raises(AttributeError):
        dlx.empty(2).mine = 1


def test_views_share_and_copies_do_not():
    tensor = dlx.asarray([[1, 2, 3], [4, 5, 6]])
    for view in (
        tensor.T,
        tensor[:1],
        tensor.reshape((3, 2)),
        tensor.expand_dims(1),
        tensor.as_readonly(),
        tensor.view("float64"),
        tensor.contiguous(),
    ):
        assert view.data_ptr == tensor.data_ptr
    for fresh in (
        tensor.copy(),
        tensor.T.contiguous(),
        tensor.T.reshape(6),
        tensor.contiguous("F"),
    ):
        assert fresh.data_ptr != tensor.data_ptr
        assert not fresh.readonly


def test_writes_show_in_every_view():
    tensor = dlx.asarray([[1, 2, 3], [4, 5, 6]])
    turned = tensor.T

    tensor[0, 2] = 30
    turned[0, 1] = 40

    assert tensor.tolist() == [[1, 2, 30], [40, 5, 6]]


def test_shape_changes():
    tensor = dlx.asarray([[1, 2, 3], [4, 5, 6]])

    assert tensor.T.tolist() == tensor.mT.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert tensor.permute_dims((1, 0)).shape == (3, 2)
    assert tensor.reshape(-1).shape == tensor.reshape((-1,)).shape == (6,)
    assert tensor.reshape((3, -1)).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert tensor.expand_dims(0).expand_dims(-1).shape == (1, 2, 3, 1)
    assert tensor.expand_dims(0).squeeze().shape == tensor.expand_dims(0).squeeze(0).shape == (2, 3)
    assert tensor.broadcast_to((4, 2, 3)).strides == (0, 3, 1)
    assert tensor.view("int32").shape == (2, 6)


@pytest.mark.parametrize("library", ["dlx", "numpy", "torch"])
def test_arrays_of_integers_are_sequences_of_them(library):
    make = getattr(pytest.importorskip(library), "tensor" if library == "torch" else "asarray")
    tensor = dlx.asarray([[1, 2, 3], [4, 5, 6]])

    assert tensor.permute_dims(make([1, 0])).tolist() == tensor.T.tolist()
    assert tensor.reshape(make([3, 2])).shape == dlx.empty(make([3, 2])).shape == (3, 2)
    assert tensor.reshape(make(6)).shape == tensor.reshape(make([6])).shape == (6,)
    assert dlx.empty(make(3)).shape == dlx.empty(make([3])).shape == (3,)
    memory = bytearray(24)
    view = dlx.from_pointer(
        dlx.asarray(memory).data_ptr, make([2, 3]), "int32", strides=make([1, 2]), owner=memory
    )
    assert (view.shape, view.strides) == ((2, 3), (1, 2))
    for wrong in (make(1.5), make([1.5]), make([[1, 2]])):
        with pytest.raises(TypeError):
            dlx.empty(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: t.reshape((4, 2)),
        lambda t: t.reshape((-1, -1)),
        lambda t: t.permute_dims((0, 0)),
        lambda t: t.permute_dims((0,)),
        lambda t: t.squeeze(0),
        lambda t: t.expand_dims(4),
        lambda t: t.broadcast_to((2, 4)),
        lambda t: t.view("int24"),
        lambda t: t.contiguous("K"),
        lambda t: t.is_contiguous("A"),
    ],
)
def test_impossible_shape_changes_are_value_errors(wrong):
    with pytest.raises((ValueError, IndexError)) as caught:
        wrong(dlx.asarray([[1, 2, 3], [4, 5, 6]]))
    assert not isinstance(caught.value, BufferError)


@pytest.mark.parametrize("axis", [3, 2**31, -(2**40), 2**63 - 1, 2**70])
@pytest.mark.parametrize("method", ["expand_dims", "squeeze"])
def test_an_axis_beyond_the_last_is_one_error_however_large_it_is(method, axis):
    with pytest.raises(dlx.InvalidArgumentError, match="`axis` is out of range"):
        getattr(dlx.asarray([[1]]), method)(axis)


def test_reshape_that_needs_a_copy_obeys_copy():
    turned = dlx.asarray([[1, 2, 3], [4, 5, 6]]).T

    assert turned.reshape(6).tolist() == [1, 4, 2, 5, 3, 6]
    with pytest.raises(dlx.CopyRefusedError):
        turned.reshape(6, copy=False)
    assert turned.T.reshape(6, copy=True).data_ptr != turned.data_ptr


def test_contiguity():
    tensor = dlx.empty((2, 3))

    assert tensor.is_contiguous()
    assert tensor.is_contiguous("C")
    assert not tensor.is_contiguous("F")
    assert tensor.T.is_contiguous(order="F")
    assert not tensor.T.is_contiguous()
    assert tensor.contiguous("F").strides == (1, 2)


def test_read_only_is_inherited_and_refused():
    tensor = dlx.asarray([[1, 2], [3, 4]]).as_readonly()

    for view in (
        tensor,
        tensor.T,
        tensor[0],
        tensor.reshape(4),
        tensor.view("uint8"),
        tensor.contiguous(),
    ):
        assert view.readonly
        with pytest.raises(dlx.ReadOnlyError):
            view[...] = 0
        with pytest.raises(dlx.ReadOnlyError):
            dlx.copyto(view, view)
    assert not tensor.copy().readonly
    assert tensor.tolist() == [[1, 2], [3, 4]]


def test_copyto_broadcasts_and_handles_overlap():
    tensor = dlx.asarray(list(range(6)))

    dlx.copyto(tensor[1:], tensor[:-1])
    assert tensor.tolist() == [0, 0, 1, 2, 3, 4]
    dlx.copyto(tensor, tensor[::-1])
    assert tensor.tolist() == [4, 3, 2, 1, 0, 0]
    dlx.copyto(tensor, 7)
    assert tensor.tolist() == [7] * 6


def test_copyto_says_which_side_is_out_of_reach():
    here = dlx.empty(3, dtype="int8")
    there = dlx.from_pointer(4096, (3,), "int8", device="metal")
    with pytest.raises(dlx.UnsupportedError, match="`dst` is on metal"):
        dlx.copyto(there, here)
    with pytest.raises(dlx.UnsupportedError, match="`src` is on metal"):
        dlx.copyto(here, there)


def test_copyto_refuses_other_shapes_and_dtypes():
    tensor = dlx.asarray([1, 2, 3])
    for source in (dlx.asarray([1, 2]), dlx.asarray([1.0, 2.0, 3.0]), "abc"):
        with pytest.raises((ValueError, TypeError)):
            dlx.copyto(tensor, source)
    assert tensor.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([True, False], "bool"),
        ([-1, 2**31 - 1], "int32"),
        ([0, 2**64 - 1], "uint64"),
        ([1.5, -0.25], "float16"),
        ([1.5, float("inf")], "bfloat16"),
        ([1.5, -2.0], "float32"),
        ([1 + 2j, -3j], "complex64"),
        ([1 + 2j, -3j], "complex32"),
    ],
)
def test_tolist_item_and_iteration(values, dtype):
    tensor = dlx.asarray(values, dtype=dtype)

    assert str(tensor.dtype) == dtype
    assert tensor.tolist() == values
    assert [element.item() for element in tensor] == values
    assert all(type(got) is type(want) for got, want in zip(tensor.tolist(), values))


def test_tolist_of_strided_and_empty_tensors():
    tensor = dlx.asarray([[1, 2, 3], [4, 5, 6]])

    assert tensor[::-1, ::2].tolist() == [[6 - 2, 6], [1, 3]]
    for dtype in ("float32", "bfloat16"):  # by memoryview, and by dlx
        assert dlx.empty((2, 0, 3), dtype=dtype).tolist() == [[], []]
        assert dlx.empty((2, 3, 0), dtype=dtype).tolist() == [[[], [], []], [[], [], []]]
    assert dlx.empty((0, 2)).tolist() == []
    assert dlx.empty((2, 2, 0)).tolist() == [
        [[], []],
        [[], []],
    ]


def test_one_element_tensors_convert_to_python_numbers():
    assert (int(dlx.asarray([3.7])), float(dlx.asarray(3)), complex(dlx.asarray([[1j]]))) == (
        3,
        3.0,
        1j,
    )
    assert bool(dlx.asarray([0.0])) is False
    assert bool(dlx.asarray(True)) is True
    assert "abc"[dlx.asarray(1)] == "b"
    for convert in (bool, int, float, complex):
        with pytest.raises(ValueError, match="one element"):
            convert(dlx.asarray([1, 2]))
    for axes in ([1, 2], [1]):
        with pytest.raises(TypeError, match="without axes can be an index"):
            "abc"["0" and dlx.asarray(axes)]
    for axes, sequence in itertools.product((2, [2], [[2]]), ([1, 2], (1, 2), "ab", b"ab")):
        for multiply in (operator.mul, lambda a, b: operator.mul(b, a), operator.imul):
            with pytest.raises(TypeError, match="is not an operand of a Tensor"):
                multiply(sequence, dlx.asarray(axes))  # and no sequence of copies
    with pytest.raises(TypeError, match="integer"):
        "abc"["0" and dlx.asarray(1.0)]
    with pytest.raises(ValueError, match="2 elements"):
        dlx.asarray([1, 2]).item()


NUMBERS = {
    "bool": True,
    **{f"int{bits}": -(1 << (bits - 1)) for bits in (4, 8, 16, 32, 64)},
    **{f"uint{bits}": (1 << bits) - 1 for bits in (4, 8, 16, 32, 64)},
    **{f"float{bits}": -2.5 for bits in (16, 32, 64)},
    "bfloat16": -2.5,
    "complex64": -2.5 + 1j,
    "complex128": -2.5 + 1j,
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_is_the_same_number_by_each_method(name, shape):
    number = NUMBERS[name]
    compact = dlx.empty(shape, dtype=name)
    compact[...] = dlx.asarray([number], dtype=name)
    tensors = [compact]
    if compact.nbytes * 8 == compact.size * dlx.dtype(name).bits:
        unaligned = dlx.asarray(bytearray(compact.nbytes + 1))[1:].view(name).reshape(shape)
        unaligned[...] = number
        tensors.append(unaligned)
    for tensor in tensors:
        values = [tensor.item(), complex(tensor), bool(tensor)]
        if not name.startswith("complex"):
            values += [int(tensor), float(tensor)]
        expected = [number, complex(number), True, int(number.real), float(number.real)]
        assert values == expected[: len(values)]
        assert [type(v) for v in values] == [type(v) for v in expected[: len(values)]]
        if shape == () and "int" in name:
            assert operator.index(tensor) == number
        else:
            with pytest.raises(TypeError, match="can be an index"):
                operator.index(tensor)
        for convert in (int, float) if name.startswith("complex") else ():
            with pytest.raises(TypeError, match="complex"):
                convert(tensor)
        tensor[...] = False if name == "bool" else 0
        assert (tensor.item(), bool(tensor)) == (0, False)


def test_tobytes_is_in_c_order_and_packed():
    data = bytes(range(48))
    memory = dlx.asarray(bytearray(data))

    def view(name, shape, strides=None):
        return dlx.from_pointer(memory.data_ptr, shape, name, strides=strides, owner=memory)

    assert memory.tobytes() == bytes(memory) == data
    for one in ([3], 3):  # no length, which bytes() would take an integer for
        assert bytes(dlx.asarray(one, dtype="uint8")) == b"\3"
    assert bytearray(dlx.asarray([3], dtype="uint8")) == b"\3"
    assert view("uint16", (2, 3), (1, 2)).tobytes() == bytes([0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11])
    assert view("uint8", 3, -1)[:1].tobytes() == b"\0"
    for name, size in (("bfloat16", 10), ("complex64", 40), ("uint8x3", 15), ("uint4", 3)):
        assert view(name, 5).tobytes() == data[:size]
    packed = dlx.asarray(bytearray(b"\xff" * 36))
    for name, count, expected in (
        ("uint4", 1, b"\x0f"),
        ("uint2", 17, b"\xff" * 4 + b"\x03"),
        ("uint1", 25, b"\xff" * 3 + b"\x01"),
    ):  # without the neighbours in the last byte
        odd = dlx.from_pointer(packed.data_ptr, 72, name, owner=packed)[:count]
        assert odd.tobytes() == odd.copy().tobytes() == expected
    assert view("float128", ()).tobytes() == data[:16]
    assert dlx.empty((0, 3)).tobytes() == b""
    with pytest.raises(dlx.DeviceRefusedError, match="tobytes"):
        dlx.from_pointer(64, 3, "int8", device="cuda:0").tobytes()


def test_tobytes_of_much_in_other_orders():  # which runs without the GIL
    data = bytes(range(250)) * 1000
    rows = [data[i : i + 500] for i in range(0, len(data), 500)]
    tensor = dlx.asarray(bytearray(data)).reshape(500, 500)
    assert tensor.tobytes() == data
    assert tensor[::-1].tobytes() == b"".join(reversed(rows))
    assert tensor.T.tobytes() == b"".join(data[i::500] for i in range(500))
    assert tensor[:1].broadcast_to((300, 500)).tobytes() == rows[0] * 300


def test_copy_shares_and_deepcopy_copies():
    tensor = dlx.asarray([1, 2, 3])

    assert copy.copy(tensor) is tensor
    assert copy.deepcopy([tensor, tensor])[0].data_ptr != tensor.data_ptr
    assert copy.deepcopy(tensor).tolist() == [1, 2, 3]


def test_repr_shows_values_and_what_is_unusual():
    tensor = dlx.asarray([[1.0, 2.5], [3.0, 4.0]])

    assert repr(tensor) == (
        "Tensor([[1.0, 2.5],\n        [3.0, 4.0]],\n       shape=(2, 2), dtype=float64, device=cpu)"
    )
    assert str(tensor) == repr(tensor)
    assert "strides=(1, 2)" in repr(tensor.T)
    assert "strides" not in repr(tensor)
    assert "read-only" in repr(tensor.as_readonly())
    assert repr(dlx.asarray(3)) == "Tensor(3, shape=(), dtype=int64, device=cpu)"
    assert repr(dlx.empty((0, 2))) == "Tensor([], shape=(0, 2), dtype=float32, device=cpu)"


def test_repr_shortens_long_axes():
    text = repr(dlx.asarray(list(range(1000))))

    assert (
        text
        == "Tensor([  0,   1,   2, ..., 997, 998, 999], shape=(1000,), dtype=int64, device=cpu)"
    )
    assert "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]" in repr(dlx.asarray(list(range(10))))
    assert "..." not in repr(dlx.empty((10, 20), dtype="int8"))
    assert "..." in repr(dlx.empty((11, 20), dtype="int8"))
    assert len(repr(dlx.empty((30, 30, 30, 30), dtype="int8"))) < 4000
    assert "values>" in repr(dlx.empty((2,) * 12))


@pytest.mark.parametrize("device", [(2, 0), (4, 0), (12, 3), (8, 0)])
def test_repr_of_data_elsewhere_does_not_touch_it(device):
    text = repr(dlx.from_dlpack(Producer(device=device)))

    assert f"<values on {dlx.Device(device)}>" in text


@pytest.mark.parametrize(
    "name",
    [
        "float128",
        "opaque64",
        "bfloat16",
        "float4_e2m1fn",
        "int1",
        "uint3",
        "complex32",
        "bcomplex32",
        "float32x4",
        "int128",
    ],
)
def test_repr_of_odd_dtypes(name):
    text = repr(dlx.from_dlpack(Producer(shape=(4,), dtype=_code(name))))

    assert f"dtype={name}" in text
    assert "shape=(4,)" in text


def test_repr_of_packed_rows_that_begin_inside_a_byte():
    memory = bytearray(range(16, 24))
    tensor = dlx.asarray(memory).view("uint4").reshape((16,))[:15].reshape((3, 5))

    assert tensor.tolist()[1] == [1, 3, 1, 4, 1]
    assert repr(tensor).startswith("Tensor([[0, 1, 1, 1, 2],")


@pytest.mark.parametrize("shape", [(30, 5), (3, 45), (26, 3, 5), (5, 25, 3), (45,), (25, 2, 25)])
@pytest.mark.parametrize("dtype", ["uint4", "uint2", "uint1", "float6_e2m3fn"])
def test_repr_of_packed_rows_of_which_some_are_left_out(dtype, shape):
    size = math.prod(shape)
    tensor = dlx.asarray(bytearray(range(7, 256)) * 4).view(dtype)[:size].reshape(shape)
    plain = dlx.asarray(tensor.tolist())

    assert repr(tensor).split("shape")[0].split() == repr(plain).split("shape")[0].split()
    assert (
        tensor._repr_html_().partition("<table>")[2] == plain._repr_html_().partition("<table>")[2]
    )


@pytest.mark.parametrize("method", ["numpy", "tolist"])
@pytest.mark.parametrize(("name", "shape"), [("opaque64", (2,)), ("float128", ())])
def test_what_no_view_shows_is_read_as_bytes(name, shape, method):
    """Opaque handles are seen as no other dtype, one element of no axes as none of another size."""
    pytest.importorskip("numpy")
    tensor = dlx.empty(shape, dtype=name)

    with pytest.raises(
        dlx.UnsupportedError,
        match=rf"{name}.* read its bytes with `(dlx\.asarray\(x\))?\.tobytes\(\)`",
    ):
        getattr(tensor, method)()
    with pytest.raises((dlx.UnsupportedError, dlx.InvalidArgumentError)):
        tensor.view("uint8")

    assert len(tensor.tobytes()) == 16


def _code(name):
    dtype = dlx.dtype(name)
    return dtype.code, dtype.bits, dtype.lanes


def test_data_elsewhere_is_not_read():
    tensor = dlx.from_dlpack(Producer(device=(2, 0)))
    for read in (tensor.tolist, tensor.numpy, tensor[0, 0].item, lambda: memoryview(tensor)):
        with pytest.raises(BufferError):
            read()
    assert not hasattr(tensor, "__array_interface__")


def test_to_device_is_the_tensor_itself_where_it_is_there_already():
    tensor = dlx.empty(3)

    assert tensor.to_device("cpu").data_ptr == tensor.data_ptr
    assert tensor.to_device(dlx.Device("cpu"), stream=None).data_ptr == tensor.data_ptr
    with pytest.raises((dlx.UnavailableError, dlx.UnsupportedError)):
        tensor.to_device("cuda:1000")
    with pytest.raises(ValueError, match="device"):
        tensor.to_device("nowhere")


def test_thread_setting():
    before = dlx.get_num_threads()
    try:
        dlx.set_num_threads(3)
        assert dlx.get_num_threads() == 3
        for bad in (-1, 2**40):
            with pytest.raises(ValueError, match="num_threads"):
                dlx.set_num_threads(bad)
        dlx.set_num_threads(0)
        assert dlx.get_num_threads() >= 1
    finally:
        dlx.set_num_threads(before)


def test_negative_stride_policy_setting():
    assert dlx.get_export_negative_strides() == "copy"
    with pytest.raises(ValueError, match="policy"):
        dlx.set_export_negative_strides("maybe")


def test_to_device_of_the_same_device_is_the_tensor_itself():
    tensor = dlx.asarray([1, 2, 3])

    assert tensor.to_device("cpu") is tensor
    assert tensor.to_device(tensor.device) is tensor


def test_a_tensor_is_a_sequence_for_c_code():
    # pandas and others ask this before they take an object with __float__ for a number.
    import ctypes

    check, item = ctypes.pythonapi.PySequence_Check, ctypes.pythonapi.PySequence_GetItem
    item.restype, item.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_ssize_t]
    tensor = dlx.asarray([[1, 2], [3, 4]])

    assert check(ctypes.py_object(tensor)) == 1
    assert item(tensor, 1).tolist() == item(tensor, -1).tolist() == [3, 4]
    for index in (2, -3):
        with pytest.raises(IndexError):
            item(tensor, index)
    with pytest.raises(TypeError, match="0-d"):
        item(tensor[0, 0], -1)


def test_many_axes_have_a_repr():
    assert repr(dlx.empty((1,) * 500)).startswith("Tensor(<1 values>")
    assert repr(dlx.empty((1,) * 64, dtype="uint8")).startswith("Tensor([[[")
