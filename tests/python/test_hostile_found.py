"""What test_hostile_random.py found, and reading the code for it, each in its smallest form."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import subprocess
import sys
import types

import pytest

import dlx
from dlpack_ctypes import FROM_OBJECT, DLPackVersion, ExchangeAPI, Export, Producer, make_capsule

numpy = pytest.importorskip("numpy", reason="half of what asarray takes is NumPy's")
SIX = numpy.arange(6, dtype="float32")


def interface(**fields):
    good = {"shape": (6,), "typestr": "<f4", "data": (SIX.ctypes.data, False), "version": 3}
    return types.SimpleNamespace(__array_interface__={**good, **fields})


# ---- memory ----------------------------------------------------------------------------------------


def test_a_subclass_whose_copy_is_no_array():
    class Odd(numpy.ndarray):
        def copy(self, *arguments, **keywords):
            return 3

    apart = numpy.zeros(4, dtype=[("a", "i1"), ("b", "f4")])["b"].view(Odd)

    for take in (dlx.asarray, dlx.from_dlpack):
        with pytest.raises(
            TypeError, match=r"`copy\(\)` of .*Odd must return a numpy.ndarray \(got int"
        ):
            take(apart)


FIELDS_THAT_GO = """
import gc, types, dlx

class Emptying:
    def __index__(self):
        fields.clear()
        gc.collect()
        raise TypeError("second")

    def __bool__(self):
        return False

class Address(Emptying):
    def __index__(self):
        fields.clear()
        gc.collect()
        return 4096

fields = {"typestr": "<f4", "shape": (0,)}
if "%s" == "data":
    fields["data"] = tuple([Address(), Emptying()])
else:
    fields["data"] = (4096, False)
    fields["%s"] = Emptying()
try:
    dlx.asarray(types.SimpleNamespace(__array_interface__=fields))
except (TypeError, ValueError):
    pass
