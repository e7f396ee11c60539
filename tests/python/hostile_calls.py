"""Random calls of dlx with hostile objects, and what has to hold after each. test_hostile_random.py runs
this in a process of its own: `python hostile_calls.py FIRST SECONDS [COUNT]`."""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import gc
import operator
import os
import pickle
import random
import sys
import sysconfig
import threading
import time
import weakref

import numpy

import dlx
import hostile_arrow
import hostile_objects
import hostile_world
from dlpack_ctypes import ALIVE, DOUBLE_FREES
from dlx import _pickling
from hostile_objects import Thing
from hostile_world import World, number, sequence

# What the documentation lets out, besides whatever an object raised itself.
DOCUMENTED = (TypeError, ValueError, BufferError, AttributeError, IndexError, NotImplementedError,
              MemoryError, ImportError, OverflowError, RecursionError, OSError, EOFError,
              pickle.UnpicklingError, dlx.Error)  # fmt: skip
# Python and dlx ask with these: an object that raises them says "no".
ANSWERS = (AttributeError, TypeError, IndexError, StopIteration, NotImplementedError)
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.matmul,
          operator.eq, operator.lt, operator.and_, operator.iadd, operator.imul, divmod]  # fmt: skip


class Broken(AssertionError):
    """A property does not hold."""


# ---- calls: each takes the world and a Thing, and returns what came out ---------------------------


def options(world, thing):
    """Keywords of asarray. Only what is as large as it says may be copied."""
    made = {}
    if world.chance(3):
        made["copy"] = world.pick([None, True, False]) if thing.safe else False
    if world.chance(4) and thing.safe:
        made["dtype"] = world.pick([thing, None, "float32", "int8", "bool", "complex64"])
        made["dtype"] = made["dtype"] if isinstance(made["dtype"], str) else None
    if world.chance(6):
        made["device"] = world.pick([None, "cpu", (1, 0)])
    if world.chance(20):
        made[world.pick(["copy", "device", "force", "x", "é" * 99])] = number(world)
        made.pop("dtype", None)
    return made


def take(world, thing):
    made = dlx.asarray(thing.obj, **options(world, thing))
    compare(made, thing)
    return made


def take_dlpack(world, thing):
    keywords = options(world, thing)
    keywords.pop("dtype", None)
    made = dlx.from_dlpack(thing.obj, **keywords)
    if hasattr(type(thing.obj), "__dlpack__"):
        compare(made, thing)
    return made


def hand_on(world, thing):
    made = dlx.convert(
        thing.obj, "numpy" if thing.safe else "dlx", copy=None if thing.safe else False
    )
    if thing.safe:
        compare(made, thing)
    return made


def compare(made, thing):
    """What came out is what the object stands for."""
    if thing.truth is None:
        return
    got, wanted = numpy.asarray(made), thing.truth
    if got.shape != wanted.shape or not numpy.array_equal(got, wanted.astype(got.dtype)):
        raise Broken(f"other data: got {got!r}, expected {wanted!r}")


def some_tensor(world):
    made = hostile_objects.tensor(world).obj
    with contextlib.suppress(*DOCUMENTED):
        made = world.pick(
            [lambda: made, lambda: made[0], lambda: made[..., None], lambda: made[::-1]]
        )()
    return made


