"""What Python tells the native code about classes of other libraries, also of those not installed."""

import gc
import sys
import types
import weakref

import pytest

import dlx
from dlpack_ctypes import LegacyProducer, Producer
from dlx._lib import classes
from dlx._take import classify, generated_bits, guards


def look_alike(module, base=object, **attributes):
    """A class that looks as if a module of that name had defined it."""
    return type("Thing", (base,), {"__module__": module, **attributes})


@pytest.mark.parametrize(
    "module",
    [
        "jaxlib._jax",
        "jaxlib.xla_extension",
        "jax._src.array",
        "tensorflow.python.framework.ops",
        "pyarrow.lib",
    ],
)
def test_legacy_capsules_of_immutable_libraries_are_read_only(module):
    cls = look_alike(module, LegacyProducer)

    assert classify.classify(cls) & generated_bits.IMMUTABLE
    assert dlx.from_dlpack(cls()).readonly
    # A versioned capsule speaks for itself.
    assert not dlx.from_dlpack(look_alike(module, Producer)()).readonly


def test_no_two_classes_make_each_other_be_looked_at_again():
    # Among 2000, many share a place of the native code's table with the first one.
    things = [look_alike("mylib", Producer)() for _ in range(2000)]
    first, called = things[0], []

    def note(frame, event, _):
        if event == "call" and frame.f_code is classify.classify.__code__:
            called.append(frame.f_locals["cls"])

    sys.setprofile(note)
    try:
        for thing in things[1:]:
            dlx.from_dlpack(first)
            dlx.from_dlpack(thing)
            called.clear()
            dlx.from_dlpack(first)
            assert not called
    finally:
        sys.setprofile(None)


def test_other_libraries_legacy_capsules_are_writable():
    assert not dlx.from_dlpack(look_alike("mylib", LegacyProducer)()).readonly
    assert not classify.classify(look_alike("mylib")) & generated_bits.IMMUTABLE
    assert not classify.classify(look_alike("jaxlike.core")) & generated_bits.IMMUTABLE


def test_ndarrays_are_read_by_their_fields_only_while_their_protocols_are_numpy_s():
    numpy = pytest.importorskip("numpy", reason="classifies its classes")

    class Plain(numpy.ndarray):
        pass

    class Overridden(numpy.ndarray):
        def __dlpack__(self, **keywords):
            return (numpy.asarray(self) + 1).__dlpack__(**keywords)

    assert classify.classify(numpy.ndarray) == generated_bits.NDARRAY
    assert classify.classify(Plain) == generated_bits.NDARRAY | generated_bits.GUARD
    assert classify.classify(Overridden) == generated_bits.GUARD
    assert dlx.from_dlpack(numpy.zeros(2).view(Overridden)).tolist() == [1, 1]
    assert classify.classify(numpy.ma.MaskedArray) & generated_bits.GUARD


def test_exchange_tables_count_where_the_class_itself_has_one():
    class Own:
        __dlpack_c_exchange_api__ = object()

    class Inherits(Own):
        pass

    assert classify.classify(Own) & generated_bits.TABLE
    assert not classify.classify(Inherits) & generated_bits.TABLE


def test_torch_s_classes(monkeypatch):
    # A stand-in, so that the rule is tested where torch is not installed.
    tensor = look_alike("torch", __dlpack_c_exchange_api__=object())
    parameter = look_alike("torch.nn.parameter", tensor)
    torch = types.SimpleNamespace(Tensor=tensor, nn=types.SimpleNamespace(Parameter=parameter))
    monkeypatch.setitem(sys.modules, "torch", torch)

    assert (
        classify.classify(tensor)
        == classify.classify(parameter)
        == generated_bits.TORCH | generated_bits.TABLE
    )
    other = look_alike("torch._subclasses.fake_tensor", tensor)
    assert classify.classify(other) == generated_bits.TORCH | generated_bits.GUARD


