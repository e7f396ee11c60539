"""A consumer without a fault, and one for each fault. Item numbers are dlx.testing's."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time

import numpy

import dlpack_ctypes
from dlpack_ctypes import LEGACY, VERSIONED

PLANTED = {}  # class -> (number, outcome)


def plants(number, outcome="fail"):
    def add(cls):
        PLANTED[cls] = (number, outcome)
        return cls

    return add


class Holder:
    """Hands a capsule to NumPy."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **keywords):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


class Clean:
    """NumPy's import, with what it leaves out: the device is asked, and the struct is looked at."""

    def __call__(self, x, /, *, device=None, copy=None):
        self.look_at_device(x)
        capsule = self.ask(x, copy)
        if dlpack_ctypes.name_of(capsule) not in (LEGACY, VERSIONED):
            raise BufferError("not a capsule of DLPack")
        struct = dlpack_ctypes.borrow(capsule)
        self.look_at_struct(struct)
        return self.done(numpy.from_dlpack(Holder(capsule)), capsule)

    def look_at_device(self, x):
        if x.__dlpack_device__()[0] != 1:
            raise BufferError("not on the CPU")

    def ask(self, x, copy):
        try:
            return x.__dlpack__(max_version=(1, 3), copy=copy)
        except TypeError:
            if copy:
                raise BufferError("the producer cannot copy") from None
            return x.__dlpack__()

    def look_at_struct(self, struct):
        tensor = struct.dl_tensor
        if tensor.ndim < 0 or (tensor.ndim and not tensor.shape):
            raise BufferError("malformed")
        if not tensor.data and 0 not in tensor.shape[: tensor.ndim]:
            raise BufferError("no data")

    def done(self, result, capsule):
        return result


class Changes(Clean):
    """Changes the struct before it is imported."""

    def look_at_struct(self, struct):
        super().look_at_struct(struct)
        self.change(struct, struct.dl_tensor)


@plants(2)
class DoesNotReadTheVersion(Changes):
    def change(self, struct, tensor):
        if hasattr(struct, "version"):
            struct.version.major = 1


@plants(5)
class RefusesLegacy(Clean):
    def ask(self, x, copy):
        if getattr(x, "legacy", False):
            raise BufferError("too old")
        return super().ask(x, copy)


@plants(6, "leak")
class NeedsAManager(Changes):
    def change(self, struct, tensor):
        if not struct.manager_ctx:
            struct.deleter = None


@plants(7, "leak")
class NeverDeletes(Changes):
    def change(self, struct, tensor):
        struct.deleter = None


@plants(7)
class DeletesTooEarly(Clean):
    def done(self, result, capsule):
        name = dlpack_ctypes.name_of(capsule)
        address = dlpack_ctypes._capsule_pointer(capsule, name)
        kind = dlpack_ctypes.DLManagedTensorVersioned
        if name == dlpack_ctypes.USED_VERSIONED and kind.from_address(address).deleter:
            dlpack_ctypes.DELETER(kind.from_address(address).deleter)(address)
        return result


@plants(11)
class IgnoresStrides(Changes):
    def change(self, struct, tensor):
        if tensor.ndim == 1 and tensor.strides and tensor.strides[0] == -1:
            tensor.strides[0] = 1


@plants(11, "deviates")
class NeedsRows(Changes):
    def change(self, struct, tensor):
        if tensor.ndim > 1 and tensor.strides and (tensor.strides[0], tensor.strides[1]) == (6, 2):
            raise BufferError("gaps are not supported")


@plants(13, "crash")
class NeedsAlignment(Changes):
    def change(self, struct, tensor):
        if tensor.data and tensor.data % 64 == 1:
            os.abort()


@plants(14)
class IgnoresTheOffset(Changes):
    def change(self, struct, tensor):
        tensor.byte_offset = 0


@plants(15)
class NeedsElements(Changes):
    def change(self, struct, tensor):
        if 0 in tensor.shape[: tensor.ndim]:
            raise BufferError("no elements")


@plants(19)
class TakesHalvesForWholes(Changes):
    def change(self, struct, tensor):
        if (tensor.dtype.code, tensor.dtype.bits) == (0, 4):
            tensor.dtype.bits = 8


@plants(21)
class TakesUnknownTypes(Changes):
    def change(self, struct, tensor):
        if tensor.dtype.code == 99 and tensor.shape[0] == 2:
            tensor.dtype.code = 2


@plants(28)
class DoesNotRename(Clean):
    def done(self, result, capsule):
        name = dlpack_ctypes.name_of(capsule)[len("used_") :]
        dlpack_ctypes._capsule_rename(capsule, dlpack_ctypes.NAMES[name])
        python_set = dlpack_ctypes.python.PyCapsule_SetDestructor
        python_set.argtypes = [ctypes.py_object, ctypes.c_void_p]
        python_set(capsule, None)
        return result


