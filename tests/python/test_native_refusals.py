"""Refusals of the native code that the package never causes: its functions with wrong arguments, hooks with
wrong answers, exporters of odd buffers, and dlx's own exchange table with Tensors that it cannot show."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import types
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int64,
    c_ssize_t,
    c_uint,
    c_void_p,
    py_object,
)
from typing import Any

import pytest

import dlx
from dlpack_ctypes import (
    SET_ERROR,
    DLManagedTensorVersioned,
    DLTensor,
    LegacyProducer,
    table_of,
)
from dlx import _native
from dlx._access import empty_padded
from dlx._lib import capi, library

TENSOR = dlx.asarray(bytearray(8))
WRAP = [TENSOR.data_ptr, (8,), None, (1, 8, 1), (1, 0), 0, TENSOR, None]


def wrap(**changes: Any) -> Any:
    arguments = list(WRAP)
    for place, value in changes.items():
        arguments[int(place[1:])] = value
    return _native._wrap(*arguments)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: wrap(_4=(1, 0, 0)), TypeError, "must be .type, id. .got 3 numbers"),
        (lambda: wrap(_4=(2**31, 0)), ValueError, "out of range .got 2147483648, 0"),
        (lambda: wrap(_4=(1, -(2**40))), ValueError, "out of range"),
        (lambda: _native._adopt(0), ValueError, "the handle is NULL"),
        (lambda: _native._adopt("x"), TypeError, "an integer is required|int"),
        (lambda: _native._note_numpy(None, None, []), TypeError, "is not a tuple .got list"),
        (lambda: _native._usual(), TypeError, "seven arguments"),
        (lambda: _native._usual("x", [], None, False, 1, TENSOR, 0), TypeError, "seven arguments"),
        (lambda: _native._usual("x", {}, None, False, 0, TENSOR, 0), ValueError, "must be positive"),
        (lambda: _native._without_torch_modes(), TypeError, "1 to 4 arguments"),
        (lambda: TENSOR[(None,) * 65], IndexError, "too many indices .got 65, expected at most 64"),
        (lambda: _native._swap_stream(2**31, 0, None), ValueError, "`device` is out of range"),
        (lambda: _native._check_stream(2**31, 0), ValueError, "`device` is out of range"),
    ],
)  # fmt: skip
def test_functions_of_the_package_check_their_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_index_beyond_64_bits():
    for key in (2**70, -(2**70)):
        with pytest.raises(IndexError):
            TENSOR[key]


def test_numpy_numbers_of_every_size_among_floats():
    numpy = pytest.importorskip("numpy")
    for letter in "bhilqBHILQefd":
        number = numpy.dtype(letter).type(2)
        assert dlx.asarray([0.5, number, True]).tolist() == [0.5, 2.0, 1.0]


def test_the_cpu_is_its_own_current_device():
    assert _native._current_device(1) == 0
    assert _native._current_device(99) == 0
    with pytest.raises(ValueError, match="`device` is out of range"):
        _native._current_device(2**31)


def test_attach_wants_an_object_of_the_interpreter():
    memory = ctypes.create_string_buffer(64)
    with pytest.raises(dlx.UnavailableError, match="is not in a loaded library"):
        capi.check(library.attach(ctypes.addressof(memory), id({})), "attach")


def test_attach_refuses_a_subinterpreter():
    code = f"""
try:
    import _xxsubinterpreters as sub
except ImportError:
    import _interpreters as sub
script = '''
import ctypes
import os
library = ctypes.PyDLL({library.path!r})
library.dlx_last_error.restype = ctypes.c_char_p
namespace = dict()
status = library.dlx_python_attach(ctypes.c_void_p(id(object)), ctypes.c_void_p(id(namespace)))
words = library.dlx_last_error()
assert status != 0 and b"main interpreter only" in words, words
'''
result = sub.run_string(sub.create(), script)
assert result is None, result
print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    if "No module named" in done.stderr or "does not support" in done.stderr:
        pytest.skip("no subinterpreters, or no ctypes in them")
    assert "refused" in done.stdout, done.stderr


def test_a_new_axis_before_a_stride_that_is_too_long_for_it():
    empty = dlx.from_pointer(0, (0, 2), "int8", strides=(1, 2**63 - 1))
    assert empty.expand_dims(axis=1).strides == (1, 1, 2**63 - 1)


