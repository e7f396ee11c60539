"""Objects whose `__cuda_array_interface__` lies, raises, or changes while it is read."""

from __future__ import annotations

import collections
import gc
import itertools
import sys
import weakref

import pytest
from fake_driver import Memory, cuda

import dlx
import memory as process_memory


def showing(answer, **body):
    """An object of a new class whose property gives what `answer` returns."""
    return type("Foreign", (), {"__cuda_array_interface__": property(answer), **body})()


def with_fields(memory, **fields):
    interface = memory.interface(**fields)
    return showing(lambda self: interface)


@pytest.fixture
def memory():
    memory = Memory()
    yield memory
    gc.collect()
    memory.close()


class Fails:
    def __init__(self, error):
        self.error = error

    def __index__(self):
        raise self.error

    __bool__ = __index__


ODD = [5, -1, 1.5, "x", b"<i4", [], (), {}, object(), float("nan"), (1, 2, 3), ("a", "b"), 2**63, 2**64,
       -(2**80), (2**63,), (2**62, 2**62), (-1,), (-(2**63),), (1.5,), ((),), itertools.repeat(1)]  # fmt: skip


@pytest.mark.parametrize("key", ["version", "shape", "strides", "typestr", "data", "stream"])
@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
def test_a_wrong_value_of_a_key_is_refused(memory, key, value):
    if (key, value) == ("stream", 5):
        pytest.skip("5 may be the handle of a stream: only the driver knows")
    fields = {key: value}
    if key == "shape" and value in ([], (), {}, (1, 2, 3), b"<i4"):
        pytest.skip("any iterable of integers passes for a shape")
    source = with_fields(memory, **fields)
    before = sys.getrefcount(source)
    with pytest.raises((TypeError, ValueError, BufferError, dlx.Error), match=r"Foreign|'stream'"):
        dlx.asarray(source)
    assert sys.getrefcount(source) == before


@pytest.mark.parametrize("key", ["shape", "typestr", "data", "version"])
@pytest.mark.parametrize("gone", [True, False])
def test_a_key_that_is_missing_or_none_is_named(memory, key, gone):
    interface = memory.interface(**{key: None})
    if gone:
        del interface[key]
    with pytest.raises(ValueError, match=f"Foreign: '{key}' is missing"):
        dlx.asarray(showing(lambda self: interface))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"shape": (2**62, 4)}, "more than 2.63-1 elements"),
        ({"shape": (2, 2**61), "strides": None}, "2.63"),
        ({"shape": (2, 2), "strides": (2**63, 4)}, "beyond 64 bits"),
        ({"shape": (2, 2), "strides": (2**62, 4)}, "overflow|address space"),
        ({"shape": itertools.repeat(1)}, "too many numbers"),
        ({"shape": (1,) * 65, "strides": (4,) * 65}, "at most 64"),
        ({"data": (2**64, False)}, "beyond 64 bits"),
        ({"data": (-(2**64), False)}, "beyond 64 bits"),
        ({"data": (1, 2, 3)}, "3 items"),
        ({"data": ()}, "0 items"),
        ({"stream": 2**63}, "beyond 64 bits"),
        ({"version": 2**70}, "beyond 64 bits"),
        ({"version": -1}, "version -1"),
    ],
)
def test_numbers_that_do_not_fit(memory, fields, words):
    with pytest.raises((ValueError, BufferError), match=words):
        dlx.asarray(with_fields(memory, **fields))


@pytest.mark.parametrize(
    "typestr", ["", "<", "<i", "<i3", "<i99999999999999999999", "i4", "<f4x", "<i4\0", "<V8", "<U4", "<m8", "|b4",
                "\ud800", ">c8", "é4"]
)  # fmt: skip
def test_typestrs_that_no_dtype_has(memory, typestr):
    with pytest.raises((ValueError, BufferError)):
        dlx.asarray(with_fields(memory, typestr=typestr))


def test_structured_types_are_refused(memory):
    fields = {"typestr": "|V4", "descr": [("x", "<i2"), ("y", "<i2")]}
    with pytest.raises(BufferError, match=r"Foreign.*V4"):
        dlx.asarray(with_fields(memory, **fields))


@pytest.mark.parametrize(
    ("name", "put"),
    [
        ("shape", lambda odd: (odd,)),
        ("strides", lambda odd: (odd,)),
        ("data", lambda odd: (odd, False)),
        ("data", lambda odd: (1, odd)),
        ("stream", lambda odd: odd),
        ("version", lambda odd: odd),
    ],
)
@pytest.mark.parametrize("kind", [RuntimeError, TypeError, KeyboardInterrupt])
def test_the_error_of_a_field_passes_through(memory, name, put, kind):
    error = kind("mine")
    source = with_fields(memory, **{name: put(Fails(error))})
    with pytest.raises(kind) as caught:
        dlx.asarray(source)
    assert caught.value is error
    assert str(error) == "mine"


@pytest.mark.parametrize("kind", [RuntimeError, TypeError, KeyboardInterrupt])
def test_the_error_of_the_property_passes_through(kind):
    error = kind("mine")

    def answer(self):
        raise error

    with pytest.raises(kind) as caught:
        dlx.asarray(showing(answer))
    assert caught.value is error


