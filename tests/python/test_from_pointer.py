"""`dlx.from_pointer` and `dlx.empty`."""

import ctypes
import gc
import subprocess
import sys
import weakref

import pytest

import dlx


@pytest.fixture
def memory():
    return (ctypes.c_float * 12)(*range(12))


def test_shape_dtype_and_address(memory):
    address = ctypes.addressof(memory)
    tensor = dlx.from_pointer(address, (3, 4), "float32", owner=memory)

    assert tensor.data_ptr == address
    assert tensor.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    tensor[1, 1] = -5
    assert memory[5] == -5


@pytest.mark.parametrize(
    "pointer",
    [
        ctypes.addressof,
        lambda m: ctypes.c_void_p(ctypes.addressof(m)),
        lambda m: ctypes.cast(m, ctypes.POINTER(ctypes.c_float)),
        lambda m: type("Address", (), {"__index__": lambda self: ctypes.addressof(m)})(),
    ],
)
def test_kinds_of_pointers(memory, pointer):
    assert dlx.from_pointer(pointer(memory), 12, "float32").data_ptr == ctypes.addressof(memory)


@pytest.mark.parametrize(
    "pointer",
    [
        ctypes.c_void_p(64),
        ctypes.c_char_p(b"abc"),
        ctypes.c_wchar_p("abc"),
        ctypes.pointer(ctypes.c_float(2)),
        ctypes.POINTER(ctypes.c_float)(),
    ],
)
def test_asarray_of_a_ctypes_pointer_names_from_pointer(pointer):
    with pytest.raises(dlx.UnsupportedError, match=rf"{type(pointer).__name__}.*dlx\.from_pointer"):
        dlx.asarray(pointer)
    assert dlx.asarray(ctypes.c_float(2)).item() == 2
    assert dlx.asarray((ctypes.c_int * 3)(1, 2, 3)).tolist() == [1, 2, 3]


def test_strides_count_elements_and_may_be_negative_or_zero(memory):
    address = ctypes.addressof(memory)

    assert dlx.from_pointer(address, (2, 2), "float32", strides=(1, 6)).tolist() == [[0, 6], [1, 7]]
    last = address + 11 * 4
    assert dlx.from_pointer(last, 3, "float32", strides=(-4,)).tolist() == [11, 7, 3]
    assert dlx.from_pointer(address + 4, 3, "float32", strides=(0,)).tolist() == [1, 1, 1]


def test_read_only(memory):
    tensor = dlx.from_pointer(ctypes.addressof(memory), 12, "float32", readonly=True, owner=memory)

    assert tensor.readonly
    with pytest.raises(dlx.ReadOnlyError):
        tensor[0] = 1


def test_empty_tensors_need_no_memory():
    assert dlx.from_pointer(None, (0, 3), "float32").tolist() == []
    assert dlx.from_pointer(0, 0, "int8").shape == (0,)


def test_owner_lives_as_long_as_the_memory_has_a_user(memory):
    class Owner:
        pass

    owner = Owner()
    alive = weakref.ref(owner)
    tensor = dlx.from_pointer(ctypes.addressof(memory), 12, "float32", owner=owner)
    del owner
    view = memoryview(tensor[3:])
    del tensor
    gc.collect()
    assert alive() is not None

    view.release()
    del view
    gc.collect()
    assert alive() is None


def test_on_release_is_called_once_after_the_last_user(memory):
    calls = []
    tensor = dlx.from_pointer(
        ctypes.addressof(memory), 12, "float32", owner=memory, on_release=lambda: calls.append(1)
    )
    views = [tensor[1:], tensor.reshape((3, 4)), tensor.as_readonly()]

    del tensor
    assert calls == []
    views.clear()
    assert calls == [1]


def test_exception_in_on_release_goes_to_unraisablehook(memory, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: seen.append(report.exc_type))

    def fail():
        raise KeyError("mine")

    tensor = dlx.from_pointer(ctypes.addressof(memory), 12, "float32", on_release=fail)
    del tensor

    assert seen == [KeyError]


SCRIPT = """
import ctypes, sys
import dlx

log = open(sys.argv[1], "w")
log.write("written at exit")
memory = (ctypes.c_float * 12)()
tensor = dlx.from_pointer(
    ctypes.addressof(memory), 12, "float32", on_release=lambda: log.write("!")
)
"""


