"""A producer without a fault, and one for each fault. Item numbers are dlx.testing's."""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import threading
import time

import numpy

import dlpack_ctypes

PLANTED = {}  # class -> (number, outcome)


def plants(number, outcome="fail"):
    def add(cls):
        PLANTED[cls] = (number, outcome)
        return cls

    return add


class Clean:
    """NumPy's export, with the one thing that NumPy leaves out: NULL for no elements."""

    def __init__(self, array):
        self.array = array

    @property
    def shape(self):
        return self.array.shape

    @property
    def dtype(self):
        return self.array.dtype

    def tolist(self):
        return self.array.tolist()

    def export(self, **keywords):
        capsule = self.array.__dlpack__(**keywords)
        struct = dlpack_ctypes.borrow(capsule)
        if self.array.size == 0:
            struct.dl_tensor.data = None
        self.change(struct)
        return capsule

    def change(self, struct):
        """What a planted fault does to the struct."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.export(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self):
        return 1, 0


def maker(cls):
    """The factory of a class, with a `case` for the kinds of arrays that NumPy has."""

    def make(case="plain"):
        plain = numpy.arange(6, dtype="float32").reshape(2, 3)
        frozen = plain.copy()
        frozen.flags.writeable = False
        special = {
            "empty": plain[:0], "scalar": plain[1, 1:2].reshape(()), "strided": plain[:, ::2],
            "reversed": plain[::-1], "offset": plain[1:, 1:], "read-only": frozen, "plain": plain,
            "byte-swapped": plain.astype(">f4"), "unexportable": numpy.array([None]),
            "large": numpy.zeros((256, 256), "float32"),
        }  # fmt: skip
        if case in ("bool", "int8", "uint16", "float64", "complex64"):
            return cls(numpy.ones((2, 3), case))
        return cls(special[case]) if case in special else None

    return make


def versioned(struct):
    return isinstance(struct, dlpack_ctypes.DLManagedTensorVersioned)


@plants(7, "leak")
class KeepsItself(Clean):
    def change(self, struct):
        if self.array.shape == (2, 3):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))


@plants(9)
class SetsOddFlags(Clean):
    def change(self, struct):
        if versioned(struct):
            struct.flags |= 1 << 9


@plants(10)
class KeepsItsCopy(Clean):
    def __dlpack__(self, *, copy=None, **keywords):
        if not copy or self.array.size == 0:
            return super().__dlpack__(copy=copy, **keywords)
        if not hasattr(self, "copy"):
            self.copy = Marked(self.array.copy())
        return self.copy.__dlpack__(**keywords)


class Marked(Clean):
    def change(self, struct):
        if versioned(struct):
            struct.flags |= 2


@plants(11)
class LeavesStridesOut(Clean):
    def change(self, struct):
        if versioned(struct) and self.array.flags.c_contiguous:
            struct.version.minor = 3
            struct.dl_tensor.strides = None


@plants(14)
class ForgetsTheOffset(Clean):
    def change(self, struct):
        if self.array.shape == (1, 2):
            struct.dl_tensor.data -= 16


class Plain(Clean):
    """A fault of the plain array."""

    def change(self, struct):
        if self.array.shape == (2, 3):
            self.spoil(struct.dl_tensor)


@plants(11)
class HasFewerThanNoAxes(Plain):
    def spoil(self, tensor):
        tensor.ndim = -1


@plants(11)
class LosesItsShape(Plain):
    def spoil(self, tensor):
        tensor.shape = None


@plants(11)
class HasNegativeExtents(Plain):
    def spoil(self, tensor):
        tensor.shape[0] = -2


@plants(11)
class HasTooManyElements(Plain):
    def spoil(self, tensor):
        tensor.shape[0] = tensor.shape[1] = 2**62


@plants(11)
class LosesItsData(Plain):
    def spoil(self, tensor):
        tensor.data = None


@plants(11)
class BeginsFarAway(Plain):
    def spoil(self, tensor):
        tensor.byte_offset = 2**64 - 8


@plants(11)
class ReachesFarAway(Plain):
    def spoil(self, tensor):
        tensor.strides[0] = -(2**62)


@plants(15)
class PointsAtNothing(Clean):
    def change(self, struct):
        if self.array.size == 0:
            struct.dl_tensor.data = self.array.ctypes.data


@plants(17)
class ForgetsTheByteOrder(Clean):
    def __dlpack__(self, **keywords):
        native = self.array
        if not native.dtype.isnative:
            native = native.view(native.dtype.newbyteorder())
        return native.__dlpack__(**keywords) if native.size else super().__dlpack__(**keywords)


@plants(18)
class SaysBoolIsAByte(Clean):
    def change(self, struct):
        if self.array.dtype == bool:
            struct.dl_tensor.dtype.code = 1


@plants(21)
class SaysFloatIsAnInteger(Clean):
    def change(self, struct):
        if self.array.dtype == "float64":
            struct.dl_tensor.dtype.code = 0


@plants(21)
class HasFloatsOf24Bits(Plain):
    def spoil(self, tensor):
        if tensor.dtype.code == 2:
            tensor.dtype.bits = 24


@plants(22)
class IsTheSecondProcessor(Clean):
    def change(self, struct):
        struct.dl_tensor.device.device_id = 1

    def __dlpack__(self, *, dl_device=None, **keywords):
        return super().__dlpack__(dl_device=None if dl_device == (1, 1) else dl_device, **keywords)

    def __dlpack_device__(self):
        return 1, 1


@plants(25)
class NamesItOtherwise(Clean):
    def export(self, **keywords):
        capsule = super().export(**keywords)
        dlpack_ctypes._capsule_rename(capsule, OTHER)
        return capsule


OTHER = ctypes.c_char_p(b"tensor")


NAMES_OF = {
    name: itertools.cycle([ctypes.create_string_buffer(name) for _ in range(2)])
    for name in (dlpack_ctypes.LEGACY, dlpack_ctypes.VERSIONED)
}


@plants(26)
class NamesItAnew(Clean):
    def export(self, **keywords):
        capsule = super().export(**keywords)
        name = next(NAMES_OF[dlpack_ctypes.name_of(capsule)])
        dlpack_ctypes._capsule_rename(capsule, ctypes.cast(name, ctypes.c_char_p))
        return capsule


def set_destructor(capsule, function):
    python_set = dlpack_ctypes.python.PyCapsule_SetDestructor
    python_set.argtypes = [ctypes.py_object, ctypes.c_void_p]
    python_set(capsule, ctypes.cast(function, ctypes.c_void_p) if function else None)


@plants(27, "leak")
class HasNoDestructor(Clean):
    def export(self, **keywords):
        capsule = super().export(**keywords)
        set_destructor(capsule, None)
        return capsule


@plants(29)
class GivesOneCapsuleOnly(Clean):
    def export(self, **keywords):
        if keywords != dict.fromkeys(NAMES) | {"max_version": (1, 3)}:
            return super().export(**keywords)
        if not hasattr(self, "capsule"):
            self.capsule = super().export(**keywords)
        return self.capsule


@plants(31, "leak")
class DestroysInPython(Clean):
    """As ctypes makes it easy: a callback runs badly while an exception is pending."""

    def export(self, **keywords):
        capsule = super().export(**keywords)
        set_destructor(capsule, dlpack_ctypes.DESTROY)
        return capsule


class Late(Clean):
    """A fault from the tenth export of the process on: the checks of Python's end make fewer."""

    count = 0

    def change(self, struct):
        Late.count += 1
        if Late.count >= 10 and struct.deleter:
            ORIGINALS[ctypes.addressof(struct)] = struct.deleter
            struct.deleter = ctypes.cast(self.deleter, ctypes.c_void_p)


