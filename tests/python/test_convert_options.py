"""dlx.convert: `like=`, an array as `to`, `dtype=` and `readonly=`."""

from __future__ import annotations

import array as array_module
import gc
import os
import signal
import subprocess
import sys
import weakref

import pytest

import dlx
from dlx._give import demands, profiles, targets
from test_convert import array, frozen

numpy = pytest.importorskip("numpy", reason="makes the arrays of these tests")


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="the library that it is handed to")


@pytest.fixture
def profile(monkeypatch):
    """A library that writes to what it gets and sees no mark."""
    made = demands.Profile("writer", "numpy", lambda module, t, copied: (t, copied))
    monkeypatch.setitem(profiles.TABLE, "writer", made)
    yield made
    targets.known.pop("writer", None)


# ---- like= and arrays as `to` -------------------------------------------------------------------


@pytest.mark.parametrize("ask", [lambda x, y: dlx.convert(x, like=y), dlx.convert])
def test_an_array_stands_for_its_library(ask, torch):
    source = array(3, 4)
    tensor = dlx.asarray(source)
    made = {
        numpy.ndarray: [source, tensor, torch.from_numpy(source)],
        torch.Tensor: [source, tensor, torch.from_numpy(source)],
        dlx.Tensor: [source, tensor],
    }
    for others, cls in (
        ((numpy.zeros(2), numpy.float32(1), numpy.zeros(2).view(type("Mine", (numpy.ndarray,), {}))),
         numpy.ndarray),
        ((torch.zeros(2, requires_grad=True), torch.nn.Parameter(torch.zeros(2))), torch.Tensor),
        ((dlx.asarray([1]),), dlx.Tensor),
    ):  # fmt: skip
        for other in others:
            for x in made[cls]:
                for _ in range(3):
                    result = ask(x, other)
                    assert type(result) is cls
                    assert dlx.asarray(result).data_ptr == source.ctypes.data
            assert dlx.asarray(ask([1.5, 2.5], other)).tolist() == [1.5, 2.5]
    source[0, 0] = 7
    assert ask(tensor, torch.zeros(1))[0, 0] == 7


def test_modes_of_torch_do_not_see_that_an_array_is_asked_for_its_device(torch):
    overrides = pytest.importorskip("torch.overrides", reason="has the modes")
    seen = []

    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, function, classes, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    other = torch.zeros(1)
    with Mode():
        dlx.convert(array(3), like=other)
    assert "__dlpack_device__" not in {getattr(function, "__name__", "") for function in seen}


def test_it_names_the_library_not_the_class():
    pyarrow = pytest.importorskip("pyarrow", reason="has several classes of arrays")
    one, two = pyarrow.array([1, 2]), pyarrow.Tensor.from_numpy(array(2, 2))

    assert isinstance(dlx.convert(array(3), like=two), pyarrow.Array)
    assert isinstance(dlx.convert(array(3, 4), like=one), pyarrow.Tensor)
    assert dlx.convert(one, like=two) is one


def test_what_is_its_own_stays_what_it_is():
    source = array(3)
    assert dlx.convert(source, like=array(1)) is source
    assert dlx.convert(source, array(1)) is source
    copy = dlx.convert(source, like=array(1), copy=True)
    assert copy.ctypes.data != source.ctypes.data
    with pytest.raises(dlx.CopyRefusedError):
        dlx.convert([1], like=source, copy=False)


def test_arrays_are_not_kept():
    other = array(3)
    gone = weakref.ref(other)
    for _ in range(3):
        dlx.convert(dlx.asarray(array(3, 4)), other)
        dlx.convert(dlx.asarray(array(3, 4)), like=other)
    del other
    gc.collect()
    assert gone() is None


class OnDevice:
    """An array of NumPy's that says where it is."""

    def __init__(self, module, kind, number=0):
        self.__class__ = type("OnDevice", (OnDevice,), {"__module__": module})
        self.kind, self.number = kind, number

    def __dlpack__(self):
        raise AssertionError("its data is not looked at")

    def __dlpack_device__(self):
        return self.kind, self.number


def test_its_device_is_where_the_result_will_be(profile):
    source = array(3)
    profile.devices = (profiles.CPU, profiles.CUDA)
    there = dlx.from_pointer(source.ctypes.data, (3,), "float32", device="cuda:1")

    assert dlx.convert(there, like=OnDevice("writer", 2, 1))[0].data_ptr == source.ctypes.data
    for like in ((2, 0), (1, 0), (3, 0)):
        with pytest.raises(dlx.Error, match=r"cuda:[01]"):  # no transfer without that device
            dlx.convert(there, like=OnDevice("writer", *like))
        assert dlx.convert(there, like=OnDevice("writer", *like), device=there.device)
    pinned = dlx.from_pointer(source.ctypes.data, (3,), "float32", device="cuda_host:0")
    for x in (pinned, source):  # the CPU reads both where they are
        for kind in (1, 3):
            result = dlx.convert(x, like=OnDevice("numpy", kind))
            assert result.ctypes.data == source.ctypes.data


