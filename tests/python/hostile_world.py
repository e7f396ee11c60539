"""What hostile objects share: when they misbehave and how, and the values that they answer with.

Everything is drawn from one random number generator, so that a seed tells the whole story.
"""

from __future__ import annotations

import gc
import threading
import time

import numpy

import dlx

NUMBERS = [0, 1, 2, 3, 6, -1, -3, 2**40, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63), 2**70]


class Urgent(BaseException):
    """No Exception: nobody may swallow it."""


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


ERRORS = [RuntimeError, ValueError, TypeError, AttributeError, IndexError, KeyError, MemoryError,
          OverflowError, BufferError, NotImplementedError, StopIteration, LookupError, Unprintable,
          RecursionError, KeyboardInterrupt, SystemExit, GeneratorExit, Urgent]  # fmt: skip


class World:
    """What the objects of one seed share."""

    def __init__(self, rng):
        self.rng = rng
        self.local = threading.local()
        self.exports = []
        self.arrow = []
        self.pool = []  # Tensors and objects that misbehaving code may use, or drop
        self.base = numpy.arange(1, 25, dtype="f8")

    @property
    def raised(self):
        """The exceptions that objects have raised in the call under way, by thread."""
        if not hasattr(self.local, "raised"):
            self.local.raised = []
        return self.local.raised

    @property
    def minor(self):
        if not hasattr(self.local, "minor"):
            self.local.minor = []
        return self.local.minor

    def chance(self, one_in):
        return self.rng.randrange(one_in) == 0

    def pick(self, items):
        return items[self.rng.randrange(len(items))]

    def fail(self, minor=False):
        """Raises something; `minor`: in the search for the reason of another error, which counts."""
        error = self.pick(ERRORS)("thrown by a hostile object")
        self.raised.append(error)
        if minor and isinstance(error, Exception):
            self.minor.append(error)
        raise error

    def stumble(self, subject, calm=False, minor=False):
        """What may happen whenever foreign code runs; `calm`: nothing that changes the answer."""
        if self.chance(12):
            self.fail(minor)
        if not self.chance(6):
            return
        harmless = [gc.collect, lambda: time.sleep(0), self.enter_again]
        harmful = [lambda: self.forget(subject), self.pool.clear, lambda: self.strip(subject)]
        self.pick(harmless if calm else harmless + harmful)()

    def enter_again(self):
        """A call of dlx within another."""
        depth = getattr(self.local, "depth", 0)
        if depth > 2 or not self.pool:
            return
        before = list(self.raised)
        self.local.depth = depth + 1
        try:
            thing = self.pick(self.pool)
            self.pick([dlx.asarray, dlx.from_dlpack, lambda x: x[...], memoryview])(thing)
        except BaseException:
            pass
        finally:
            self.local.depth = depth
            self.raised[:] = before

    def die(self, subject):
        """A finalizer: what it raises is nobody's. (A change of class in there crashes CPython 3.11.)"""
        before = list(self.raised)
        try:
            self.stumble(subject, calm=True)
            gc.collect()
        finally:
            self.raised[:] = before

    def forget(self, subject):
        """Drops what an object holds."""
        held = getattr(subject, "__dict__", None)
        for value in list(held.values()) if isinstance(held, dict) else []:
            if isinstance(value, (dict, list)):
                value.clear()
            elif isinstance(value, memoryview):
                value.release()

    def strip(self, subject):
        """Takes a method away from the class, or makes it another class."""
        cls = type(subject)
        names = [n for n in vars(cls) if n.startswith(("__dlpack", "__arr", "__len", "__get"))]
        try:
            if names and self.chance(2):
                delattr(cls, self.pick(sorted(names)))
            else:
                subject.__class__ = type("Other", (), {})
        except (AttributeError, TypeError):
            pass


# ---- values --------------------------------------------------------------------------------------


def number(world, right=2):
    """Something where a number is expected; it may be `right`."""
    kind = world.rng.randrange(12)
    if kind < 4:
        return right
    if kind < 6:
        return world.pick(NUMBERS)
    if kind == 6:
        return world.pick([None, "2", b"2", 2.5, (), [2], {}, object(), type, numpy.int64(2)])
    value = right if world.chance(2) else world.pick([*NUMBERS, "2", None, 2.0])

    def answer(self, *_):
        world.stumble(self)
        return value

    if kind == 7:
        return type("Int", (int,), {"__index__": answer, "__int__": answer})(right or 0)
    names = world.rng.sample(["__index__", "__int__", "__float__", "__complex__", "__bool__"], 2)
    if kind > 8:
        names.append("__index__")
    return type("Number", (), dict.fromkeys(names, answer))()


def sequence(world, items):
    """Something where a tuple of `items` is expected."""
    items = list(items)
    kind = world.rng.randrange(10)
    if kind < 3:
        return tuple(items)
    if kind == 3:
        return items
    if kind == 4:
        return tuple(items[1:]) if world.chance(2) else (*items, number(world))
    if kind == 5:
        return world.pick([None, 3, "ab", b"ab", {1: 2}, {1}, iter(items), range(2), object()])

    def length(self):
        world.stumble(self)
        return world.pick([len(items), len(items) + 1, 0, -1, 2**62, "x"])

    def item(self, index):
        world.stumble(self)
        return items[index] if isinstance(index, int) and index < len(items) else items[0]

    def walk(self):
        for value in list(items):
            world.stumble(self)
            yield value

    body = {"__len__": length, "__getitem__": item, "__iter__": walk}
    for name in world.rng.sample(sorted(body), world.rng.randrange(3)):
        del body[name]
    base = world.pick([(), (tuple,), (list,)])
    cls = type("Sequence", base, body)
    try:
        return cls(items) if base else cls()
    except BaseException:  # its own __iter__
        world.raised.clear()
        return cls()


def text(world, right):
    kinds = [right] * 4 + [
        "",
        "\ud800",
        right + "\0x",
        "é" * 99,
        "a" + "é" * 99,
        right.encode(),
        None,
    ]
    value = world.pick([*kinds, 3])
    if isinstance(value, str) and world.chance(4):
        return type("Text", (str,), {"__eq__": lambda *_: world.fail(), "__hash__": str.__hash__})(
            value
        )
    return value


def nested(world, depth=0):
    """Lists of numbers, ragged, recursive, with strangers in them."""
    if depth > 3 or world.chance(3):
        return world.pick([1, 2.5, True, 1j, 2**63, 2**70, numpy.float32(1), numpy.int8(3),
                           numpy.True_, number(world), world.base[:2], None, "x"])  # fmt: skip
    count = world.rng.randrange(4)
    items = [nested(world, depth + 1) for _ in range(count)]
    if world.chance(3) and items:
        items = [items[0]] * count  # regular
    if world.chance(20):
        items.append(items)
    if world.chance(40):
        for _ in range(world.pick([30, 300, 3000])):
            items = [items]
    return sequence(world, items) if world.chance(4) else items
