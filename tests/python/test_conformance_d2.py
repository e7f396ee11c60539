"""docs/conformance.md: the capsule protocol."""

import ctypes
import gc

import pytest

import dlx
from dlpack_ctypes import (
    LEGACY,
    USED_LEGACY,
    USED_VERSIONED,
    VERSIONED,
    Imported,
    LegacyProducer,
    Producer,
    make_capsule,
    name_address,
    name_of,
)
from interpreter import python_api


class Once:
    """Hands out one given capsule."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **keywords):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def released(make):
    """How many times the memory under make()'s tensor was given back: a list that grows."""
    calls = []
    memory = (ctypes.c_float * 4)()
    address = ctypes.addressof(memory)
    keep = [memory]
    tensor = dlx.from_pointer(address, 4, "float32", owner=keep, on_release=lambda: calls.append(1))
    return tensor, calls


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, LEGACY),
        ({"max_version": None}, LEGACY),
        ({"max_version": (1, 0)}, VERSIONED),
        ({"max_version": (1, 3)}, VERSIONED),
    ],
)
def test_item_25_capsule_is_named_after_its_struct(options, name):
    assert name_of(dlx.empty(3).__dlpack__(**options)) == name


@pytest.mark.parametrize(
    ("kind", "used"), [(Producer, USED_VERSIONED), (LegacyProducer, USED_LEGACY)]
)
def test_item_25_consumed_capsule_is_renamed(kind, used):
    capsule = kind().__dlpack__()

    tensor = dlx.from_dlpack(Once(capsule))

    assert name_of(capsule) == used
    assert tensor.shape == (2, 3)


def test_item_26_names_are_static():
    first, second = (dlx.empty(3).__dlpack__(max_version=(1, 3)) for _ in range(2))

    assert name_address(first) == name_address(second)


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 3)}])
def test_item_27_destructor_frees_what_nobody_consumed(options):
    tensor, calls = released(None)
    capsule = tensor.__dlpack__(**options)
    del tensor
    assert calls == []

    del capsule

    assert calls == [1]


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 3)}])
def test_item_27_destructor_leaves_a_consumed_capsule_alone(options):
    tensor, calls = released(None)
    capsule = tensor.__dlpack__(**options)
    got = Imported(capsule)

    del tensor, capsule
    assert calls == []

    got.free()
    assert calls == [1]


def test_item_28_consumer_takes_ownership_by_renaming():
    producer = Producer()
    capsule = producer.__dlpack__()

    tensor = dlx.from_dlpack(Once(capsule))
    del capsule
    gc.collect()
    assert producer.deleted == 0

    del tensor
    assert producer.deleted == 1


def test_item_29_capsule_cannot_be_consumed_twice():
    once = Once(Producer().__dlpack__())
    dlx.from_dlpack(once)

    with pytest.raises(dlx.Error, match="expected an unconsumed PyCapsule"):
        dlx.from_dlpack(once)


@pytest.mark.parametrize("kind", [Producer, LegacyProducer])
def test_item_30_null_deleter_is_checked_when_an_import_fails(kind):
    producer = kind(deleter=False, dtype=(99, 32, 1))

    with pytest.raises(BufferError, match="dtype"):
        dlx.from_dlpack(producer)
    gc.collect()


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 3)}])
def test_item_31_destructor_leaves_a_pending_exception_intact(options):
    tensor, calls = released(None)

    def fail(capsule):
        raise KeyError("mine")  # the capsule dies while this is being unwound

    with pytest.raises(KeyError, match="mine"):
        fail(tensor.__dlpack__(**options))

    del tensor
    gc.collect()
    assert calls == [1]


def test_item_31_dying_tensor_leaves_a_pending_exception_intact():
    # The deleter is a Python callback, as in ctypes-dlpack: it must not run with an exception set.
    producer = Producer()

    def fail(tensor):
        raise KeyError("mine")  # the tensor dies while this is being unwound

    with pytest.raises(KeyError, match="mine"):
        fail(dlx.from_dlpack(producer))
    gc.collect()
    assert producer.deleted == 1

    with pytest.raises(BufferError):
        dlx.from_dlpack(Producer(device=(2, 0))).__dlpack__(dl_device=(1, 0), max_version=(1, 3))


def test_item_31_destructor_called_from_c_with_an_exception_set():
    # What NumPy does when it refuses a capsule: the error is set first, then the capsule dies.
    python = python_api()
    function = python.PyObject_SetAttrString
    function.restype, function.argtypes = (
        ctypes.c_int,
        [ctypes.py_object, ctypes.c_char_p, ctypes.py_object],
    )
    tensor, calls = released(None)
    capsule = tensor.__dlpack__(max_version=(1, 3))
    del tensor

    class Refuses:
        def __setattr__(self, name, value):
            del value
            raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        function(Refuses(), b"x", capsule)
    del capsule

    gc.collect()
    assert calls == [1]


@pytest.mark.parametrize("kind", [Producer, LegacyProducer])
@pytest.mark.parametrize(
    "bad", [{"dtype": (99, 32, 1)}, {"ndim": -1}, {"shape_null": True}, {"shape": (-1, 2)}]
)
def test_item_32_failed_import_calls_the_deleter_once(kind, bad):
    producer = kind(**bad)

    with pytest.raises((BufferError, ValueError)):
        dlx.from_dlpack(producer)

    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize(
    "name", [b"tensor", b"", b"dltensor_", b"DLTENSOR", USED_LEGACY, USED_VERSIONED]
)
def test_item_33_capsule_name_is_verified(name):
    # The pointer must never be followed.
    capsule = make_capsule(16, name)

    with pytest.raises(dlx.Error, match="PyCapsule"):
        dlx.from_dlpack(Once(capsule))


@pytest.mark.parametrize("answer", [None, 3, b"dltensor", object()])
def test_item_33_something_else_than_a_capsule_is_an_error(answer):
    with pytest.raises((TypeError, ValueError, BufferError), match="PyCapsule"):
        dlx.from_dlpack(Once(answer))
