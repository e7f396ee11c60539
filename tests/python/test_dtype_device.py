"""`dlx.dtype` and `dlx.Device`, and the values of every dtype."""

import copy
import gc
import operator
import time
import types
import unittest.mock
import weakref

import pytest

import dlx
from dlpack_ctypes import Producer


def test_dtype_is_numpy_s_where_numpy_has_it():
    numpy = pytest.importorskip("numpy", reason="compares with numpy.dtype")

    assert dlx.empty(1, dtype="float32").dtype is numpy.dtype("float32")
    assert dlx.empty(1, dtype="int64").dtype == numpy.int64
    assert type(dlx.empty(1, dtype="bfloat16").dtype) is dlx.dtype


def test_dtype_properties():
    dtype = dlx.dtype("float8_e4m3fn")

    assert (dtype.code, dtype.bits, dtype.lanes, dtype.itemsize, dtype.kind) == (10, 8, 1, 1, "f")
    assert dtype == "float8_e4m3fn" == str(dtype)
    assert hash(dtype) == hash(dlx.dtype(dtype))
    assert dtype == dlx.dtype(dtype)
    assert dtype != dlx.dtype("int8")
    assert dtype != 3
    kinds = {
        "float8_e3m4": "f",
        "float4_e2m1fn": "f",
        "bcomplex32": "c",
        "bfloat16": "f",
        "int4": "i",
    }
    assert {name: dlx.dtype(name).kind for name in kinds} == kinds
    assert dlx.dtype("int4").itemsize == 1
    assert dlx.dtype("float32x4").itemsize == 16
    with pytest.raises(AttributeError, match="immutable"):
        dtype.bits = 9
    assert copy.deepcopy(dtype) == dtype
    assert repr(dtype) == "dlx.dtype('float8_e4m3fn')"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (bool, "bool"),
        (int, "int64"),
        (float, "float64"),
        (complex, "complex128"),
        ("<f4", "float32"),
        ("uint8", "uint8"),
    ],
)
def test_dtype_reads_names_and_python_types(given, name):
    assert dlx.dtype(given).name == name


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("float33", ValueError),
        ("", ValueError),
        ("float32\0", ValueError),
        (3, TypeError),
        (None, TypeError),
        (str, TypeError),
        (object(), TypeError),
        (unittest.mock.MagicMock(), TypeError),  # has another mock as its dtype, without end
        (">f4", BufferError),
    ],
)
def test_dtype_refuses_anything_else(given, error):
    with pytest.raises(error):
        dlx.dtype(given)


def test_dtype_reads_those_of_libraries():
    numpy = pytest.importorskip("numpy", reason="reads numpy.dtype")

    assert dlx.dtype(numpy.float32) == dlx.dtype(numpy.dtype("f4")) == "float32"
    assert dlx.dtype(numpy.zeros(1, "u2")) == "uint16"
    for found in map(numpy.dtype, "?bBhHiIlLqQefdFD"):
        assert dlx.dtype(found) == dlx.dtype(found.type) == found.name
    for bad in ("O", "S3", "M8[s]", "i4,f4", numpy.dtype("f4").newbyteorder(), numpy.longdouble):
        with pytest.raises(BufferError, match=r"`numpy\.|make numbers of them"):
            dlx.dtype(numpy.dtype(bad))


def test_equal_dtypes_have_equal_hashes():
    numpy = pytest.importorskip("numpy", reason="compares with numpy.dtype")

    for name in ("bool", "int8", "uint64", "float16", "float64", "complex64", "complex128"):
        mine, theirs = dlx.dtype(name), numpy.dtype(name)
        assert mine == theirs
        assert hash(mine) == hash(theirs)
        assert {mine: 1}[dlx.empty(1, dtype=name).dtype] == 1
        assert dlx.empty(1, dtype=name).dtype in {mine}
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e4m3fn", "int4"):
        mine, theirs = dlx.dtype(name), numpy.dtype(getattr(ml_dtypes, name))
        assert mine == theirs
        assert hash(mine) == hash(theirs)
    assert len({dlx.dtype("float32x4"), dlx.dtype("float32x4"), dlx.dtype("float32x2")}) == 2


class _Typed:
    """A dtype or an array of another library, by the protocol."""

    def __init__(self, answer):
        self._answer = answer

    def __dlpack_data_type__(self):
        return self._answer


def test_dtype_protocol():
    for name in ("float32", "bfloat16", "bool", "float32x4", "uint4"):
        dtype = dlx.dtype(name)
        assert dtype.__dlpack_data_type__() == (dtype.code, dtype.bits, dtype.lanes)
        assert dlx.dtype(_Typed(dtype.__dlpack_data_type__())) == dtype
    assert dlx.asarray([1, 2], dtype=_Typed((2, 16, 1))).dtype == dlx.dtype("float16")
    assert dlx.empty(2, dtype=_Typed((4, 16, 1))).dtype == dlx.dtype("bfloat16")


@pytest.mark.parametrize("answer", [None, (1, 2), (1.5, 2, 3), (2, 32, 1, 0), "abc"])
def test_dtype_protocol_with_a_wrong_answer(answer):
    with pytest.raises(
        TypeError, match="`__dlpack_data_type__` of _Typed did not return three int"
    ):
        dlx.dtype(_Typed(answer))


