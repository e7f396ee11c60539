"""Objects that speak a protocol badly, or only seem to: each error names the protocol and the class."""

from __future__ import annotations

import contextlib
import ctypes
import decimal
import fractions
import gc
from unittest import mock

import pytest

import dlx
from dlpack_ctypes import LegacyProducer

numpy = pytest.importorskip("numpy", reason="makes the memory of these objects")

SOURCE = numpy.arange(6.0)
BYTES = ctypes.create_string_buffer(400)  # zeros, as a struct that says nothing


KEPT = []  # a capsule has the address of its name only
GONE = object()


def capsule(name):
    KEPT.append(name)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(BYTES), name, None)


class Producer:
    """Returns or raises what it was given."""

    def __init__(self, result, device=(1, 0)):
        self.result, self.device = result, device

    def __dlpack__(self, **kwargs):
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    def __dlpack_device__(self):
        return self.device


class ArrowProducer:
    def __init__(self, result):
        self.result = result

    def __arrow_c_array__(self, requested_schema=None):
        return self.result


class StreamProducer(ArrowProducer):
    __arrow_c_array__ = None  # Python's way of saying that a class has not what its base has

    def __arrow_c_stream__(self, requested_schema=None):
        return self.result


class Interface:
    def __init__(self, **fields):
        good = {
            "shape": (6,),
            "typestr": "<f8",
            "data": (SOURCE.ctypes.data, False),
            "version": 3,
        }
        both = {**good, **fields}
        self.__array_interface__ = {key: value for key, value in both.items() if value is not GONE}


def test_what_is_no_capsule_to_take():
    used = SOURCE.__dlpack__()
    dlx.asarray(Producer(used))
    for result in (
        None,
        5,
        "text",
        SOURCE,
        dlx.asarray(SOURCE),
        used,
        capsule(b"x"),
        capsule(None),
    ):
        with pytest.raises(ValueError, match=r"`__dlpack__` of .*\.Producer: .*PyCapsule"):
            dlx.asarray(Producer(result))


def test_structs_of_zeros():
    for name in (b"dltensor", b"dltensor_versioned"):
        with pytest.raises(BufferError, match=r"`__dlpack__` of .*\.Producer: "):
            dlx.asarray(Producer(capsule(name)))


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("boom"),
        BufferError("nope"),
        TypeError("a real one"),
        AttributeError("inside"),
        KeyboardInterrupt(),
        MemoryError("full"),
    ],
)
def test_the_producers_own_error_is_shown(error):
    with pytest.raises(type(error)) as caught:
        dlx.asarray(Producer(error))
    assert caught.value is error


@pytest.mark.parametrize(
    "device", [None, 5, (1,), (1, 0, 0), [1, 0], (0, 0), (-1, 0), (1, -1), (2**40, 0), (1, 2**32)]
)
def test_no_device(device):
    with pytest.raises(ValueError, match=r"`__dlpack__` of .*Producer: `__dlpack_device__`"):
        dlx.asarray(Producer(SOURCE.__dlpack__(), device))


@pytest.mark.parametrize("device", [(1, 5), (2, 0), (99, 0)])
def test_the_capsule_knows_better_where_the_data_is(device):
    tensor = dlx.asarray(Producer(SOURCE.__dlpack__(), device))

    assert str(tensor.device) == "cpu"
    assert tensor.data_ptr == SOURCE.ctypes.data


def test_producers_that_never_end():
    class Endless:
        def __dlpack__(self, **kwargs):
            return dlx.asarray(self)

        def __dlpack_device__(self):
            return 1, 0

    with pytest.raises(RecursionError):
        dlx.asarray(Endless())


def test_half_a_producer():
    class Half:
        def __dlpack__(self, **kwargs):
            return SOURCE.__dlpack__()

    with pytest.raises(AttributeError, match=r"Half.*__dlpack_device__"):
        dlx.asarray(Half())


def test_what_is_no_exchange_table_is_passed_over():
    for table in (5, capsule(b"dlpack_exchange_api"), capsule(b"other")):
        cls = type("WithTable", (Producer,), {"__dlpack_c_exchange_api__": table})
        assert dlx.asarray(cls(SOURCE.__dlpack__())).data_ptr == SOURCE.ctypes.data


