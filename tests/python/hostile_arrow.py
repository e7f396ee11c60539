"""Arrow's C structs by hand, right or a little wrong, which count how often they are released."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int64, c_void_p

from dlpack_ctypes import _dying_name, _dying_pointer, make_capsule

FORMATS = {"f2": b"e", "f4": b"f", "f8": b"g", "i1": b"c", "i8": b"l", "u2": b"S"}
RELEASE = ctypes.CFUNCTYPE(None, c_void_p)
DESTRUCTOR = ctypes.PYFUNCTYPE(None, c_void_p)
SCHEMA, ARRAY = b"arrow_schema", b"arrow_array"


class ArrowSchema(Structure):
    _fields_ = [
        ("format", c_char_p),
        ("name", c_char_p),
        ("metadata", c_char_p),
        ("flags", c_int64),
        ("n_children", c_int64),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


class ArrowArray(Structure):
    _fields_ = [
        ("length", c_int64),
        ("null_count", c_int64),
        ("offset", c_int64),
        ("n_buffers", c_int64),
        ("n_children", c_int64),
        ("buffers", POINTER(c_void_p)),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    ]


KINDS = {SCHEMA: ArrowSchema, ARRAY: ArrowArray}
ALIVE = {}  # what private_data says -> the export; until both structs are released
TWICE = []  # released once more than there was something to release


def _release(kind, address):
    """A struct may have been moved: only private_data says whose it is."""
    struct = kind.from_address(address)
    export = ALIVE.get(struct.private_data)
    struct.release = None
    if export is None or kind not in export.pending:
        TWICE.append(kind)
        return
    export.pending.remove(kind)
    if not export.pending:
        del ALIVE[export.key]


@RELEASE
def RELEASE_SCHEMA(address):
    _release(ArrowSchema, address)


@RELEASE
def RELEASE_ARRAY(address):
    _release(ArrowArray, address)


@DESTRUCTOR
def DESTROY(capsule):
    name = ctypes.string_at(_dying_name(capsule))
    address = _dying_pointer(capsule, name)
    struct = KINDS[name].from_address(address)
    if struct.release:
        RELEASE(struct.release)(address)
    STRUCTS.pop(address)


STRUCTS = {}  # the structs that capsules hold, by address


class ArrowExport:
    """One array of numbers, as a pair of capsules."""

    def __init__(self, world, truth, honest):
        self.truth = truth = truth.copy()
        self.key = id(self)
        self.pending = {ArrowSchema, ArrowArray}
        schema = ArrowSchema(FORMATS.get(truth.dtype.str[1:], b"g"), b"", None, 2)
        array = ArrowArray(truth.size, 0, 0, 2, 0)
        self.buffers = (c_void_p * 2)(None, truth.ctypes.data)
        array.buffers = ctypes.cast(self.buffers, POINTER(c_void_p))
        if not honest:
            self._spoil(world, schema, array)
        schema.release = ctypes.cast(RELEASE_SCHEMA, c_void_p).value
        array.release = ctypes.cast(RELEASE_ARRAY, c_void_p).value
        schema.private_data = array.private_data = self.key
        self.structs = schema, array
        ALIVE[self.key] = self

    def _spoil(self, world, schema, array):
        odd = [-1, 1, 3, 2**62, 2**63 - 1, -(2**63)]
        wrong = {
            "length": world.pick(odd),
            "null_count": world.pick(odd),
            "offset": world.pick(odd),
            "n_buffers": world.pick([-1, 0, 1, 3]),
            "buffers": None,
            "n_children": world.pick(odd),
            "format": world.pick([b"", b"\xff", b"u", b"+w:3", b"+w:-1", b"+l", b"tdD", None]),
        }
        for name in world.rng.sample(sorted(wrong), world.rng.randrange(3)):
            setattr(schema if name == "format" else array, name, wrong[name])

    def capsules(self):
        made = []
        for name, struct in zip((SCHEMA, ARRAY), self.structs):
            address = ctypes.addressof(struct)
            STRUCTS[address] = struct
            made.append(make_capsule(address, name, DESTROY))
        return tuple(made)
