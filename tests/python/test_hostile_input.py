"""Objects that lie, fail half-way or are something else than they seem: each ends in an error that
names the protocol, what came and what was expected, or in the right data; never in a crash."""

from __future__ import annotations

import collections
import ctypes
import gc
import sys
import types
import weakref

import pytest

import dlpack_ctypes
import dlx
from array_struct import ArrayStruct
from dlpack_ctypes import Producer

numpy = pytest.importorskip("numpy", reason="half of what asarray takes is NumPy's")
SIX = numpy.arange(6, dtype="float32")


def interface(**fields):
    good = {"shape": (6,), "typestr": "<f4", "data": (SIX.ctypes.data, False), "version": 3}
    return types.SimpleNamespace(__array_interface__={**good, **fields}, keep=SIX)


class FailingIndex:
    def __index__(self):
        raise RuntimeError("no number")


@pytest.mark.parametrize(
    ("fields", "error", "match"),
    [
        ({"shape": (2**64,)}, ValueError, "'shape'.*beyond 64 bits"),
        ({"shape": (2**62, 4)}, ValueError, "2\\^63"),
        ({"shape": (6.0,)}, TypeError, r"'shape'.*got float"),
        ({"shape": (1,) * 65, "strides": (4,) * 65}, ValueError, "at most 64"),
        ({"shape": (FailingIndex(),)}, RuntimeError, "no number"),
        ({"strides": (4, 4)}, ValueError, "2 strides for 1 axes"),
        ({"strides": (2**62,)}, ValueError, "overflow"),
        ({"data": (2**80, False)}, ValueError, "beyond 64 bits"),
        ({"data": (-8, False)}, ValueError, "address space"),
        ({"data": (2**48, False)}, ValueError, "address space"),
        ({"data": (2**55, False)}, ValueError, "address space"),
        ({"strides": (2**48,)}, ValueError, "address space"),
        ({"data": ("a", False)}, TypeError, "is not an address .*str"),
        ({"data": (1,)}, ValueError, "1 items"),
        ({"data": [1, 2]}, TypeError, "neither a tuple nor a buffer.*list"),
        ({"data": None}, TypeError, "and the object has no buffer"),
        ({"data": (FailingIndex(), False)}, RuntimeError, "no number"),
        ({"data": bytearray(8), "offset": -4}, ValueError, "offset -4"),
        ({"data": bytearray(8), "offset": 2**70}, ValueError, "'offset'.*beyond 64 bits"),
        ({"data": bytearray(8), "shape": (2,), "strides": (2**61,)}, ValueError, "overflow"),
        ({"typestr": b"<f4"}, TypeError, "is not a string .*bytes"),
        ({"typestr": ("<f4",)}, TypeError, "is not a string .*tuple"),
        ({"typestr": "<f\ud800"}, ValueError, "surrogates"),
    ],
)
def test_array_interfaces_that_lie(fields, error, match):
    with pytest.raises(error, match=match):
        dlx.asarray(interface(**fields))


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"data": bytearray(7), "shape": (), "offset": 16}, "beyond its buffer"),
        ({"data": bytearray(7), "shape": ()}, None),
        ({"data": bytearray(8), "shape": (100,)}, "beyond its buffer"),
        ({"data": bytearray(8), "shape": (2,), "strides": (100,)}, "beyond its buffer"),
        ({"data": bytearray(8), "shape": (2,), "strides": (-4,)}, "beyond its buffer"),
        ({"data": bytearray(8), "shape": (2,), "offset": -8}, "beyond its buffer"),
        ({"data": (-8, False)}, "address space"),
    ],
)
@pytest.mark.parametrize(
    ("typestr", "dtype"), [(">f4", None), (">i4", "float64"), ([("x", "<i2"), ("y", "<i2")], None)]
)
def test_array_interfaces_of_types_that_numpy_converts_lie_no_further(
    fields, match, typestr, dtype
):
    """NumPy believes them: it would read beyond the buffer."""
    fields = {"shape": (6,), **fields}
    if isinstance(typestr, list):
        fields["descr"], typestr = typestr, "|V4"
    if match is None:
        assert dlx.asarray(interface(typestr=typestr, **fields), dtype=dtype).tolist() in (
            0,
            [0, 0],
        )
        return
    with pytest.raises(ValueError, match=match):
        dlx.asarray(interface(typestr=typestr, **fields), dtype=dtype)


@pytest.mark.parametrize("step", [-1, 2, -2])
def test_an_array_interface_on_a_buffer_with_gaps(step):
    # An offset into it means nothing, and what follows its first byte is another's.
    block = memoryview(bytearray(range(64)))[16:32][::step]
    with pytest.raises(BufferError, match="not C-contiguous"):
        dlx.asarray(interface(shape=(len(block),), typestr="|u1", data=block))