def test_an_index_with_more_axes_than_dlpack_has():
    many = TENSOR
    while many.ndim + 60 < 4096:
        many = many[(None,) * 60]
    with pytest.raises(IndexError, match="too many new axes"):
        many[(None,) * 63][None, None]


def test_a_foreign_device_is_not_moved_by_a_producer_without_the_keyword():
    producer = LegacyProducer(device=(12, 0))
    with pytest.raises(dlx.DeviceRefusedError, match="takes no `dl_device`"):
        dlx.from_dlpack(producer, device="cpu")


# ---- hooks --------------------------------------------------------------------------------------------


@pytest.fixture
def hooks():
    """Attaches the library again, with other hooks; at the end with the right ones."""
    namespaces = []  # the library borrows them only during the call

    def replace(**changes):
        namespace = {**_native._namespace, **changes}
        namespaces.append(namespace)
        for name in [name for name, value in changes.items() if value is None]:
            del namespace[name]
        capi.check(library.attach(id(object), id(namespace)), "attach")

    yield replace
    replace()


def test_a_missing_hook_is_named(hooks):
    with pytest.raises(ValueError, match='lacks the hook "view_slowly"'):
        hooks(view_slowly=None)


@pytest.mark.parametrize(
    ("hook", "answer", "call", "error", "words"),
    [
        ("device_code", [1, 0], lambda: dlx.empty(1, device="cpu:0"), TypeError,
         "must return a tuple of 2 numbers .got list"),
        ("device_code", (1,), lambda: dlx.empty(1, device="cpu:0"), TypeError, "a tuple of 2"),
        ("device_code", (0, 0), lambda: dlx.empty(1, device="cpu:0"), ValueError,
         "`device` is not a device .got type 0, id 0"),
        ("device_code", (1, 2**40), lambda: dlx.empty(1, device="cpu:0"), ValueError, "not a device"),
        ("asarray_fallback", 3, lambda: dlx.asarray({1}), TypeError,
         "asarray_fallback must return a Tensor .got int"),
    ],
)  # fmt: skip
def test_hooks_with_wrong_answers(hooks, hook, answer, call, error, words):
    hooks(**{hook: lambda *_: answer})
    with pytest.raises(error, match=words):
        call()


# ---- buffers ------------------------------------------------------------------------------------------


class Buffer(Structure):
    _fields_ = [
        ("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t),
        ("readonly", c_int), ("ndim", c_int), ("format", c_char_p), ("shape", POINTER(c_ssize_t)),
        ("strides", POINTER(c_ssize_t)), ("suboffsets", POINTER(c_ssize_t)), ("internal", c_void_p),
    ]  # fmt: skip


class Slot(Structure):
    _fields_ = [("slot", c_int), ("value", c_void_p)]


class Spec(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("basicsize", c_int),
        ("itemsize", c_int),
        ("flags", c_uint),
        ("slots", POINTER(Slot)),
    ]


python = ctypes.PyDLL(None)
GET_BUFFER = ctypes.PYFUNCTYPE(c_int, c_void_p, POINTER(Buffer), c_int)
Py_bf_getbuffer = 1
fields: dict[str, Any] = {}


@GET_BUFFER
def get_buffer(exporter, view, flags):
    view[0] = Buffer(buf=TENSOR.data_ptr, len=8, itemsize=1, ndim=1, format=b"B", **{})
    for name, value in fields.items():
        setattr(view[0], name, value)
    view[0].obj = exporter
    python.Py_IncRef(py_object(ctypes.cast(exporter, py_object).value))
    return 0


def odd_exporter(**changes):
    """An object whose Py_buffer has these fields: CPython checks none of them."""
    slots = (Slot * 2)(
        Slot(Py_bf_getbuffer, ctypes.cast(get_buffer, c_void_p).value), Slot(0, None)
    )
    python.PyType_FromSpec.restype = py_object
    cls = python.PyType_FromSpec(ctypes.byref(Spec(b"here.Exporter", 0, 0, 1 << 18, slots)))
    fields.clear()
    fields.update(shape=(c_ssize_t * 1)(8), strides=(c_ssize_t * 1)(1))
    fields.update(changes)
    return cls()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"itemsize": 2}, 'contradicts itself .format "B", itemsize 2'),
        ({"format": b"<d"}, 'contradicts itself .format "<d", itemsize 1'),
        ({"ndim": 65}, "the buffer has 65 axes .expected 0 to 64"),
        ({"ndim": -1}, "the buffer has -1 axes"),
    ],
)
def test_buffers_that_contradict_themselves(changes, words):
    with pytest.raises(dlx.UnsupportedError, match=words):
        dlx.asarray(odd_exporter(**changes))