def test_a_script_s_globals_are_let_go_though_on_release_holds_them(tmp_path):
    # Script, Tensor, function, script: what Python's collector could not see.
    log = tmp_path / "log"
    subprocess.run([sys.executable, "-c", SCRIPT, str(log)], check=True, timeout=60)

    assert log.read_text().startswith("written at exit")


def test_failed_call_keeps_no_function(memory):
    def function():
        raise AssertionError("called")

    seen = weakref.ref(function)
    with pytest.raises(ValueError, match="strides"):
        dlx.from_pointer(
            ctypes.addressof(memory), 2, "float32", strides=(1, 2), on_release=function
        )
    del function
    gc.collect()

    assert seen() is None


def test_failed_call_takes_nothing(memory):
    calls = []
    owner = [memory]
    before = sys.getrefcount(owner)
    for bad in ({"shape": (-1,)}, {"dtype": "float33"}, {"device": "gpu"}, {"strides": (1, 2)}):
        arguments = {"shape": (2,), "dtype": "float32", **bad}
        with pytest.raises(ValueError, match=r"."):
            dlx.from_pointer(
                ctypes.addressof(memory),
                owner=owner,
                on_release=lambda: calls.append(1),
                **arguments,
            )
    gc.collect()

    assert calls == []
    assert sys.getrefcount(owner) == before


@pytest.mark.parametrize(
    ("arguments", "keywords", "error"),
    [
        (("x", 3, "float32"), {}, TypeError),
        ((1.5, 3, "float32"), {}, TypeError),
        ((True, 3, "float32"), {}, TypeError),
        ((-1, 3, "float32"), {}, ValueError),
        ((1 << 64, 3, "float32"), {}, ValueError),
        ((None, 3, "float32"), {}, ValueError),
        ((64, (2, 2.5), "float32"), {}, TypeError),
        ((64, "ab", "float32"), {}, TypeError),
        ((64, (2**62, 2**62), "float32"), {}, ValueError),
        ((64, (2**64,), "float32"), {}, (ValueError, OverflowError)),
        ((64, 3, object()), {}, TypeError),
        ((64, 3, "float32"), {"device": 3}, TypeError),
        ((64, 3, "float32"), {"on_release": 3}, TypeError),
        ((64, 3, "float32"), {"strides": 1.5}, TypeError),
        ((64, (3,) * 5000, "float32"), {}, ValueError),
        ((64,), {}, TypeError),
        ((64, 3, "float32", None), {}, TypeError),
    ],
)
def test_wrong_arguments(arguments, keywords, error):
    with pytest.raises(error) as caught:
        dlx.from_pointer(*arguments, **keywords)
    assert str(caught.value)


def test_an_array_is_no_address():
    for array in (dlx.empty(3), memoryview(b"abc")):
        with pytest.raises(
            TypeError, match=r"`ptr` is not an address .*for an array call dlx\.asarray"
        ):
            dlx.from_pointer(array, 3, "float32")


def test_pointer_on_another_device_is_only_described():
    tensor = dlx.from_pointer(0x7000, (2, 2), "bfloat16", device="cuda:1")

    assert (tensor.device, str(tensor.dtype), tensor.data_ptr) == ("cuda:1", "bfloat16", 0x7000)
    with pytest.raises(BufferError):
        tensor.tolist()


def test_empty_is_compact_aligned_and_writable():
    tensor = dlx.empty((3, 5), dtype="int16")

    assert (tensor.shape, tensor.strides, tensor.readonly) == ((3, 5), (5, 1), False)
    assert tensor.data_ptr % 64 == 0
    assert str(dlx.empty(4).dtype) == "float32"
    assert dlx.empty(()).shape == ()


@pytest.mark.parametrize(
    ("shape", "keywords", "error"),
    [
        (-1, {}, ValueError),
        ((2**62, 2**62), {}, ValueError),
        ("a", {}, TypeError),
        (None, {}, TypeError),
        (3, {"dtype": "nothing"}, ValueError),
        (3, {"device": "cuda:0"}, (BufferError, RuntimeError)),
        (2**59, {}, MemoryError),
    ],
)
def test_empty_refuses(shape, keywords, error):
    with pytest.raises(error):
        dlx.empty(shape, **keywords)