def test_an_array_interface_on_a_buffer_of_any_format():
    block = numpy.arange(3).astype("M8[s]")
    tensor = dlx.asarray(interface(shape=(2,), typestr="<i8", data=block, offset=8))
    assert tensor.tolist() == [1, 2]
    tensor[0] = 5
    assert block[1] == numpy.datetime64(5, "s")
    block.flags.writeable = False
    assert dlx.asarray(interface(shape=(2,), typestr="<i8", data=block)).readonly


def test_an_array_interface_that_changes_while_it_is_read():
    fields = {"typestr": "<f4", "data": (SIX.ctypes.data, False)}

    class Emptying:
        def __index__(self):
            fields.clear()
            gc.collect()
            return 6

    fields["shape"] = (Emptying(),)
    with pytest.raises(ValueError, match="'typestr'"):
        dlx.asarray(types.SimpleNamespace(__array_interface__=fields))


def array_struct(**changes):
    """An object with an `__array_struct__` of six float32, and with whatever is changed."""
    shape = (ctypes.c_ssize_t * 1)(6)
    fields = {"two": 2, "nd": 1, "typekind": b"f", "itemsize": 4, "flags": 0x600,
              "shape": shape, "strides": None, "data": SIX.ctypes.data, **changes}  # fmt: skip
    struct = ArrayStruct(**fields)
    return types.SimpleNamespace(__array_struct__=struct.capsule(), keep=(struct, shape, SIX))


def test_array_struct_without_strides():
    assert dlx.asarray(array_struct()).tolist() == SIX.tolist()
    assert not dlx.asarray(array_struct()).readonly
    assert dlx.asarray(array_struct(flags=0x200)).readonly


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"two": 3}, ValueError, "first field is 3, expected 2"),
        ({"nd": -1}, ValueError, "-1 axes"),
        ({"nd": 65}, ValueError, "65 axes"),
        ({"shape": None}, ValueError, "malformed"),
        ({"itemsize": 0}, ValueError, "0 bytes"),
        ({"itemsize": -4}, ValueError, "-4 bytes"),
        ({"typekind": b"V"}, BufferError, "typestr"),
        ({"data": None}, ValueError, "no data"),
    ],
)
@pytest.mark.skipif(sys.byteorder != "little", reason="the flag says: not swapped")
def test_array_structs_that_lie(changes, error, match):
    with pytest.raises(error, match=match):
        dlx.asarray(array_struct(**changes))


@pytest.mark.parametrize("options", [{}, {"copy": True}, {"dtype": "float32"}])
def test_an_array_struct_that_changes_is_not_given_to_numpy(options):
    """NumPy would read it again, and believe it: it crashed."""

    class Changes:
        answers = 0

        @property
        def __array_struct__(self):
            self.answers += 1
            big_endian = array_struct(flags=0x400)
            lie = array_struct(flags=0x400, nd=6, shape=None)
            self.kept = big_endian if self.answers == 1 else lie
            return self.kept.__array_struct__

    with pytest.raises(dlx.UnsupportedError, match="__array_struct__"):
        dlx.asarray(Changes(), **options)


def test_array_struct_in_another_capsule_is_no_array_struct():
    with pytest.raises(TypeError, match="not an unnamed capsule"):
        dlx.asarray(types.SimpleNamespace(__array_struct__=SIX.__dlpack__()))


@pytest.mark.parametrize("attribute", ["dtype", "mask", "__array_interface__", "__array__"])
@pytest.mark.parametrize("error", [RuntimeError, TypeError, KeyboardInterrupt])
def test_an_attribute_that_raises_is_seen(attribute, error):
    def fail(self):
        raise error("first")

    cls = type("Failing", (), {attribute: property(fail), "__array_struct__": 3})
    if attribute == "__array__":
        del cls.__array_struct__
    with pytest.raises(error, match="first"):
        dlx.asarray(cls())


def test_a_protocol_that_a_class_has_disowned_is_passed_over():
    disowned = type(
        "Disowned",
        (Producer,),
        {"__dlpack__": None, "__array_interface__": None, "__array__": lambda *a, **k: SIX},
    )
    assert dlx.asarray(disowned()).data_ptr == SIX.ctypes.data
    with pytest.raises(AttributeError, match=r"has no __dlpack__ \(got .*Disowned\)"):
        dlx.from_dlpack(disowned())


@pytest.mark.parametrize("returned", [None, 3, (1,), (1, 2), [1, 2]])
@pytest.mark.parametrize(
    "method", ["__arrow_c_array__", "__arrow_c_device_array__", "__arrow_c_stream__"]
)
def test_arrow_methods_that_return_something_else(method, returned):
    cls = type("Odd", (), {method: lambda self, *arguments: returned})
    with pytest.raises(ValueError, match=r"must return .*\(got \w+\)"):
        dlx.asarray(cls())