@pytest.mark.parametrize(
    ("signature", "legacy"),
    [
        (lambda self, stream=None: None, True),
        (lambda self: None, True),
        (lambda self, **keywords: None, True),
        (lambda self, *, stream=None, max_version=None, dl_device=None, copy=None: None, False),
        (lambda self, stream=None, max_version=None, **keywords: None, False),
        (len, True),
    ],
)
def test_signatures_of_dlpack_methods(signature, legacy):
    cls = look_alike("mylib", __dlpack__=signature)

    assert classify.legacy_signature(cls()) is legacy


def test_a_type_error_in_a_producer_that_swallows_keywords_is_shown():
    class Wrapper:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            raise TypeError("a real one")

    with pytest.raises(TypeError, match="a real one"):
        dlx.from_dlpack(Wrapper())


def test_wrappers_that_hand_all_keywords_to_an_old_producer_work():
    inner = LegacyProducer(bytes(24))

    class Wrapper:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            return inner.__dlpack__(**keywords)

    assert dlx.from_dlpack(Wrapper()).data_ptr == inner.address


def test_masks_and_units_are_looked_for_only_where_they_mean_something():
    mask = types.SimpleNamespace(any=lambda: True, sum=lambda: 2)

    class Flagged:
        mask, unit, filled = True, "m", None

    class Masked:
        filled = None

        @property
        def mask(self):
            return mask

    guards.guard(Flagged())
    guards.guard(object())
    guards.guard(types.SimpleNamespace(mask=mask, filled=None))  # its class knows of no mask
    with pytest.raises(BufferError, match="masked"):
        guards.guard(Masked())


class _Nowhere(type):
    @property
    def __module__(cls):
        raise AttributeError("no")


@pytest.mark.parametrize(
    "cls",
    [type("Thing", (), {"__module__": None}), type("Thing", (), {"__module__": 3}),
     _Nowhere("Thing", (), {})],
)  # fmt: skip
def test_classes_that_say_odd_things_of_their_module(cls):
    pytest.importorskip("numpy")
    thing, tensor = cls(), dlx.asarray([1.0, 2.0])

    for take in (dlx.asarray, dlx.dtype, dlx.Device, lambda x: dlx.Stream(x, device="cuda")):
        with pytest.raises(TypeError, match="Thing"):
            take(thing)
    for name in (cls, "numpy"):
        with pytest.raises((TypeError, ValueError), match="Thing"):
            dlx.convert(tensor if name is cls else thing, name)
    assert (tensor == thing) is False
    assert thing not in tensor
    with pytest.raises(TypeError, match="unsupported operand"):
        tensor + thing


def test_what_stands_for_torch_in_a_test_is_not_taken_for_it(monkeypatch):
    for fake in (types.SimpleNamespace(Tensor=lambda: None), types.ModuleType("torch"), None):
        monkeypatch.setitem(sys.modules, "torch", fake)

        assert dlx.asarray(look_alike("mylib", Producer)()).size
        assert not classify.classify(look_alike("mylib")) & generated_bits.TORCH
        with pytest.raises(TypeError, match="cannot make an array of `obj`"):
            dlx.asarray(look_alike("mylib")())


def test_answers_about_classes_are_remembered_as_long_as_the_class_is():
    class Mute(type):
        """Classes that cannot be asked for a hash, nor compared."""

        __hash__ = None

        def __eq__(cls, other):
            raise AssertionError

    class Answer:
        pass

    answers = []

    @classes.once_for_each_class
    def answer(cls):
        fresh = Answer()
        answers.append(weakref.ref(fresh))
        return fresh

    for metaclass in (type, Mute):
        for i in range(20):
            cls = metaclass("Thing", (), {"__module__": f"there{i}.inner"})
            assert answer(cls) is answer(cls)
            assert classes.packages_of(cls) == {f"there{i}", "builtins"}
    assert len(answers) == 40
    del cls
    gc.collect()
    assert not any(known() for known in answers)