@pytest.mark.parametrize("like", ["numpy", numpy, numpy.ndarray, 3, [1, 2], object()])
def test_like_takes_arrays_only(like):
    with pytest.raises(TypeError, match=r"`like` is not an array.*as `to`"):
        dlx.convert([1, 2], like=like)


def test_one_of_to_and_like_is_given():
    with pytest.raises(TypeError, match="`to` or `like`, but not both"):
        dlx.convert([1, 2], "numpy", like=array(1))
    for keywords in ({}, {"copy": True}, {"like": None}):
        with pytest.raises(TypeError, match="needs `to`, a library, or `like`"):
            dlx.convert([1, 2], **keywords)
    with pytest.raises(TypeError, match="missing required argument 1"):
        dlx.convert(like=array(1))


def test_an_array_of_no_library_is_refused():
    with pytest.raises(dlx.InvalidArgumentError, match=r"`to` is not a library.*memoryview|array"):
        dlx.convert([1, 2], like=OnDevice("nowhere_at_all", 1))
    with pytest.raises(TypeError, match="`like` is not an array"):
        dlx.convert([1, 2], like=array_module.array("b"))


def test_explain_takes_an_array(torch):
    found = dlx.explain(array(3, 4)[::-1], torch.zeros(1))
    assert (found.outcome, found.to) == ("copied", "torch")
    assert dlx.explain(array(3), dlx.asarray([1])).to == "dlx"


# ---- dtype= -------------------------------------------------------------------------------------


def test_dtype_is_that_of_the_result(torch):
    source = array(3, 4)
    for to in ("numpy", "torch", "dlx", torch.zeros(1)):
        result = dlx.convert(source, to, dtype="int16")
        assert str(dlx.dtype(dlx.asarray(result).dtype)) == "int16"
        assert dlx.asarray(result).tolist() == source.tolist()
        same = dlx.convert(source, to, dtype=numpy.float32)
        assert dlx.asarray(same).data_ptr == source.ctypes.data
    assert dlx.convert(source, "torch", dtype=torch.bfloat16).dtype == torch.bfloat16
    assert dlx.convert([1, 2], "numpy", dtype="float32").dtype == "float32"
    assert dlx.convert(source, "numpy", dtype="float32") is source
    assert dlx.convert(source, like=torch.zeros(1), dtype=torch.float64).dtype == torch.float64


def test_dtype_and_copy():
    source = array(3)
    with pytest.raises(dlx.CopyRefusedError, match="float32 to float64"):
        dlx.convert(source, "numpy", dtype="float64", copy=False)
    assert dlx.convert(source, "numpy", dtype="float32", copy=False) is source
    for dtype in ("float32", "float64"):
        copy = dlx.convert(dlx.asarray(source), "numpy", dtype=dtype, copy=True)
        copy[0] = 9
        assert copy.dtype == dtype
        assert source[0] == 0
    copy = dlx.convert(dlx.asarray(frozen(3)), "numpy", dtype="float32", copy=True)
    assert copy.flags.writeable


def test_dtype_that_the_library_lacks(torch):
    pytest.importorskip("ml_dtypes", reason="converts to it")
    with pytest.raises(dlx.UnsupportedError, match="torch takes no float8_e3m4"):
        dlx.convert(array(3), "torch", dtype="float8_e3m4")
    with pytest.raises(dlx.InvalidArgumentError, match="`dtype` is not the name of a data type"):
        dlx.convert(array(3), "torch", dtype="nonsense")


def test_dtype_of_data_elsewhere_needs_a_transfer():
    tensor = dlx.from_pointer(array(3).ctypes.data, (3,), "float32", device="cuda:0")
    with pytest.raises(dlx.DeviceRefusedError, match="force=True"):
        dlx.convert(tensor, "numpy", dtype="float64")


# ---- readonly= ----------------------------------------------------------------------------------


def test_read_only_data_is_copied_unless_the_caller_consents(torch):
    source = frozen(3, 4)
    for x in (source, dlx.asarray(source)):
        for _ in range(3):
            assert dlx.convert(x, "torch").data_ptr() != source.ctypes.data
            for copy in (None, False):
                shared = dlx.convert(x, "torch", copy=copy, readonly="share")
                assert shared.data_ptr() == source.ctypes.data
            copy = dlx.convert(x, "torch", copy=True, readonly="share")
            assert copy.data_ptr() != source.ctypes.data
    shared[0, 0] = 9
    assert source[0, 0] == 9
    source.flags.writeable = True
    source[0, 1] = 8
    assert shared[0, 1] == 8
    assert dlx.asarray(frozen(1)).readonly
    assert dlx.convert(source, like=torch.zeros(1), readonly="share")[0, 1] == 8


WRITERS = [
    name
    for name, entry in profiles.TABLE.items()
    if entry.readonly == demands.WRITES and profiles.CPU in entry.devices
]