@pytest.mark.parametrize("returned", [None, 3, "text", (1, 2), SIX])
def test_dlpack_that_returns_no_capsule_says_what_came(returned):
    class Odd(Producer):
        def __dlpack__(self, **keywords):
            return returned

    with pytest.raises(ValueError, match=rf"\(got .*{type(returned).__name__}\)"):
        dlx.from_dlpack(Odd())


def test_a_consumed_capsule_is_named():
    capsule = SIX.__dlpack__()
    holder = type("Holder", (), {"__dlpack__": lambda self, **keywords: capsule,
                                 "__dlpack_device__": lambda self: (1, 0)})  # fmt: skip
    dlx.from_dlpack(holder())
    with pytest.raises(ValueError, match="used_dltensor"):
        dlx.from_dlpack(holder())


def test_classes_without_a_module():
    namespace = {"Base": Producer}
    exec("class Nowhere(Base): pass", {"__builtins__": __builtins__, "Base": Producer}, namespace)
    cls = namespace["Nowhere"]
    for module in (None, 3):
        cls.__module__ = module
        assert dlx.asarray(cls()).shape == dlx.asarray(Producer()).shape
        assert dlx.convert(cls(), "numpy").size


def test_subclasses_of_ndarray_whose_attributes_lie():
    class Liar(numpy.ndarray):
        dtype = "not a dtype"
        shape = property(lambda self: 1 / 0)

    assert dlx.asarray(SIX.view(Liar)).tolist() == SIX.tolist()


def test_weak_references_are_refused_for_they_keep_nothing_alive():
    array = numpy.ones(3)
    for proxy in (weakref.proxy(array), weakref.proxy(interface().keep)):
        for take in (dlx.asarray, dlx.from_dlpack, lambda x: dlx.convert(x, "numpy")):
            with pytest.raises(dlx.UnsupportedError, match=r"weakref\.proxy keeps no memory alive"):
                take(proxy)
    with pytest.raises(dlx.UnsupportedError, match=r"weakref\.proxy"):
        dlx.asarray([weakref.proxy(array)])


def test_structured_masked_entries_are_refused():
    entry = numpy.ma.array([(1, 2)], dtype="i4,i4", mask=[(0, 1)])[0]
    with pytest.raises(BufferError, match="with 1 masked entries would lose its mask"):
        dlx.asarray(entry)


class Short(list):
    def __len__(self):
        return 3


@pytest.mark.parametrize(
    ("obj", "error", "match"),
    [
        (numpy.dtype("float32"), TypeError, "cannot make an array of `obj`"),
        (collections.UserDict(), TypeError, "cannot make an array of `obj`"),
        (types.MappingProxyType({}), TypeError, "cannot make an array of `obj`"),
        (Short([1]), ValueError, "got 1 items, expected 3"),
    ],
)
def test_what_looks_like_a_sequence_and_is_none(obj, error, match):
    with pytest.raises(error, match=match):
        dlx.asarray(obj)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: dlx.asarray(t, copy=2), "`copy` must be True, False or None (got int)"),
        (lambda t: dlx.asarray(t, force=2), "`force` must be True or False (got int)"),
        (lambda t: dlx.convert(t, "numpy", force="x"), "`force` must be True or False (got str)"),
        (lambda t: t.numpy(force=2), "`force` must be True or False (got int)"),
        (
            lambda t: dlx.asarray(t, dtype="f4"),
            "`dtype` is not the name of a data type (got 'f4', expected \"float32\", as NumPy means it)",
        ),
        (lambda t: t.view("nonsense"), "(got 'nonsense', expected one such as \"float32\", "),
        (lambda t: t.copy(order=3), '`order` must be "C" or "F" (got int)'),
        (lambda t: t.copy(order="X"), '`order` must be "C" or "F" (got "X")'),
        (lambda t: t.copy("C", order="C"), "copy() got multiple values for argument 'order'"),
        (lambda t: t.reshape(), "reshape() missing required argument 'shape'"),
        (lambda t: dlx.asarray(), "asarray() missing required argument 1"),
        (lambda t: t.__dlpack__(max_version=3), "two integers or None (got int)"),
        (lambda t: t.__arrow_c_array__(3), "or None (got int)"),
        (lambda t: t[..., ...], "only one ... (got 2)"),
        (lambda t: t.expand_dims(2**40), "`axis` is out of range (got 1099511627776)"),
        (lambda t: [1] in t, "one number (got a list)"),
        (lambda t: dlx.asarray(numpy.array(["a"])), "strings have no DLPack form (got <U1)"),
    ],
)
def test_errors_name_the_argument_and_what_came(call, message):
    with pytest.raises((TypeError, ValueError, IndexError, dlx.UnsupportedError)) as caught:
        call(dlx.asarray([1, 2, 3]))
    assert message in str(caught.value)