@pytest.mark.parametrize("answer", [(2, 2**70, 1), (2, -1, 1), (99, 8, 1), (2, 32, 0)])
def test_dtype_protocol_with_a_type_that_dlpack_lacks(answer):
    with pytest.raises(BufferError, match=r"dtype|data type"):
        dlx.dtype(_Typed(answer))


def test_device_protocol():
    for name in ("cpu", "cuda:1", "rocm:0"):
        device = dlx.Device(name)
        assert device.__dlpack_device__() == (device.device_type, device.device_id)
        assert dlx.Device(types.SimpleNamespace(__dlpack_device__=device.__dlpack_device__)) == name
    assert not hasattr(device, "__dlpack__")  # other libraries tell an array by it


def test_dtype_reads_what_pyarrow_has_a_type_of():
    pyarrow = pytest.importorskip("pyarrow", reason="reads pyarrow.DataType")

    for found in (pyarrow.int16(), pyarrow.field("a", pyarrow.int16())):
        assert dlx.dtype(found) == "int16"
    assert dlx.dtype(pyarrow.array([1.0])) == "float64"


def test_tensors_of_torch_have_a_dtype_and_a_device():
    torch = pytest.importorskip("torch")

    for tensor in (torch.zeros(3, dtype=torch.bfloat16), torch.nn.Parameter(torch.zeros(2))):
        assert dlx.dtype(tensor) == dlx.dtype(tensor.dtype)
        assert dlx.Device(tensor) == "cpu"
    with pytest.raises(TypeError, match="`dtype` is not a data type"):
        dlx.dtype(torch.device("cpu"))


def test_device_properties():
    device = dlx.Device("cuda:1")

    assert (device.type, device.id, device.device_type, device.device_id) == ("cuda", 1, 2, 1)
    assert device == "cuda:1" == str(device)
    assert hash(device) == hash("cuda:1")
    assert tuple(device) == (2, 1)
    assert dlx.Device((2, 1)) == device == dlx.Device(device)
    assert dlx.Device("cuda") == "cuda:0"
    assert dlx.Device("cpu").name == "cpu"
    assert repr(device) == "dlx.Device('cuda:1')"
    assert copy.deepcopy(device) == device
    with pytest.raises(AttributeError, match="immutable"):
        device.device_id = 2


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("gpu", ValueError),
        ("cuda:x", ValueError),
        ("cuda:-1", ValueError),
        ((1,), TypeError),
        ((1, 0, 0), TypeError),
        (("cpu", 0), TypeError),
        (type("Where", (), {"device": "cpu"}), TypeError),  # a class is nowhere
        (3, TypeError),
        (None, TypeError),
        ((2**40, 0), ValueError),
        ((2, -1), ValueError),
        ((True, 0), TypeError),
        (types.SimpleNamespace(__dlpack_device__=lambda: "10"), TypeError),
        (types.SimpleNamespace(__dlpack_device__=lambda: (1.5, 0)), TypeError),
    ],
)
def test_device_refuses_anything_else(given, error):
    with pytest.raises(error, match=r"^`device`"):
        dlx.Device(given)


def test_devices_of_torch():
    torch = pytest.importorskip("torch")
    for name in ("cpu", "cuda:0", "cuda:3"):
        assert dlx.Device(torch.device(name)) == name
    for given in (torch.device("meta"), torch.device("meta", 0)):
        with pytest.raises(ValueError, match=r"^`device` is not a device \(got 'meta"):
            dlx.Device(given)


def test_a_number_of_numpy_is_no_device():
    numpy = pytest.importorskip("numpy")
    for number in (numpy.int64(1), numpy.float32(0)):  # whose own `.device` is the CPU
        with pytest.raises(TypeError, match="`device` is not a device"):
            dlx.Device(number)
    assert dlx.Device(dlx.asarray(3)) == "cpu"


def test_devices_starts_with_the_cpu_and_knows_its_memory():
    first = dlx.devices()[0]

    assert first == "cpu"
    assert first.description
    assert first.memory_total > first.memory_free > 0


def test_a_device_that_is_not_here_says_so():
    with pytest.raises(dlx.UnavailableError):
        _ = dlx.Device("cuda:1000").memory_total


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: dlx.empty(3).to_device("cuda:99"), "to_device: `device` cuda:99 is not available"),
        (
            lambda: dlx.empty(3).to_device("cpu", stream=4),
            "to_device: `stream` must be omitted: cpu has no streams",
        ),
        (lambda: dlx.Device("cuda:99").synchronize(), "Device.synchronize: `device` cuda:99"),
        (lambda: dlx.current_stream("cuda:99"), "current_stream: `device` cuda:99"),
        (lambda: dlx.set_num_threads(-1), "set_num_threads: `num_threads` is negative"),
    ],
)
def test_errors_begin_with_what_python_called(call, named):
    with pytest.raises(dlx.Error) as caught:
        call()
    assert str(caught.value).startswith(named)