def test_objects_that_answer_everything():
    class Silent:
        def __getattr__(self, name):
            return lambda *args, **kwargs: None

    class Endless:
        def __getattr__(self, name):
            return Endless()

        def __call__(self, *args, **kwargs):
            return Endless()

    for obj in (Silent(), Endless(), mock.Mock(), mock.MagicMock(), mock.Mock(spec=numpy.ndarray)):
        with pytest.raises(TypeError, match=type(obj).__name__):
            dlx.asarray(obj)


def test_errors_of_attributes_are_shown():
    class Broken:
        @property
        def __array_interface__(self):
            raise RuntimeError("boom")

    class Mistaken:
        @property
        def __array_interface__(self):
            raise AttributeError("a mistake inside")

    with pytest.raises(RuntimeError, match="boom"):
        dlx.asarray(Broken())
    # It may mean that the object has none, so that the search goes on; the end of it tells.
    with pytest.raises(
        TypeError, match="`__array_interface__` raised AttributeError: a mistake in"
    ):
        dlx.asarray(Mistaken())


@pytest.mark.parametrize(
    "fields",
    [
        {"typestr": "<x9"}, {"typestr": ""}, {"typestr": "<f0"}, {"typestr": "<f-8"},
        {"typestr": "<f99999999999"}, {"typestr": "|V8"}, {"typestr": GONE},
        {"shape": GONE}, {"shape": (-1,)}, {"shape": (2**62, 2**62)}, {"strides": (8, 8)},
        {"strides": (3,)}, {"strides": (2**62,)}, {"strides": (-(2**63),)}, {"data": (0, False)},
        {"data": (-8, False)}, {"data": (2**64, False)}, {"data": (1,)}, {"data": bytearray(8)},
        {"data": bytearray(64), "offset": 32}, {"data": bytearray(64), "offset": -8},
        {"mask": numpy.zeros(6, bool)},
    ],
    ids=str,
)  # fmt: skip
def test_bad_array_interfaces(fields):
    with pytest.raises(
        (ValueError, BufferError), match=r"`__array_interface__` of .*\.Interface: "
    ):
        dlx.asarray(Interface(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"typestr": 5}, {"typestr": b"<f8"}, {"shape": (6.0,)}, {"strides": "x"}, {"data": 5},
        {"data": None}, {"data": ("x", False)}, {"data": (1.5, False)},
        {"data": bytearray(64), "offset": "a"},
    ],
    ids=str,
)  # fmt: skip
def test_array_interfaces_of_wrong_types(fields):
    with pytest.raises(TypeError, match=r"`__array_interface__\["):
        dlx.asarray(Interface(**fields))


@pytest.mark.parametrize("result", [None, 5, (), (1,), (1, 2), (capsule(b"x"), capsule(b"y")),
                                    (capsule(b"arrow_schema"), capsule(b"arrow_array"))], ids=str)  # fmt: skip
def test_bad_arrow_capsules(result):
    with pytest.raises(ValueError, match=r"`__arrow_c_array__` of .*\.ArrowProducer: "):
        dlx.asarray(ArrowProducer(result))


@pytest.mark.parametrize("result", [None, 5, capsule(b"arrow_array_stream")], ids=str)
def test_bad_arrow_streams(result):
    with pytest.raises(ValueError, match=r"`__arrow_c_stream__` of .*\.StreamProducer: "):
        dlx.asarray(StreamProducer(result))


def test_buffers_of_no_numbers_name_their_class():
    with pytest.raises(BufferError, match=r"the buffer of memoryview: "):
        dlx.asarray(memoryview(b"abc").cast("c"))
    with pytest.raises(BufferError, match=r"the buffer of .*c_wchar_Array_3: "):
        dlx.asarray((ctypes.c_wchar * 3)())


@pytest.mark.parametrize("number", [fractions.Fraction(1, 2), decimal.Decimal(1)])
def test_numbers_that_no_dtype_holds(number):
    for value in (number, [number]):
        with pytest.raises(TypeError, match=type(number).__name__):
            dlx.asarray(value)


def test_one_of_what_may_also_be_many():
    class Scalar:
        def __len__(self):
            raise TypeError("a scalar has no len()")

        def __getitem__(self, key):
            raise TypeError("a scalar cannot be indexed")

    with pytest.raises(TypeError, match=r"cannot make an array of `obj` \(got .*Scalar"):
        dlx.asarray(Scalar())