def test_an_attribute_error_means_that_there_is_none():
    def answer(self):
        raise AttributeError("no data on a device")

    assert (
        dlx.asarray(showing(answer, __array_interface__=dlx.empty(3).__array_interface__)).size == 3
    )
    with pytest.raises(TypeError, match="AttributeError: no data on a device"):
        dlx.asarray(showing(answer))
    assert dlx.asarray(showing(lambda self: None, __buffer__=None, __float__=float, __iter__=iter,
                               __array_interface__=dlx.empty(2).__array_interface__)).size == 2  # fmt: skip


def test_dicts_of_other_classes_are_read_as_dicts(memory):
    class Lies(dict):
        def __getitem__(self, key):
            raise RuntimeError("not asked")

        get = __contains__ = keys = __len__ = __iter__ = __missing__ = __getitem__

    for kind in (
        Lies,
        collections.OrderedDict,
        lambda fields: collections.defaultdict(int, fields),
    ):
        interface = kind(memory.interface())
        assert dlx.asarray(showing(lambda self, it=interface: it)).data_ptr == memory.address
    for mapping in (collections.UserDict(memory.interface()), [*memory.interface().items()]):
        with pytest.raises(TypeError, match=r"not a dict .got .*Foreign"):
            dlx.asarray(showing(lambda self, it=mapping: it))


def test_keys_that_compare_badly(memory):
    class Key(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            raise RuntimeError("do not compare")

    interface = {Key("shape"): (1,)}
    with pytest.raises(RuntimeError, match="do not compare"):
        dlx.asarray(
            showing(lambda self: {**interface, "version": 3, "typestr": "<i4", "data": (1, 0)})
        )


@pytest.mark.parametrize("where", ["version", "shape", "strides", "address", "read-only", "stream"])
def test_an_interface_that_is_emptied_while_it_is_read(memory, where):
    """What was read stays alive; what is missing then is refused, or None."""
    good = {
        "version": 3,
        "shape": 4,
        "strides": 4,
        "address": memory.address,
        "read-only": 0,
        "stream": 1,
    }

    class Emptying:
        def __index__(self):
            interface.clear()
            gc.collect()
            return good[where]

        def __bool__(self):
            return bool(self.__index__())

    given = {**good, where: Emptying()}
    interface = memory.interface(
        version=given["version"], shape=(given["shape"],), strides=(given["strides"],),
        data=(given["address"], given["read-only"]), stream=given["stream"],
    )  # fmt: skip
    source = showing(lambda self: interface)
    if where in ("version", "shape", "strides"):
        with pytest.raises(ValueError, match="is missing"):
            dlx.asarray(source)
        return
    tensor = dlx.asarray(source)
    assert (tensor.data_ptr, tensor.shape, tensor.readonly) == (memory.address, (4,), False)


def test_a_dict_that_nobody_else_holds_lives_as_long_as_the_tensor(memory):
    class Dict(dict):  # which can be referred to weakly
        pass

    made = []

    def answer(self):
        interface = Dict(memory.interface())
        made.append(weakref.ref(interface))
        return interface

    tensor = dlx.asarray(showing(answer))
    gc.collect()
    assert made[0]() is not None
    del tensor
    gc.collect()
    assert made[0]() is None


@pytest.mark.parametrize("stream", [1, 2, None])
def test_views_and_refusals_leave_nothing(memory, stream):
    source = with_fields(memory, stream=stream)
    alive = weakref.ref(source)
    tensor = dlx.asarray(source)
    view = tensor[::-1]
    for refused in ({"dtype": "float32"}, {"device": "rocm:7"}):
        process_memory.failing(dlx.asarray, source, **refused)
    del source, tensor
    gc.collect()
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


def test_no_python_code_of_dlx_runs(memory):
    source = with_fields(memory)
    tensor = dlx.asarray(source)  # asks once what the class is
    called = []
    sys.setprofile(lambda frame, event, _: called.append((event, frame.f_code.co_filename)))
    dlx.asarray(source)
    dlx.asarray(source, copy=False)
    _ = tensor.__cuda_array_interface__
    sys.setprofile(None)
    files = {name for event, name in called if event == "call"}
    assert files == {__file__}  # the property


@pytest.mark.heavy
@process_memory.READABLE
@pytest.mark.parametrize(
    "kind", ["import", "import strided", "refused", "export", "export strided", "no export"]
)
def test_memory_stays_flat(memory, kind):
    good = with_fields(memory, shape=(2, 2))
    strided = with_fields(memory, shape=(2, 2), strides=(4, 8))
    bad = [with_fields(memory, **fields) for fields in (
        {"shape": (1.5,)}, {"typestr": "x"}, {"stream": 0}, {"data": (8, False)}, {"mask": 1},
    )]  # fmt: skip
    tensor, host = dlx.asarray(good), dlx.empty(3)
    view = tensor[::-1]
    steps = {
        "import": lambda: dlx.asarray(good),
        "import strided": lambda: dlx.asarray(strided, copy=False),
        "refused": lambda: [process_memory.failing(dlx.asarray, source) for source in bad],
        "export": lambda: tensor.__cuda_array_interface__,
        "export strided": lambda: view.__cuda_array_interface__,
        "no export": lambda: hasattr(host, "__cuda_array_interface__"),
    }

    def step():
        steps[kind]()
        cuda().clear_log()

    process_memory.stays_flat(step, 20_000)