def test_an_odd_exporter_that_tells_the_truth():
    assert dlx.asarray(odd_exporter()).shape == (8,)
    assert dlx.asarray(odd_exporter(format=None)).dtype == dlx.dtype("uint8")


def test_a_buffer_is_asked_for_without_a_place_for_it():
    with pytest.raises(BufferError, match="the Py_buffer is NULL"):
        python.PyObject_GetBuffer(py_object(TENSOR), None, 0)


# ---- the exchange table -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (dlx.asarray(bytes(4)), "a bare DLTensor cannot say that the data is read-only"),
        (dlx.empty(3, dtype="uint4")[:2], None),
        (dlx.asarray([1, 2])[::-1], "negative strides"),
    ],
)
def test_a_bare_dltensor_says_less_than_a_tensor(tensor, words):
    borrow = table_of(dlx.Tensor).dltensor_from_py_object_no_sync
    out = DLTensor()
    if words is None:
        assert borrow(id(tensor), ctypes.byref(out)) == 0
        return
    with pytest.raises(dlx.UnsupportedError, match=words):
        borrow(id(tensor), ctypes.byref(out))


@pytest.mark.parametrize(
    ("variable", "device", "oldest"),
    [
        ("DLX_CUDA_PATH", "cuda:0", "the driver of CUDA"),
        ("DLX_HIP_PATH", "rocm:0", "ROCm"),
    ],
)
def test_a_file_that_is_no_driver_says_which_function_it_lacks(variable, device, oldest):
    code = f"import dlx; dlx.empty(1, device={device!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), variable: library.path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "UnavailableError" in done.stderr, done.stderr
    assert oldest in done.stderr, done.stderr


class Failing:
    def __bool__(self):
        raise RuntimeError("no answer")


def interface(**fields):
    good = {"version": 3, "shape": (8,), "typestr": "|u1", "data": (TENSOR.data_ptr, False)}
    return types.SimpleNamespace(__array_interface__={**good, **fields}, owner=TENSOR)


def test_what_an_array_interface_raises_passes_through():
    with pytest.raises(RuntimeError, match="no answer"):
        dlx.asarray(interface(data=(TENSOR.data_ptr, Failing())))
    assert dlx.asarray(interface(shape=(0,), data=bytearray(0))).shape == (0,)
    with pytest.raises(dlx.InvalidArgumentError, match="beyond its buffer"):
        dlx.asarray(interface(data=bytearray(4), offset=5))
    for fields in ({"strides": (-1,)}, {"offset": 1}, {"shape": (9,)}):
        with pytest.raises(dlx.InvalidArgumentError, match="beyond its buffer"):
            dlx.asarray(interface(data=bytearray(8), **fields))


def test_elements_are_not_deleted_and_odd_keys_are_refused():
    values = dlx.asarray([1.0, 2.0])
    with pytest.raises(TypeError, match="cannot be deleted"):
        del values[0]
    for key in (2, -3):
        with pytest.raises(IndexError):
            values[key]
        with pytest.raises(IndexError):
            values[key] = 1
    assert values[-1].item() == 2.0


def test_complex_numbers_of_numpy_in_lists():
    numpy = pytest.importorskip("numpy")
    for letter in "FD":
        number = numpy.dtype(letter).type(1 + 2j)
        assert dlx.asarray([number, 1j]).tolist() == [1 + 2j, 1j]
        assert dlx.asarray([1j, number, 3, numpy.int8(2)]).tolist() == [1j, 1 + 2j, 3, 2]
        with pytest.raises((TypeError, ValueError)):
            dlx.asarray([number], dtype="float32")


