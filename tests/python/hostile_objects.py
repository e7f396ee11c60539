"""Random objects that speak some of the protocols that dlx reads, rightly or wrongly, and misbehave."""

from __future__ import annotations

import array
import ctypes
import types
from typing import Any, NamedTuple

import numpy

import dlx
from hostile_answers import ANSWERS, capsule, device_pair, exchange_table, interface, memory_of
from hostile_world import ERRORS, nested, number, sequence, text

NAMES_OF_CLASSES = ["Plain", "é" * 60, "a" + "é" * 60, "Tracer", "DataArray", "Index", "x.y"]
MODULES = ["here", None, 3, "numpy", "pandas", "scipy.sparse", "xarray", "dask.array", "pyarrow",
           "mxnet", "jax", "astropy.units", "tensorflow", "_cffi_backend", "é" * 70]  # fmt: skip
# In the order in which asarray looks for them.
PROTOCOLS = [
    "__dlpack__",
    "__array_interface__",
    "__array_struct__",
    "__arrow_c_array__",
    "__array__",
]
ATTRIBUTES = ["__array_struct__", "__array_interface__"]
ODD = ["mask", "dtype", "shape", "unit", "data", "columns", "keys", "nnz", "filled", "_meta"]


class Thing(NamedTuple):
    """An object, the array that it stands for if it tells the truth, whether its memory is as large as it
    says, so that dlx may be told to copy it, and whether NumPy survives it: an `__array_struct__` that
    lies crashes NumPy."""

    obj: Any
    truth: Any = None
    safe: bool = False
    numpy_too: bool = True


def _member(world, name, truth, honest):
    """A method, or a property, that answers for one protocol."""

    def answer(self, *args, **kwargs):
        # An error says no to copy=True, and a view is asked for: dlx copies that.
        world.stumble(self, calm=honest, minor=kwargs.get("copy") is True)
        if name == "__array_interface__":
            self.held = interface(world, truth, honest)
            return self.held
        if name == "__dlpack_device__":
            return device_pair(world, honest)
        return ANSWERS[name](world, truth, honest, self)

    def kept(self):
        # Not callable: CPython drops it while a TypeError is set, which a destructor in ctypes loses.
        self.answered = answer(self)
        return self.answered

    if name in ATTRIBUTES:
        return property(answer)
    if honest or world.chance(2):
        return answer
    return world.pick([
        lambda self: answer(self),
        lambda self, stream=None: answer(self),
        lambda self, *, max_version=None, copy=None: answer(self),
        staticmethod(lambda **_: None), classmethod(answer), property(kept), None, 3,
    ])  # fmt: skip


def _odd_metaclass(world):
    def look(cls, name):
        if name.startswith("__") and world.chance(30):
            error = world.pick(ERRORS)("thrown by a hostile class")
            world.raised.append(error)
            if isinstance(error, Exception) or name in ("__module__", "__qualname__"):  # for words
                world.minor.append(error)
            raise error
        return type.__getattribute__(cls, name)

    def refuse(*_):
        world.fail()

    body = world.pick([{"__getattribute__": look}, {"__eq__": refuse, "__hash__": type.__hash__},
                       {"__hash__": refuse}, {"__instancecheck__": refuse},
                       {"__getattr__": lambda cls, name: None}, {"__call__": None}])  # fmt: skip
    return type("Meta", (type,), body)