def as_argument(world, thing):
    """Where a shape, axes, an order, a dtype … is expected."""
    tensor, obj = some_tensor(world), thing.obj
    by_numpy = [
        lambda: tensor.astype(obj), lambda: tensor.sum(axis=obj), lambda: tensor.clip(obj, obj),
        lambda: tensor.__array__(obj, copy=obj), lambda: tensor.__array_wrap__(obj),
        lambda: tensor.__array_ufunc__(obj, obj, obj), lambda: tensor.__array_ufunc__(numpy.add, obj, tensor),
        lambda: tensor.__array_ufunc__(numpy.add, "__call__", tensor, obj, out=obj),
        lambda: tensor.__array_ufunc__(numpy.add, "at", obj), lambda: tensor.__array_ufunc__(numpy.add, "__call__"),
        lambda: tensor.__array_function__(obj, obj, obj, obj),
        lambda: tensor.__array_function__(numpy.sum, (dlx.Tensor,), (obj,), {}),
        lambda: tensor.__array_function__(numpy.concatenate, (dlx.Tensor,), ([tensor, obj],), {"out": obj}),
        lambda: tensor.__getitem__(obj), lambda: dlx.convert(tensor, obj),
        lambda: dlx.set_export_negative_strides(obj) if not isinstance(obj, str) else None,
    ]  # fmt: skip
    if thing.numpy_too and world.chance(3):
        world.minor.append(NUMPY)
        return world.pick(by_numpy)()
    calls = [
        lambda: tensor.reshape(obj), lambda: tensor.reshape(obj, copy=obj), lambda: tensor.reshape(obj, 1),
        lambda: tensor.permute_dims(obj), lambda: tensor.transpose(obj), lambda: tensor.squeeze(obj),
        lambda: tensor.expand_dims(obj), lambda: tensor.broadcast_to(obj), lambda: tensor.view(obj),
        lambda: tensor.copy(order=obj), lambda: tensor.contiguous(obj), lambda: tensor.is_contiguous(obj),
        lambda: tensor.to_device(obj), lambda: tensor.to_device("cpu", stream=obj),
        lambda: tensor.numpy(force=obj), lambda: tensor.__dlpack__(max_version=obj),
        lambda: tensor.__dlpack__(obj), lambda: tensor.__dlpack__(copy=obj, dl_device=obj),
        lambda: tensor.__arrow_c_array__(obj), lambda: tensor.__arrow_c_device_array__(obj, x=obj),
        lambda: tensor.__array_namespace__(api_version=obj), lambda: tensor.__format__(obj),
        lambda: tensor.__deepcopy__(obj), lambda: tensor.__reduce_ex__(obj),
        lambda: tensor.__setattr__("shape", obj), lambda: setattr(dlx.Tensor, "__getitem__", None),
        lambda: dlx.dtype(obj), lambda: dlx.Device(obj), lambda: dlx.empty(obj),
        lambda: dlx.empty((2,), dtype=obj, device=obj), lambda: dlx.attach(obj), lambda: dlx.shared_fd(obj),
        lambda: dlx.convert(obj, obj, copy=False), lambda: dlx.device_of(obj),
        lambda: dlx.asarray(tensor, dtype=obj), lambda: dlx.asarray(tensor, device=obj, copy=obj),
        lambda: dlx.from_pointer(tensor.data_ptr, obj, obj, strides=obj),
        lambda: dlx.from_pointer(obj, (2,), "float32", owner=obj, on_release=obj),
        lambda: dlx.from_pointer(tensor.data_ptr, (1,), "int8", owner=tensor, on_release=obj, device=obj),
        lambda: dlx.Tensor(obj), lambda: dlx.Tensor.__new__(dlx.Tensor, obj), lambda: dlx.copyto(tensor, tensor, stream=obj),
        lambda: dlx.unshare(obj),
    ]  # fmt: skip
    return world.pick(calls)()


METHODS = sorted(
    name for name in dir(dlx.Tensor)
    if callable(getattr(dlx.Tensor, name, None)) and (not name.startswith("__") or name not in dir(object))
)  # fmt: skip


def as_self(world, thing):
    """A method, or a property, of Tensor on something else."""
    name = world.pick(METHODS)
    arguments = [number(world) for _ in range(world.rng.randrange(3))]
    if isinstance(thing.obj, dlx.Tensor) or not thing.numpy_too:
        return None
    return getattr(dlx.Tensor, name)(thing.obj, *arguments)