class Name(str):
    """A keyword that cannot be compared."""

    def __eq__(self, other):
        raise RuntimeError("no answer")

    __hash__ = str.__hash__


def test_keywords_that_are_odd_text():
    with pytest.raises((RuntimeError, TypeError)):
        dlx.asarray([1], **{Name("dtype"): "int8"})
    with pytest.raises((TypeError, UnicodeError)):
        dlx.asarray([1], **{"\ud800": "int8"})


@pytest.mark.parametrize("shape", [(1,), (0,), (0, 2)])
def test_strides_between_elements_that_are_not_there(shape):
    odd = interface(typestr="<i2", shape=shape, strides=(3,) * len(shape))
    assert dlx.asarray(odd).shape == shape


SIMPLE, FORMAT, ND, STRIDES, C, F, ANY = 0, 4, 8, 0x18, 0x38, 0x58, 0x98


@pytest.mark.parametrize(
    ("tensor", "flags", "works"),
    [
        (dlx.empty((2, 3)), C, True),
        (dlx.empty((2, 3)), F, False),
        (dlx.empty((2, 3)), ANY, True),
        (dlx.empty((2, 3)).permute_dims((1, 0)), C, False),
        (dlx.empty((2, 3)).permute_dims((1, 0)), F, True),
        (dlx.empty((2, 3)).permute_dims((1, 0)), ANY, True),
        (dlx.empty((2, 3)).permute_dims((1, 0)), ND, False),
        (dlx.empty((2, 3)).permute_dims((1, 0)), SIMPLE, False),
        (dlx.empty((4, 6))[::2, ::2], ANY, False),
        (dlx.empty((4, 6))[::2, ::2], STRIDES, True),
        (dlx.empty((4, 6))[::2, ::2], FORMAT, False),
    ],
)
def test_a_buffer_is_of_the_kind_that_was_asked_for(tensor, flags, works):
    view = Buffer()
    if works:
        assert python.PyObject_GetBuffer(py_object(tensor), ctypes.byref(view), flags) == 0
        python.PyBuffer_Release(ctypes.byref(view))
        return
    with pytest.raises(BufferError):
        python.PyObject_GetBuffer(py_object(tensor), ctypes.byref(view), flags)


def test_buffers_without_what_they_may_lack():
    assert dlx.asarray(odd_exporter(suboffsets=(c_ssize_t * 1)(-1))).shape == (8,)
    with pytest.raises(dlx.UnsupportedError, match="suboffsets"):
        dlx.asarray(odd_exporter(suboffsets=(c_ssize_t * 1)(0)))
    lacking = odd_exporter()
    fields.update(strides=None)
    assert dlx.asarray(lacking).tolist() == list(bytes(TENSOR))


def test_a_padded_tensor_is_more_than_a_bare_dltensor():
    borrow = table_of(dlx.Tensor).dltensor_from_py_object_no_sync
    padded, nothing, out = empty_padded((3,), (1, 4, 1)), dlx.empty((0, 2)), DLTensor()
    with pytest.raises(dlx.UnsupportedError, match="the data is padded"):
        borrow(id(padded), ctypes.byref(out))
    assert borrow(id(nothing), ctypes.byref(out)) == 0
    assert out.data is None


def test_the_table_s_allocator_says_what_failed():
    said = []
    prototype = DLTensor(None, (1, 0), 1, (2, 32, 1), (c_int64 * 1)(2**50), None, 0)
    out = POINTER(DLManagedTensorVersioned)()
    note = SET_ERROR(lambda context, kind, message: said.append((kind, message)))
    allocate = table_of(dlx.Tensor).managed_tensor_allocator
    assert allocate(ctypes.pointer(prototype), ctypes.byref(out), None, note) == -1
    prototype.ndim = -1
    assert allocate(ctypes.pointer(prototype), ctypes.byref(out), None, note) == -1
    assert [kind for kind, _ in said] == [b"MemoryError", b"ValueError"]
    assert not out


def test_elements_that_are_not_there_or_beyond_64_bits():
    values = dlx.asarray([1.0, 2.0])
    with pytest.raises(IndexError):
        values[2**70] = 1
    with pytest.raises(IndexError):
        dlx.empty((0, 2))[0, 0]
    assert dlx.empty((2, 3)).expand_dims().shape == (1, 2, 3)