def test_device_of_a_host_pointer_is_the_cpu():
    assert dlx.device_of(dlx.empty(3).data_ptr) == "cpu"
    with pytest.raises(TypeError, match="`ptr`"):
        dlx.device_of("x")
    with pytest.raises(TypeError, match="`ptr` is not an address"):  # it has an `__index__`
        dlx.device_of(dlx.empty(3))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NaN patterns
@pytest.mark.parametrize(
    "name",
    [
        "float8_e3m4",
        "float8_e4m3",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float6_e2m3fn",
        "float6_e3m2fn",
        "float4_e2m1fn",
        "bfloat16",
        "int4",
        "uint4",
        "int2",
        "uint2",
    ],
)
def test_decoding_agrees_with_ml_dtypes_on_every_bit_pattern(name):
    numpy = pytest.importorskip("numpy", reason="ml_dtypes needs it")
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="is the oracle")
    dtype = dlx.dtype(name)
    count = 1 << dtype.bits
    patterns = numpy.arange(count, dtype="u2" if dtype.bits == 16 else "u1")
    expected = patterns.view(getattr(ml_dtypes, name)).astype("f8").tolist()
    flags = 4 if dtype.bits < 8 else 0
    data = patterns.tobytes()
    producer = Producer(data, (count,), (dtype.code, dtype.bits, 1), flags=flags)

    got = dlx.from_dlpack(producer).tolist()

    assert list(map(repr, map(float, got))) == list(map(repr, expected))


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 7])
def test_packed_integers_are_decoded_bit_by_bit(bits):
    values = [(7 * i) % (1 << bits) for i in range(11)]
    packed = sum(value << (i * bits) for i, value in enumerate(values))
    data = packed.to_bytes((11 * bits + 7) // 8, "little")

    assert dlx.from_dlpack(Producer(data, (11,), (1, bits, 1))).tolist() == values


@pytest.mark.parametrize("dtype", ["int8x2", "uint16x2", "int32x2", "uint64x2", "boolx2", "bfloat16x2", "complex64x2"])  # fmt: skip
def test_lanes_are_decoded_as_their_scalars_are(dtype):
    scalar = dtype[:-2]
    low, high = {
        "b": (False, True),
        "u": (2, 201),
        "i": (-3, 100),
        "f": (0.5, 2.0),
        "c": (1j, 2 + 3j),
    }[dlx.dtype(scalar).kind]
    tensor = dlx.asarray([low, high, high, low, low, low], dtype=scalar)

    lanes = tensor.view(dtype).tolist()

    assert lanes == [(low, high), (high, low), (low, low)]
    assert {type(value) for pair in lanes for value in pair} == {type(low)}


def test_an_element_of_several_lanes_is_no_single_number():
    zeros = dlx.asarray([0, 0, 0, 0], dtype="int32").view("int32x4")

    assert zeros.item() == (0, 0, 0, 0)
    for method in (bool, int, float, complex):
        with pytest.raises(TypeError, match="int32x4 has several numbers"):
            method(zeros)
    with pytest.raises(TypeError, match="int32x4 has several numbers"):
        operator.index(zeros.reshape(()))


@pytest.mark.parametrize("bits", [3, 4])
def test_many_packed_integers_take_no_square_of_time(bits):
    def seconds(count):
        values = [(5 * i) % (1 << bits) for i in range(8)]
        eight = sum(value << (i * bits) for i, value in enumerate(values)).to_bytes(bits, "little")
        tensor = dlx.from_dlpack(Producer(eight * (count // 8), (count,), (1, bits, 1)))
        start = time.process_time()
        assert tensor.tolist() == values * (count // 8)
        return time.process_time() - start

    assert seconds(1 << 18) < 64 * seconds(1 << 14)


@pytest.mark.parametrize(
    "code", [(258, 32, 1), (-254, 32, 1), (2, 288, 1), (2, 32, 65537), (300, 32, 1)]
)
def test_numbers_of_a_dtype_do_not_wrap(code):
    for use in (
        lambda: dlx.empty(2, dtype=code),
        lambda: dlx.asarray([1.0], dtype=code),
        lambda: dlx.empty(2).view(code),
        lambda: dlx.from_pointer(64, 2, code),
    ):
        with pytest.raises(
            (dlx.InvalidArgumentError, dlx.UnsupportedError), match=str(max(code, key=abs))
        ):
            use()


def test_a_dtype_that_was_asked_for_before_means_the_same():
    numpy = pytest.importorskip("numpy", reason="reads numpy.dtype")

    tensor = dlx.empty((2, 6), dtype="uint8")
    others = numpy.dtype("i2", metadata={"a": 1}), type("Own", (numpy.int16,), {})
    for dtype in (numpy.int16, numpy.dtype("i2"), *others):
        for _ in range(2):
            assert tensor.view(dtype).dtype == "int16"
    for dtype, name in ((bool, "bool"), (numpy.bool_, "bool"), (numpy.uint16, "uint16")):
        for _ in range(2):
            assert dlx.dtype(tensor.view(dtype).dtype) == name
    gone = weakref.ref(others[1])
    del others, dtype
    gc.collect()
    assert gone() is None