def as_key(world, thing):
    tensor, obj = some_tensor(world), thing.obj if thing.numpy_too else number(world, 0)
    key = world.pick([lambda: obj, lambda: (obj, obj), lambda: slice(obj, obj, obj), lambda: (..., obj),
                      lambda: (None, slice(obj), 0), lambda: [obj], lambda: sequence(world, [0, obj])])()  # fmt: skip
    if world.chance(2):
        return tensor[key]
    tensor[key] = world.pick([0, 1.5, tensor, [1]])
    return None


def as_value(world, thing):
    tensor = some_tensor(world)
    if not thing.safe:
        thing = Thing(hostile_world.nested(world), safe=True)
    if world.chance(2):
        tensor[world.pick([..., 0, slice(None), (), True, [0]])] = thing.obj
    else:
        dlx.copyto(tensor, thing.obj)


def as_target(world, thing):
    if thing.safe:
        dlx.copyto(thing.obj, world.pick([0, number(world), some_tensor(world)]))


def as_operand(world, thing):
    tensor, name = some_tensor(world), world.pick(BINARY)
    if not thing.numpy_too:
        return None
    if isinstance(thing.obj, int) and abs(thing.obj) > 2**20:  # a power of it would take for ever
        return None
    return world.pick([lambda: name(tensor, thing.obj), lambda: name(thing.obj, tensor),
                       lambda: thing.obj in tensor, lambda: tensor == thing.obj])()  # fmt: skip


def damaged_pickle(world, thing):
    tensor = some_tensor(world)
    function, parts = tensor.__reduce_ex__(world.pick([2, 5]))
    parts = list(parts)
    spoilt = world.rng.randrange(len(parts))
    right = parts[spoilt]
    parts[spoilt] = world.pick(
        [thing.obj, number(world), sequence(world, [number(world, 3)]), right]
    )
    made = _pickling.rebuild(*parts)
    whole = pickle.dumps(tensor, world.pick([2, 3, 4, 5]))
    pickle.loads(whole[: world.rng.randrange(len(whole))])
    return function, made


def buffers_meanwhile(world, thing):
    """Exports of one memory while others have theirs."""
    block = bytearray(48)
    made = dlx.asarray(block)
    views = [memoryview(made), numpy.asarray(made), made[::2], made.__dlpack__()]
    with contextlib.suppress(BufferError):
        block.append(1)
        raise Broken("a bytearray was resized under a Tensor")
    world.stumble(thing.obj)
    views[0].release()
    del views, made
    gc.collect()
    block.append(1)


CALLS = [take] * 6 + [take_dlpack, hand_on] * 3 + [as_argument] * 4 + [
    as_self, as_key, as_key, as_value, as_value, as_target, as_operand, damaged_pickle, buffers_meanwhile,
]  # fmt: skip
BY_NUMPY = (as_key, as_operand)
NUMPY = object()  # among what is minor: NumPy may swallow what it likes


# ---- what has to hold ---------------------------------------------------------------------------------


def judge(world, call, thing):
    """One call, and whether its end is as it should be."""
    world.raised.clear()
    error = None
    try:
        out = call(world, thing)
        if call in (take, take_dlpack) and thing.safe:
            repr(out)
    except Broken:
        raise
    except BaseException as caught:
        error = caught
    raised, minor = list(world.raised), list(world.minor)
    world.raised.clear()
    world.minor.clear()
    if call in BY_NUMPY or NUMPY in minor:
        minor = raised
    try:
        problem = explain(error, raised, minor)
    finally:
        for one in (error, *raised):
            if isinstance(one, BaseException):
                one.__traceback__ = one.__context__ = None
        del raised, minor, error
    if problem:
        raise Broken(f"{call.__name__}: {problem}")