def test_wrong_arguments_are_named():
    tensor = dlx.asarray([1, 2, 3])
    with pytest.raises(IndexError, match="beyond 64 bits"):
        tensor[2**70]
    with pytest.raises(TypeError, match=r"`axis` must be an integer \(got str\)"):
        tensor.squeeze("a")
    with pytest.raises(TypeError, match=r"broadcast_to\(\) .*2 given.*the shape as one tuple"):
        tensor.broadcast_to(3, 1)
    with pytest.raises(TypeError, match=r"permute_dims\(\) .*the axes as one tuple"):
        tensor.permute_dims(0, 1)
    with pytest.raises(TypeError, match=r"reshape\(\) missing .*'shape'"):
        tensor.reshape()
    with pytest.raises(TypeError, match="integer"):
        dlx.set_num_threads("a")
    with pytest.raises(TypeError, match=r"`copy` must be True, False or None \(got int\)"):
        dlx.convert(tensor, "numpy", copy=3)
    for name in (".", "..a", ""):
        with pytest.raises(ValueError, match="is not a library"):
            dlx.convert(tensor, name)
    with pytest.raises(ValueError, match="got float64, expected int64"):
        dlx.copyto(tensor, numpy.zeros(3))


def test_a_shape_that_fails_shows_its_own_error():
    class Shape:
        def __iter__(self):
            raise RuntimeError("no extents")

    for call in (dlx.empty, dlx.asarray([1]).reshape, dlx.asarray([1]).permute_dims):
        with pytest.raises(RuntimeError, match="no extents"):
            call(Shape())


def test_the_producers_own_error_comes_first_even_where_the_guard_stumbles():
    class Broken(Producer):
        @property
        def mask(self):
            raise LookupError("second")

        def __dlpack__(self, **keywords):
            raise ValueError("first")

    with pytest.raises(ValueError, match="first"):
        dlx.from_dlpack(Broken())


def test_nothing_is_left_behind_by_refusals():
    class Odd:
        def __init__(self, **attributes):
            self.__dict__.update(attributes)

    objects = [
        Odd(__array_interface__={"shape": (2,)}),
        Odd(__array_interface__={"shape": (9,), "typestr": "|u1", "data": bytearray(4)}),
        array_struct(two=3),
        interface(strides=(3,)),
        memoryview(b"abc").cast("c"),
        Short([1]),
    ]

    def refuse():
        for obj in objects:
            with pytest.raises((ValueError, TypeError, BufferError)):
                dlx.asarray(obj)

    for _ in range(20):
        refuse()
    counts = [sys.getrefcount(obj) for obj in objects]
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(300):
        refuse()
    gc.collect()
    assert [sys.getrefcount(obj) for obj in objects] == counts
    assert sys.getallocatedblocks() - blocks < 150


def managed_with(deleter, **fields):
    """A capsule whose deleter is a C function, with the memory of SIX."""
    shape = (ctypes.c_int64 * 1)(6)
    managed = dlpack_ctypes.DLManagedTensorVersioned()
    managed.version.major, managed.version.minor = fields.get("version", (1, 1))
    managed.deleter = ctypes.cast(deleter, ctypes.c_void_p).value
    managed.dl_tensor = dlpack_ctypes.DLTensor(
        data=fields.get("data", SIX.ctypes.data),
        device=dlpack_ctypes.DLDevice(1, 0),
        ndim=1,
        dtype=dlpack_ctypes.DLDataType(2, 32, 1),
        shape=shape,
        strides=(ctypes.c_int64 * 1)(1),
    )
    dlpack_ctypes.KEEP.append((managed, shape))
    name = dlpack_ctypes.NAMES[dlpack_ctypes.VERSIONED]
    return dlpack_ctypes._capsule_new(ctypes.addressof(managed), name, None)


def leave_an_error():
    # It sets a TypeError; ctypes' own callbacks would print and drop theirs.
    return ctypes.pythonapi.PyErr_BadArgument


def test_a_deleter_that_leaves_an_exception():
    tensor = dlx.from_dlpack(managed_with(leave_an_error()))
    assert tensor.tolist() == SIX.tolist()
    del tensor
    assert sum([1, 2]) == 3  # a SystemError before

    copied = dlx.from_dlpack(managed_with(leave_an_error()), copy=True)
    assert copied.tolist() == SIX.tolist()
    assert dlx.asarray(managed_with(leave_an_error()), dtype="float64").tolist() == SIX.tolist()


def test_a_refusal_outlives_the_exception_of_a_deleter():
    with pytest.raises(BufferError, match=r"version 2\.0"):
        dlx.from_dlpack(managed_with(leave_an_error(), version=(2, 0)))
    with pytest.raises(ValueError, match="address space"):
        dlx.from_dlpack(managed_with(leave_an_error(), data=2**55))
    assert sum([1, 2]) == 3