def test_nothing_is_left_behind():
    import gc
    import sys

    objects = [
        Producer(None), Producer(capsule(b"dltensor_versioned")), Interface(typestr="<x9"),
        Interface(data=bytearray(8)), ArrowProducer((1, 2)), StreamProducer(None),
        memoryview(b"abc").cast("c"), mock.Mock(),
    ]  # fmt: skip

    def refuse(times):
        for _ in range(times):
            for obj in objects:
                with contextlib.suppress(ValueError, TypeError, BufferError):
                    dlx.asarray(obj)
        gc.collect()

    refuse(20)
    counts, blocks = [sys.getrefcount(obj) for obj in objects], sys.getallocatedblocks()
    refuse(500)
    assert [sys.getrefcount(obj) for obj in objects] == counts
    assert sys.getallocatedblocks() - blocks < 250


def test_one_type_error_does_not_make_the_class_a_legacy_one():
    frozen = SOURCE.copy()
    frozen.flags.writeable = False

    class Moody:
        ready = True

        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **kwargs):
            if not self.ready:
                raise TypeError("not ready")
            return frozen.__dlpack__(**kwargs)

    unready = Moody()
    unready.ready = False
    with pytest.raises(TypeError, match="not ready"):
        dlx.from_dlpack(unready)

    assert dlx.from_dlpack(Moody(), copy=False).readonly  # which legacy capsules cannot say


@pytest.mark.parametrize("error", [BufferError, RuntimeError, ValueError, NotImplementedError])
def test_a_producer_that_only_shares_is_copied_here(error):
    """As CuPy, nanobind and TensorFlow: they know copy=, and refuse True."""

    class Sharing:
        def __init__(self, array):
            self.array = array

        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            if copy or self.array is None:
                raise error("nothing to share" if copy is None else "copy=True: no")
            return self.array.__dlpack__(max_version=max_version)

    memory = numpy.arange(3.0)
    for take in (dlx.from_dlpack, dlx.asarray):
        tensor = take(Sharing(memory), copy=True)
        tensor[0] = 7
        assert tensor.tolist() == [7, 1, 2]
        assert memory[0] == 0
        with pytest.raises(error, match="copy=True: no"):  # the first reason
            take(Sharing(None), copy=True)


def test_uint1_of_a_legacy_capsule_is_refused_and_stays_the_producers():
    producer = LegacyProducer(b"\1\0\1", (3,), (1, 1, 1))
    capsule = producer.__dlpack__()
    for source in (producer, capsule):
        with pytest.raises(dlx.UnsupportedError, match="has dtype uint1 and no version"):
            dlx.from_dlpack(source)
    del capsule, source
    gc.collect()

    assert producer.deleted == len(producer.exports) == 2


def test_uint1_of_a_legacy_capsule_of_dlx_itself_is_packed():
    packed = dlx.asarray(bytearray(b"\5")).view("uint1")

    assert dlx.from_dlpack(packed.__dlpack__()).tolist() == [1, 0, 1, 0, 0, 0, 0, 0]


class _Variable:
    """A variable of a library on JAX, such as Keras."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


class _VariableWithArray(_Variable):
    def __array__(self, dtype=None, copy=None):
        raise AssertionError("would copy from the device")


@pytest.mark.parametrize("cls", [_Variable, _VariableWithArray])
def test_jax_array_protocol(cls):
    value = dlx.asarray([1, 2, 3])
    variable = cls(value)

    assert dlx.asarray(variable, copy=False).data_ptr == value.data_ptr
    assert dlx.asarray(variable, copy=True).data_ptr != value.data_ptr
    assert str(dlx.asarray(variable, dtype="float32").dtype) == "float32"
    assert dlx.asarray([variable, variable]).tolist() == [[1, 2, 3], [1, 2, 3]]
    out = dlx.empty(3, dtype="int64")
    dlx.copyto(out, variable)
    assert out.tolist() == [1, 2, 3]


def test_jax_array_protocol_with_a_wrong_answer():
    itself = _Variable(None)
    itself.value = itself
    for wrong in (itself, _Variable([1, 2]), _Variable(None)):
        with pytest.raises(
            TypeError, match=r"`__jax_array__` of .*_Variable did not return an array"
        ):
            dlx.asarray(wrong)