def explain(error, raised, minor):
    """What is wrong with this end of a call, in words; or None. What is minor may be swallowed."""
    kept = [one for one in raised if not any(one is other for other in minor)]
    urgent = [one for one in kept if not isinstance(one, Exception)]
    mine = any(error is one for one in raised)
    if urgent and not any(error is one for one in urgent):
        return f"{urgent[0]!r} was swallowed (came out: {type(error).__name__})"
    if mine:
        return None
    firm = [one for one in kept if not isinstance(one, ANSWERS)]
    if error is None:
        return f"{firm[0]!r:.200} was swallowed" if firm else None
    if isinstance(error, RuntimeError) and "raised StopIteration" in str(error):
        return None  # Python's own, out of a generator
    if isinstance(error, SystemError) or not isinstance(error, DOCUMENTED):
        return f"undocumented: {type(error).__name__}: {error}"
    if isinstance(error, UnicodeDecodeError):
        return f"a message that cannot be read: {error}"
    if isinstance(error, dlx.Error) and not str(error):
        return "an error without words"
    if firm and not isinstance(error, dlx.UnsupportedError):
        return f"{type(firm[0]).__name__} became {type(error).__name__}: {error}"
    return None


# Free-threaded CPython 3.13 keeps some dicts of classes and some lists, also where no call of dlx saw them
# (docs/reliability.md).
KEEPS = bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and sys.version_info < (3, 14)


def run(make_rng, seed=None):
    """All that one source of decisions says; with a seed also in threads. Some things are kept for ever, but
    not more each time."""
    for _ in range(3):
        left = run_once(make_rng(), seed)
        if not left:
            return
    raise Broken(f"{left} Tensors are left over")


def run_once(rng, seed):
    world = World(rng)
    gone = []
    tensors = sys.getrefcount(dlx.Tensor)

    def caller(own):
        for _ in range(4):
            thing = hostile_objects.anything(own)
            with contextlib.suppress(TypeError):
                if not isinstance(thing.obj, type):
                    gone.append(weakref.ref(thing.obj))
            if own.chance(3):
                own.pool.append(thing.obj)
            for _ in range(1 + own.rng.randrange(2)):
                judge(own, own.pick(CALLS), thing)
            del thing
            if own.chance(4):
                gc.collect()

    if seed is not None and rng.randrange(8) == 0:
        in_threads(caller, world, seed)
    else:
        caller(world)
    world.pool.clear()
    gc.collect()
    check_released(world, gone)
    return 0 if KEEPS else sys.getrefcount(dlx.Tensor) - tensors


def in_threads(caller, world, seed):
    failures = []

    def run_one(i):
        own = World(random.Random(seed * 10 + i))
        own.pool, own.exports, own.arrow = world.pool, world.exports, world.arrow
        try:
            caller(own)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run_one, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures.pop()


def check_released(world, gone):
    for export in world.exports:
        if not export.struct.deleter or getattr(export, "forsaken", False):
            ALIVE.pop(export.address, None)
    if ALIVE or DOUBLE_FREES:
        raise Broken(f"deleters: {len(ALIVE)} not called, {len(DOUBLE_FREES)} called twice")
    if hostile_arrow.ALIVE or hostile_arrow.TWICE:
        raise Broken(f"Arrow: {hostile_arrow.ALIVE} not released, {hostile_arrow.TWICE} twice")
    left = [ref() for ref in gone if ref() is not None]
    if left and not KEEPS:
        raise Broken(f"objects are left over: {[type(obj).__mro__ for obj in left]}")


def main(first, seconds, count=None):
    faulthandler.enable()
    unraisable = []
    sys.unraisablehook = lambda info: unraisable.append(info.exc_type)
    end = time.monotonic() + seconds
    seed = first
    while time.monotonic() < end and (count is None or seed < first + count):
        print(f"seed {seed}", flush=True)
        run(functools.partial(random.Random, seed), seed)
        if SystemError in unraisable:
            raise Broken("a SystemError in a deleter")
        unraisable.clear()
        seed += 1
    print(f"done with {seed - first} seeds")


if __name__ == "__main__":
    if os.environ.get("DLX_HOSTILE_GC"):
        gc.set_threshold(1, 1, 1)
    main(int(sys.argv[1]), float(sys.argv[2]), *map(int, sys.argv[3:]))