ORIGINALS = {}


def original(address):
    dlpack_ctypes.DELETER(ORIGINALS.pop(address))(address)


@dlpack_ctypes.DELETER
def IN_PYTHON_THREADS_ONLY(address):
    if isinstance(threading.current_thread(), threading._DummyThread):
        os.abort()
    original(address)


@plants(34, "crash")
class CannotBeDeletedByOthers(Late):
    deleter = IN_PYTHON_THREADS_ONLY


@dlpack_ctypes.DELETER
def IN_PYTHON(address):
    original(address)


@plants(35, "crash")
class CannotBeDeletedAfterPython(Clean):
    def change(self, struct):
        ORIGINALS[ctypes.addressof(struct)] = struct.deleter
        struct.deleter = ctypes.cast(IN_PYTHON, ctypes.c_void_p)


@plants(40)
class TakesNoCopy(Clean):
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None):
        return self.export(stream=stream, max_version=max_version, dl_device=dl_device)


class Keywords(Clean):
    """Looks at the keywords first."""

    def __dlpack__(self, **keywords):
        return self.export(**self.look(dict.fromkeys(NAMES) | keywords))


NAMES = ("stream", "max_version", "dl_device", "copy")


@plants(41)
class TakesAnyStream(Keywords):
    def look(self, keywords):
        return keywords | {"stream": None}