@plants(32, "leak")
class LosesWhatItRefuses(Changes):
    def change(self, struct, tensor):
        if tensor.dtype.code == 99:
            raise LookupError

    def __call__(self, x, /, *, device=None, copy=None):
        try:
            return super().__call__(x, device=device, copy=copy)
        except LookupError:
            dlpack_ctypes._capsule_rename(
                x.last.capsule, dlpack_ctypes.NAMES[dlpack_ctypes.USED_VERSIONED]
            )
            raise BufferError("unknown dtype") from None


@plants(33)
class TakesAnyCapsule(Clean):
    def ask(self, x, copy):
        capsule = super().ask(x, copy)
        if dlpack_ctypes.name_of(capsule) not in (LEGACY, VERSIONED):
            dlpack_ctypes._capsule_rename(capsule, dlpack_ctypes.NAMES[VERSIONED])
        return capsule


@plants(41)
class PassesAStream(Clean):
    def ask(self, x, copy):
        try:
            return x.__dlpack__(max_version=(1, 3), copy=copy, stream=1)
        except TypeError:
            return super().ask(x, copy)


@plants(60)
class CopiesAlways(Clean):
    def ask(self, x, copy):
        return super().ask(x, True if copy is None and hasattr(x, "legacy") and not x.flags
                           and type(x).__name__ == "Source" else copy)  # fmt: skip


@plants(65)
class TakesNoCopy(Clean):
    def __call__(self, x, /, *, device=None):
        return super().__call__(x, device=device)


@plants(67, "deviates")
class DoesNotAskTheDevice(Clean):
    def look_at_device(self, x):
        if not hasattr(x, "__dlpack_device__"):
            raise AttributeError("__dlpack_device__")
        if getattr(x, "device", (1, 0)) != (1, 0):
            raise BufferError("not on the CPU")


@plants(69)
class NeedsTheNewSignature(Clean):
    def ask(self, x, copy):
        if type(x).__name__ == "OldSource" and copy is None:
            raise TypeError("too old")
        return super().ask(x, copy)


@plants(70)
class ForgetsCopyWithOldProducers(Clean):
    def ask(self, x, copy):
        old = type(x).__name__ == "OldSource"
        return super().ask(x, None if old else copy)


@plants(71)
class IgnoresCopy(Clean):
    def ask(self, x, copy):
        old = type(x).__name__ == "OldSource"
        return super().ask(x, copy if old else None)


@plants(72, "deviates")
class RaisesAnotherError(Clean):
    def look_at_device(self, x):
        if x.__dlpack_device__()[0] != 1:
            raise RuntimeError("not on the CPU")


@plants(73)
class HidesErrors(Clean):
    def ask(self, x, copy):
        try:
            return super().ask(x, copy)
        except Exception as error:
            if type(error).__name__ == "_Special":
                raise RuntimeError("something went wrong") from None
            raise


@plants(74)
class RaisesTypeErrors(Clean):
    def look_at_device(self, x):
        if not hasattr(x, "__dlpack_device__"):
            raise TypeError("not an array")
        super().look_at_device(x)


@plants(75)
class RefusesReadOnly(Changes):
    def change(self, struct, tensor):
        if getattr(struct, "flags", 0) & 1:
            raise BufferError("read-only")


@plants(76)
class TakesNegativeLengths(Changes):
    def change(self, struct, tensor):
        if tensor.ndim == 2 and tensor.dtype.code == 2 and tensor.shape[1] == -3:
            tensor.shape[1] = 3


@plants(77)
class ReadsUnsignedAsSigned(Changes):
    def change(self, struct, tensor):
        if (tensor.dtype.code, tensor.dtype.bits) == (1, 16):
            tensor.dtype.code = 0


@plants(77, "hang")
class WaitsForComplexNumbers(Changes):
    def change(self, struct, tensor):
        if tensor.dtype.code == 5 and tensor.dtype.bits == 128:
            time.sleep(1000)


@plants(96)
class Prints(Clean):
    def done(self, result, capsule):
        os.write(1, b"an import!\n")
        return result


HOARD = []


@plants(97, "leak")
class Hoards(Clean):
    def done(self, result, capsule):
        HOARD.append(bytes(100))
        return result


class Dying(numpy.ndarray):
    def __del__(self):
        if sys.is_finalizing():
            os.abort()


@plants(98, "crash")
class DiesAtTheEnd(Clean):
    def done(self, result, capsule):
        return result.view(Dying)


@plants(99)
class IsForOneThread(Clean):
    def done(self, result, capsule):
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("not here")
        return result


@plants(91)
class NeedsItsOwnTable(Clean):
    def ask(self, x, copy):
        if hasattr(type(x), "__dlpack_c_exchange_api__"):
            raise TypeError("the table is unknown")
        return super().ask(x, copy)