"""


@pytest.mark.parametrize("field", ["data", "shape", "strides"])
def test_fields_of_an_array_interface_that_go_while_they_are_read(field):
    # With this allocator freed memory is overwritten at once.
    variables = {"PYTHONMALLOC": "debug", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", FIELDS_THAT_GO.replace("%s", field)]

    done = subprocess.run(command, env={**os.environ, **variables}, stderr=subprocess.PIPE)

    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]


def again_by_pointer(tensor):
    return dlx.from_pointer(tensor.data_ptr, tensor.shape, tensor.dtype, owner=tensor)


@pytest.mark.parametrize(
    "again",
    [
        again_by_pointer,
        lambda tensor: dlx.asarray(memoryview(tensor)),
        lambda tensor: dlx.asarray(numpy.from_dlpack(tensor)),
    ],
)
def test_a_long_chain_of_owners_is_given_back(again):
    released = []
    tensor = dlx.from_pointer(
        SIX.ctypes.data, (6,), "float32", owner=SIX, on_release=lambda: released.append(1)
    )
    for _ in range(100_000):
        tensor = again(tensor)

    del tensor

    assert released == [1]


def test_owners_that_end_in_a_chain_are_given_back_before_the_call_returns():
    released = []
    tensor = dlx.asarray(SIX)
    for i in range(200):
        tensor = dlx.from_pointer(
            tensor.data_ptr,
            (6,),
            "float32",
            owner=tensor,
            on_release=lambda i=i: released.append(i),
        )

    del tensor

    assert sorted(released) == list(range(200))


# ---- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["é" * 60, "a" + "é" * 60])
@pytest.mark.parametrize(
    "call",
    [
        lambda odd: dlx.from_dlpack(odd),
        lambda odd: dlx.asarray([1]).reshape(odd),
        lambda odd: dlx.asarray([1], copy=odd),
        lambda odd: dlx.asarray([1]).copy(order=type(odd).__name__),
        lambda odd: dlx.asarray([1], **{type(odd).__name__: 1}),
        lambda odd: dlx.asarray(interface(typestr=type(odd).__name__)),
    ],
)
def test_a_long_name_is_cut_off_and_nothing_else(call, name):
    with pytest.raises((TypeError, AttributeError, ValueError, BufferError), match="éé") as caught:
        call(type(name, (), {})())
    assert not isinstance(caught.value, UnicodeError)


@pytest.mark.parametrize("name", [b"\xff\xfe", b"\xc3" * 70])
def test_a_capsule_whose_name_is_no_text(name):
    export = Export(SIX.ctypes.data, (6,))

    with pytest.raises(dlx.InvalidArgumentError, match="expected an unconsumed PyCapsule named"):
        dlx.from_dlpack(make_capsule(export.address, name))


class Masked:
    """Something that guard() refuses, with the reason."""

    filled = None

    @property
    def mask(self):
        return numpy.ones(1, bool)


@pytest.mark.parametrize("urgent", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_no_reason_is_looked_for_when_the_user_interrupts(urgent):
    class Interrupted(Producer, Masked):
        def __dlpack__(self, **keywords):
            raise urgent("now")

    for take in (dlx.from_dlpack, dlx.asarray):
        with pytest.raises(urgent, match="now"):
            take(Interrupted())


@pytest.mark.parametrize("where", ["guard", "signature"])
def test_an_interruption_of_the_search_for_a_reason_is_not_lost(where):
    def interrupt(*_):
        raise KeyboardInterrupt("now")

    class Method:
        __signature__ = property(interrupt)

        def __call__(self, **keywords):
            raise TypeError("first")

    class Odd(Producer):
        __dlpack__ = Method()

    class OddGuard(Producer):
        mask = property(interrupt)

        def __dlpack__(self, **keywords):
            raise ValueError("first")

    with pytest.raises(KeyboardInterrupt):
        dlx.from_dlpack((OddGuard if where == "guard" else Odd)())


def test_text_with_a_zero_byte_is_not_what_comes_before_it():
    with pytest.raises(ValueError, match="order"):
        dlx.asarray([1]).copy(order="C\0")
    with pytest.raises(ValueError, match="zero byte"):
        dlx.asarray(interface(typestr="<f4\0z"))
    with pytest.raises(ValueError, match="is not the name of a data type"):
        dlx.asarray([1], dtype="\ud800")
    for name in ("cpu\0z", "\ud800"):
        with pytest.raises(ValueError, match="`device` is not a device"):
            dlx.empty(1, device=name)


def test_an_exchange_table_that_gives_neither_a_tensor_nor_an_error():
    table = ExchangeAPI(DLPackVersion(1, 3))
    table.managed_tensor_from_py_object_no_sync = FROM_OBJECT(lambda address, out: 0)
    capsule = make_capsule(ctypes.addressof(table), b"dlpack_exchange_api")
    silent = type("Silent", (Producer,), {"__dlpack_c_exchange_api__": capsule, "keep": table})

    with pytest.raises(BufferError, match="Silent gave no tensor, and no error"):
        dlx.from_dlpack(silent())


def test_exchange_tables_whose_chain_is_a_ring():
    tables = [ExchangeAPI(DLPackVersion(2, minor)) for minor in range(2)]
    tables[0].prev_api = ctypes.addressof(tables[1])
    tables[1].prev_api = ctypes.addressof(tables[0])
    capsule = make_capsule(ctypes.addressof(tables[0]), b"dlpack_exchange_api")
    ring = type("Ring", (Producer,), {"__dlpack_c_exchange_api__": capsule, "keep": tables})

    assert dlx.from_dlpack(ring()).shape == (2, 3)


# ---- proxies ---------------------------------------------------------------------------------------


class Proxy:
    """As wrapt's and unittest.mock's: it says the class of what it stands for."""

    def __init__(self, wrapped):
        self.wrapped = wrapped

    __class__ = property(lambda self: type(self.wrapped))

    def __getattr__(self, name):
        return getattr(self.wrapped, name)


def test_a_proxy_of_an_array_is_taken_for_what_it_shows():
    for array in (SIX, numpy.ma.masked_array([1, 2], mask=[False, False])):
        for take in (dlx.asarray, dlx.from_dlpack):
            assert take(Proxy(array)).tolist() == array.tolist()


def test_a_proxy_does_not_hide_a_mask():
    hidden = Proxy(numpy.ma.masked_array([1, 2], mask=[False, True]))
    for take in (dlx.asarray, dlx.from_dlpack, lambda x: dlx.convert(x, "numpy")):
        with pytest.raises(dlx.UnsupportedError, match="1 masked entries would lose its mask"):
            take(hidden)
    gc.collect()


# ---- without an end --------------------------------------------------------------------------------


class Endless:
    def __getitem__(self, index):
        return 1


@pytest.mark.parametrize("numbers", [itertools.count, Endless, lambda: range(10**15)])
def test_numbers_without_an_end(numbers):
    tensor = dlx.asarray(SIX)
    for call in (
        lambda: dlx.empty(shape=numbers()),
        lambda: tensor.reshape(numbers()),
        lambda: tensor.permute_dims(numbers()),
    ):
        with pytest.raises(
            ValueError, match=r"`(shape|axes)` has too many numbers \(got 4097 or more, expected at"
        ):
            call()