@pytest.mark.parametrize("library", WRITERS)
def test_every_library_that_would_write_shares_with_consent(library):
    pytest.importorskip(library, reason="the library that it is handed to")
    source = frozen(3, 4)
    with pytest.raises(dlx.CopyRefusedError, match="readonly='share'"):
        dlx.convert(source, library, copy=False)
    result = dlx.convert(source, library, copy=False, readonly="share")
    back = dlx.asarray(result)
    assert (back.data_ptr, back.readonly) == (source.ctypes.data, False)
    back[0, 0] = 9
    assert source[0, 0] == 9


def test_the_refusal_names_the_keyword_where_it_helps(torch):
    with pytest.raises(
        dlx.CopyRefusedError,
        match="read-only, and torch would write to it; copy=False forbids a copy, "
        "readonly='share' shares it all the same",
    ):
        dlx.convert(frozen(3), "torch", copy=False)
    with pytest.raises(dlx.CopyRefusedError, match="negative strides") as caught:
        dlx.convert(frozen(3)[::-1], "torch", copy=False)
    assert "readonly=" not in str(caught.value)
    with pytest.raises(dlx.CopyRefusedError, match="negative strides"):
        dlx.convert(frozen(3)[::-1], "torch", copy=False, readonly="share")
    assert dlx.convert(frozen(3)[::-1], "torch", readonly="share").tolist() == [2, 1, 0]
    why = dlx.explain(frozen(3), "torch").why
    assert why == "the data is read-only, and torch would write to it"


def test_libraries_that_honour_the_mark_get_it_all_the_same(profile):
    assert not dlx.convert(dlx.asarray(frozen(3)), "numpy", readonly="share").flags.writeable
    assert dlx.convert(frozen(3), "dlx", readonly="share").readonly
    tensor, copied = dlx.convert(frozen(3), "writer", readonly="share")
    assert (tensor.readonly, copied) == (False, False)
    profile.readonly = demands.HONOURS
    assert dlx.convert(frozen(3), "writer", readonly="share")[0].readonly


def test_a_mapped_file_is_shared(torch, tmp_path):
    path = tmp_path / "numbers"
    array(1000).tofile(path)
    mapped = numpy.memmap(path, dtype="float32", mode="r")
    shared = dlx.convert(mapped, "torch", copy=False, readonly="share")
    address = mapped.ctypes.data
    del mapped
    gc.collect()
    assert shared.data_ptr() == address
    assert shared.tolist() == list(range(1000))


def test_a_write_to_a_read_only_page_ends_the_process(torch, tmp_path):
    """As docs/convert.md says."""
    path = tmp_path / "numbers"
    array(1000).tofile(path)
    code = (
        f"import dlx, numpy\nx = numpy.memmap({str(path)!r}, dtype='float32', mode='r')\n"
        "shared = dlx.convert(x, 'torch', readonly='share')\nshared[0] = 1"
    )
    # The signal is what is tested, not the address sanitizer's report of it.
    options = f"{os.environ.get('ASAN_OPTIONS', '')}:handle_segv=0"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True,
                          env={**os.environ, "ASAN_OPTIONS": options})  # fmt: skip
    assert done.returncode == -signal.SIGSEGV, done.stderr
    assert numpy.fromfile(path, "float32").tolist() == list(range(1000))


def test_shared_read_only_memory_lives_as_long_as_the_result(torch):
    released = []
    source = array(4)
    tensor = dlx.from_pointer(source.ctypes.data, (4,), "float32", readonly=True,
                              on_release=lambda: released.append(1))  # fmt: skip
    shared = dlx.convert(tensor, "torch", readonly="share")
    del tensor
    gc.collect()
    assert not released
    assert shared.tolist() == [0, 1, 2, 3]
    del shared
    gc.collect()
    assert released == [1]


@pytest.mark.parametrize("readonly", [True, False, "copy", 1, array(2)])
def test_what_readonly_takes(readonly):
    with pytest.raises(dlx.InvalidArgumentError, match='`readonly` must be "share" or None'):
        dlx.convert(array(3), "numpy", readonly=readonly)


def test_options_leave_nothing_behind(torch):
    source, like, name = dlx.asarray(frozen(3, 4)), torch.zeros(1), numpy.dtype("float32")

    def once():
        shared = dlx.convert(source, like=like, dtype=name, readonly="share", copy=False)
        assert shared.data_ptr() == source.data_ptr
        with pytest.raises(dlx.CopyRefusedError):
            dlx.convert(source, like, copy=False)
        with pytest.raises(TypeError):
            dlx.convert(source, "numpy", like=like)

    for _ in range(3):
        once()
    gc.collect()
    before = [sys.getrefcount(thing) for thing in (source, like, name)]
    for _ in range(50):
        once()
    gc.collect()
    assert [sys.getrefcount(thing) for thing in (source, like, name)] == before


def test_like_on_a_device_that_dlpack_lacks():
    torch = pytest.importorskip("torch")
    like = torch.ones(1, device="meta")
    with pytest.raises(dlx.UnsupportedError, match=r"`like` is a torch\.Tensor.*meta.*`device=`"):
        dlx.convert([1.0], like=like)
    assert dlx.convert([1.0], "torch", device="cpu").tolist() == [1.0]