def speaker(world):
    """An object of a class of its own with a random set of protocols."""
    rng, truth = world.rng, memory_of(world)
    honest = world.chance(2)
    chosen = sorted(rng.sample(PROTOCOLS, rng.randrange(1, 4)), key=PROTOCOLS.index)
    if "__arrow_c_array__" in chosen and (truth.ndim != 1 or truth.dtype.kind in "?bc"):
        truth = numpy.arange(1, 7, dtype="f8")
    # The first decides: what comes behind it must not matter.
    body = {name: _member(world, name, truth, honest and i == 0) for i, name in enumerate(chosen)}
    if "__dlpack__" in body:
        body["__dlpack_device__"] = _member(world, "__dlpack_device__", truth, honest)
        if not honest and world.chance(3):
            body["__dlpack_c_exchange_api__"] = exchange_table(world, truth)
    if world.chance(10):
        body["__del__"] = lambda self: world.die(self)
    if not honest:
        for name in rng.sample(ODD, rng.randrange(3)):
            value = world.pick([None, 3, "f4", numpy.dtype("O"), object(), truth])

            def odd(self, value=value):
                world.stumble(self, minor=True)
                return value

            body[name] = property(odd) if world.chance(2) else value
        body["__module__"] = world.pick(MODULES)
        if world.chance(8):
            lie = world.pick([numpy.ndarray, list, int, str, dlx.Tensor, tuple, float, type])
            body["__class__"] = property(lambda self: lie)
        if world.chance(8):
            body["__getattr__"] = lambda self, name: world.stumble(self, minor=True)
        if world.chance(8):
            body["__cuda_array_interface__"] = property(lambda self: interface(world, truth, False))
    maker = _odd_metaclass(world) if not honest and world.chance(6) else type
    world.raised.clear()
    try:
        obj = type.__call__(type.__call__(maker, world.pick(NAMES_OF_CLASSES), (), body))
    except BaseException:  # the metaclass again
        obj = types.SimpleNamespace()
    world.raised.clear()
    return Thing(obj, truth if honest else None, honest, honest and len(chosen) == 1)


# ---- objects without a class of their own -----------------------------------------------------------


def buffer(world):
    truth = memory_of(world)
    released = memoryview(bytearray(8))
    released.release()
    block, flat = bytearray(truth.tobytes()), numpy.arange(1, 7, dtype="i4")
    ints, c_ints = array.array("i", flat), (ctypes.c_int * 6)(*flat)
    return world.pick([
        lambda: Thing(memoryview(truth), truth, True),
        lambda: Thing(block, numpy.frombuffer(block, "u1"), True),
        lambda: Thing(ints, numpy.frombuffer(ints, "i4"), True),
        lambda: Thing(c_ints, numpy.frombuffer(c_ints, "i4"), True),
        lambda: Thing((ctypes.c_int.__ctype_be__ * 6)(), safe=True),
        lambda: Thing((ctypes.py_object * 2)(), safe=True),
        lambda: Thing(released, safe=True),
        lambda: Thing(memoryview(bytes(6)).cast("c"), safe=True),
        lambda: Thing(numpy.zeros(4, "M8[s]"), safe=True),
        lambda: Thing(numpy.zeros(4, [("a", "i1"), ("b", "f4")])["b"], numpy.zeros(4, "f4"), True),
        lambda: Thing(numpy.zeros(4, [("a", "i1"), ("b", "f4")])["b"].view(_subclass(world)), safe=True),
        lambda: Thing(truth.view(_subclass(world)), safe=True),
        lambda: Thing(numpy.ma.masked_array(truth, mask=truth.astype(bool)), safe=True),
    ])()  # fmt: skip


def _subclass(world):
    """A class of arrays of which some methods are something else."""

    def answer(self, *args, **kwargs):
        world.stumble(self, calm=True)
        return world.pick([None, 3, self, numpy.zeros(2), "x"])

    names = ["copy", "__dlpack__", "__array_interface__", "dtype", "shape", "__array__", "mask"]
    return type("Sub", (numpy.ndarray,), dict.fromkeys(world.rng.sample(names, 2), answer))


def tensor(world):
    truth = memory_of(world)
    made = dlx.asarray(truth)
    return Thing(made.as_readonly() if world.chance(4) else made, truth, True)


def anything(world):
    """One hostile object, or a good one."""
    kind = world.rng.randrange(16)
    if kind < 7:
        return speaker(world)
    if kind < 9:
        return buffer(world)
    if kind < 11:
        return Thing(nested(world), safe=True)
    if kind == 11:
        return tensor(world)
    if kind == 12:
        return Thing(number(world), safe=True)
    if kind == 13:
        return Thing(text(world, world.pick(["float32", "cpu", "C", "numpy"])), safe=True)
    if kind == 14:
        return Thing(sequence(world, [number(world, 2), number(world, 3)]), safe=True)
    truth = numpy.arange(1, 7, dtype="f4")
    return Thing(capsule(world, truth, False, None), numpy_too=False)