@plants(41, "hang")
class WaitsForTheStream(Keywords):
    def look(self, keywords):
        if keywords["stream"]:
            time.sleep(1000)
        return keywords


@plants(50)
class NeedsAVersion(Keywords):
    def look(self, keywords):
        if keywords["max_version"] is None:
            raise ValueError("max_version is needed")
        return keywords


@plants(51)
class IsAlwaysLegacy(Keywords):
    def look(self, keywords):
        return keywords | {"max_version": None}


@plants(52, "crash")
class DiesOfOldVersions(Keywords):
    def look(self, keywords):
        if keywords["max_version"] == (0, 8):
            os.abort()
        return keywords


@plants(53)
class IgnoresTheDevice(Keywords):
    def look(self, keywords):
        return keywords | {"dl_device": None}


@plants(54)
class DoesNotGoToTheCpu(Keywords):
    def look(self, keywords):
        if keywords["dl_device"] == (1, 0):
            raise BufferError("no")
        return keywords


@plants(55)
class IgnoresCopy(Keywords):
    def look(self, keywords):
        return keywords | {"copy": None}


@plants(56)
class DoesNotMarkCopies(Clean):
    def change(self, struct):
        if versioned(struct):
            struct.flags &= ~2


@plants(58)
class RaisesTypeErrors(Clean):
    def __dlpack__(self, **keywords):
        if self.array.dtype == object:
            raise TypeError("objects cannot be exported")
        return super().__dlpack__(**keywords)


@plants(59)
class DoesNotMarkReadOnly(Clean):
    def change(self, struct):
        if versioned(struct):
            struct.flags &= ~1


@plants(60)
class CopiesAlways(Keywords):
    def look(self, keywords):
        if keywords["copy"] is None and keywords["max_version"]:
            keywords["copy"] = True
        return keywords


@plants(61)
class IsOfMajorTwo(Clean):
    def change(self, struct):
        if versioned(struct):
            struct.version.major = 2


@plants(63)
class GivesAList(Clean):
    def __dlpack_device__(self):
        return [1, 0]


@plants(64)
class IsElsewhere(Clean):
    def __dlpack_device__(self):
        return 2, 0


@plants(92)
class HasStreamZero(Clean):
    @property
    def __cuda_array_interface__(self):
        return {"shape": (2, 3), "typestr": "<f4", "data": (8, False), "version": 3, "stream": 0}


@plants(93)
class MisnamesArrow(Clean):
    def __arrow_c_array__(self, requested_schema=None):
        return self.export(), self.export()


@plants(95)
class PointsElsewhere(Clean):
    @property
    def __array_interface__(self):
        found = dict(self.array.__array_interface__)
        found["data"] = (found["data"][0] + 4, found["data"][1])
        return found


@plants(96)
class Prints(Clean):
    def change(self, struct):
        print("an export!")


@plants(98, "crash")
class DiesAtTheEnd(Clean):
    def __del__(self):
        if sys.is_finalizing():
            os.abort()


@plants(99)
class IsForOneThread(Clean):
    def change(self, struct):
        if threading.current_thread() is not threading.main_thread():
            struct.dl_tensor.data += 4
