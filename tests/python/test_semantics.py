"""docs/semantics.md: one test for each rule on views, copies, moves, read-only data and devices.

Other rules are in test_semantics_*.py, those on C in raw/test_raw_semantics.py.
"""

import copy
import ctypes
import re
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

import dlx
from dlpack_ctypes import IS_COPIED, Imported, LegacyProducer, Producer

HERE = Path(__file__).parent


def grid():
    return dlx.asarray([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


def elsewhere(shape=3, device="cuda:0"):
    """A Tensor whose memory nobody can read."""
    return dlx.from_pointer(64, shape, "float32", device=device)


def test_every_rule_has_its_test_and_every_test_its_rule():
    page = (HERE.parents[1] / "docs" / "semantics.md").read_text("utf-8")
    rules = re.findall(r"^- \*\*([A-Z]\d+)\*\* ", page, re.M)
    tests = []
    for path in sorted(HERE.rglob("test_*semantics*.py")):
        tests += re.findall(r"^def test_([a-z]\d+)_", path.read_text("utf-8"), re.M)

    assert len(rules) == len(set(rules)) > 50
    assert sorted(tests) == sorted(rule.lower() for rule in rules)


# ---- views --------------------------------------------------------------------------------------


def test_v1_views_have_the_same_memory():
    t = grid()
    views = [
        t[:, ::-1], t[1], t[0, 0], t.permute_dims((1, 0)), t.expand_dims(0).squeeze(0), t.view("int64"),
        t.reshape((3, 2)), t.as_readonly(), t.broadcast_to((4, 2, 3)),
    ]  # fmt: skip
    start, end = t.data_ptr, t.data_ptr + t.nbytes
    assert all(start <= view.data_ptr < end for view in views)
    t[0, 0] = 9.0
    assert views[0].tolist()[0] == [2, 1, 9]
    assert views[2].item() == 9
    views[3][2, 1] = -1.0
    assert t[1, 2].item() == -1
    assert views[8][3, 1, 2].item() == -1


def test_v2_imports_and_exports_are_views():
    numpy = pytest.importorskip("numpy")
    source = numpy.arange(3.0)
    t = dlx.from_dlpack(source)
    others = [
        dlx.asarray(source), dlx.asarray(memoryview(source)), dlx.from_dlpack(t),
        dlx.asarray(numpy.from_dlpack(t)), dlx.asarray(memoryview(t)), dlx.asarray(numpy.asarray(t)),
    ]  # fmt: skip
    source[1] = 7
    for other in others:
        assert other.data_ptr == source.ctypes.data
        assert other.tolist() == [0, 7, 2]


def test_v3_a_view_keeps_the_memory_and_not_the_tensor():
    producer = Producer()
    t = dlx.from_dlpack(producer)
    gone = weakref.ref(t)
    view = t[0]
    del t

    assert gone() is None
    assert producer.deleted == 0
    del view
    assert producer.deleted == 1


def test_v4_a_description_never_changes():
    t = grid()
    for name in ("shape", "strides", "dtype", "device", "data_ptr", "readonly"):
        with pytest.raises(AttributeError):
            setattr(t, name, getattr(t, name))


def test_v5_copy_and_deepcopy():
    t = grid()

    assert copy.copy(t) is t
    assert copy.deepcopy(t).data_ptr != t.data_ptr
    assert copy.deepcopy(t).tolist() == t.tolist()


def test_v6_the_way_back_from_numpy():
    pytest.importorskip("numpy")
    released = []
    memory = (ctypes.c_double * 4)(1, 2, 3, 4)
    t = dlx.from_pointer(
        ctypes.addressof(memory), 4, "float64", owner=memory, on_release=lambda: released.append(1)
    )
    array = t.numpy()
    back = dlx.asarray(array[::2])
    gone = weakref.ref(array)
    del t, array

    assert gone() is None  # the Tensor is on the memory itself, not on the array
    assert back.tolist() == [1, 3]
    assert released == []
    del back
    assert released == [1]


# ---- copies -------------------------------------------------------------------------------------


def test_c1_a_copy_is_fresh_compact_and_writable():
    t = grid().as_readonly()
    c = t[:, ::-2].copy()

    assert c.is_contiguous()
    assert not c.readonly
    c[0, 0] = 50.0
    assert t.tolist() == grid().tolist()


def test_c2_copy_none_true_and_false():
    t = grid()

    assert dlx.asarray(t).data_ptr == dlx.asarray(t, copy=False).data_ptr == t.data_ptr
    assert dlx.asarray(t, copy=True).data_ptr != t.data_ptr
    assert t.reshape((6,)).data_ptr == t.reshape((6,), copy=False).data_ptr == t.data_ptr
    assert t.reshape((6,), copy=True).data_ptr != t.data_ptr
    assert t.mT.reshape((6,)).data_ptr != t.data_ptr
    with pytest.raises(dlx.CopyRefusedError):
        t.mT.reshape((6,), copy=False)


def test_c3_refused_copies_are_both_errors_of_the_standard():
    with pytest.raises(dlx.CopyRefusedError) as caught:
        dlx.asarray([1, 2], copy=False)
    assert isinstance(caught.value, BufferError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("call", [
    lambda copy: dlx.asarray(grid(), dtype="float32", copy=copy),
    lambda copy: dlx.asarray([1, 2], copy=copy),
    lambda copy: grid().mT.reshape((6,), copy=copy),
])  # fmt: skip
def test_c4_what_needs_a_copy(call):
    assert call(None).tolist() == call(True).tolist()
    with pytest.raises(dlx.CopyRefusedError):
        call(False)


def test_c5_copy_true_is_checked():
    producer = Producer()  # shares whatever it is asked, and marks nothing
    t = dlx.from_dlpack(producer, copy=True)

    assert producer.calls[-1]["copy"] is True
    assert t.data_ptr != producer.address
    marked = Producer(flags=IS_COPIED)
    assert dlx.from_dlpack(marked, copy=True).data_ptr == marked.address


def test_c6_is_copied_belongs_to_one_export():
    t = dlx.from_dlpack(Producer(flags=IS_COPIED))

    plain, copied = (Imported(t.__dlpack__(max_version=(1, 3), copy=c)) for c in (None, True))
    assert not plain.flags & IS_COPIED
    assert copied.flags & IS_COPIED
    plain.free()
    copied.free()


def test_c8_data_need_not_be_aligned():
    memory = dlx.asarray(bytearray(9))
    t = memory[1:].view("float32")
    t[1] = 2.5

    assert t.data_ptr == memory.data_ptr + 1
    assert dlx.asarray(memoryview(t)).data_ptr == t.data_ptr
    copied = t.copy()
    assert copied.data_ptr % 64 == 0
    assert (t.tolist(), copied.tolist()) == ([0, 2.5], [0, 2.5])


def test_c9_dtype_keeps_the_lowest_bits_and_packed_elements_become_padded():
    packed = dlx.asarray(bytearray(b"\x21\xf3")).view("uint4")

    assert dlx.asarray(packed, dtype="uint8").tolist() == [1, 2, 3, 15]
    assert dlx.asarray(packed, dtype="int2").tolist() == [1, -2, -1, -1]
    padded = dlx.asarray([1, 2, 3], dtype="uint4")
    dlx.copyto(packed[:3], padded)
    assert (padded.nbytes, dlx.empty(3, dtype="uint4").nbytes) == (3, 2)
    assert packed.tobytes() == b"\x21\xf3"
    assert dlx.asarray(dlx.asarray([257, -1], dtype="int64"), dtype="uint8").tolist() == [1, 255]


# ---- move ---------------------------------------------------------------------------------------


def test_m1_both_sides_go_on_using_the_memory():
    numpy = pytest.importorskip("numpy")
    source = numpy.arange(3.0)
    t = dlx.from_dlpack(source)
    there = numpy.from_dlpack(t)
    last = there if there.flags.writeable else source  # NumPy before 2.1: its imports are read-only
    source[0], t[1], last[2] = 10, 11.0, 12

    assert source.tolist() == t.tolist() == there.tolist() == [10, 11, 12]


def test_m2_a_capsule_is_consumed_once():
    class Again:
        def __dlpack__(self, **keywords):
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    capsule = grid().__dlpack__(max_version=(1, 3))
    assert dlx.from_dlpack(Again()).tolist() == grid().tolist()
    with pytest.raises((ValueError, BufferError), match="consumed"):
        dlx.from_dlpack(Again())


def test_m3_a_failed_import_keeps_nothing():
    producer = Producer(dtype=(99, 32, 1))
    with pytest.raises(dlx.UnsupportedError):
        dlx.from_dlpack(producer)
    assert producer.deleted == 1


# ---- read-only ----------------------------------------------------------------------------------


def test_r1_read_only_is_inherited_and_copies_are_writable():
    t = grid().as_readonly()
    views = [t[0], t.mT, t.reshape((6,)), t.view("uint8"), dlx.from_dlpack(t), dlx.asarray(t)]

    assert all(view.readonly for view in views)
    assert memoryview(t).readonly
    assert not t.copy().readonly
    assert not dlx.asarray(t, copy=True).readonly


def test_r2_broadcasting_makes_read_only_where_elements_repeat():
    t = grid()

    assert t.broadcast_to((4, 2, 3)).readonly
    assert not t.broadcast_to((1, 2, 3)).readonly


def test_r3_read_only_travels_and_legacy_exports_refuse_it():
    t = grid().as_readonly()
    export = Imported(t.__dlpack__(max_version=(1, 3)))
    assert export.flags & 1
    export.free()
    assert dlx.from_dlpack(t).readonly
    assert dlx.asarray(memoryview(t)).readonly
    with pytest.raises(dlx.ReadOnlyError, match="read-only"):
        t.__dlpack__()


@pytest.mark.parametrize("library", ["jaxlib", "tensorflow", "pyarrow"])
def test_r4_legacy_imports_of_immutable_arrays_are_read_only(library):
    theirs = type("Array", (LegacyProducer,), {"__module__": f"{library}.core"})

    assert dlx.from_dlpack(theirs()).readonly
    assert not dlx.from_dlpack(LegacyProducer()).readonly


def test_r5_writes_are_refused_with_both_errors():
    t = grid().as_readonly()
    for write in (
        lambda: t.__setitem__(0, 1.0),
        lambda: dlx.copyto(t, grid()),
        lambda: t.__iadd__(1),
    ):
        with pytest.raises(dlx.ReadOnlyError) as caught:
            write()
        assert isinstance(caught.value, BufferError)
        assert isinstance(caught.value, ValueError)
    with pytest.raises(TypeError):  # Python's own
        memoryview(t)[0, 0] = 1.0


def test_r6_read_only_binds_the_view_and_not_the_memory():
    t = grid()
    reader = t.as_readonly()
    t[0, 0] = 8.0

    assert reader[0, 0].item() == 8
    assert not t.readonly


# ---- devices ------------------------------------------------------------------------------------


def test_d1_data_moves_only_where_the_caller_says_so():
    t = elsewhere()

    assert dlx.asarray(t).device == dlx.from_dlpack(t).device == "cuda:0"
    for call in (t.numpy, t.tolist, t.__array__, lambda: memoryview(t)):
        with pytest.raises((dlx.DeviceRefusedError, BufferError)):
            call()
    # Consent is given: now it is the missing driver, or the made-up address, that stops it.
    far, here = elsewhere(device="vulkan:0"), dlx.empty(3)
    for call in (
        lambda: far.to_device("cpu"),
        lambda: here.to_device("vulkan:0"),
        lambda: dlx.asarray(far, device="cpu"),
        lambda: dlx.from_dlpack(here, device="vulkan:0"),
        lambda: far.numpy(force=True),
        lambda: dlx.convert(far, "numpy", force=True),
        lambda: dlx.convert(far, "numpy", device="cpu"),
        lambda: dlx.copyto(here, far),
        lambda: far.__setitem__(slice(1), here[:1]),
    ):
        with pytest.raises((dlx.UnavailableError, dlx.UnsupportedError)):
            call()


def test_d2_refusals_name_the_call_that_would_move_the_data():
    t = elsewhere()
    for call in (t.numpy, t.tolist, t.__array__, lambda: t.__reduce_ex__(5), lambda: dlx.share(t)):
        with pytest.raises(dlx.DeviceRefusedError, match=r"to_device\('cpu'\)"):
            call()


def test_d3_to_device_to_where_it_is():
    t = grid()

    assert t.to_device("cpu") is t


def test_d4_imports_keep_the_producer_s_number():
    assert str(dlx.from_dlpack(Producer(device=(2, 3))).device) == "cuda:3"
    assert str(dlx.from_dlpack(Producer(device=(1, 7))).device) == "cpu"


def test_d5_what_reads_no_elements_works_for_any_memory():
    code = """
import sys, dlx
t = dlx.from_pointer(4096, (4, 6), "float32", device="cuda:0")
v = t[1:, ::2].mT.expand_dims(0)
assert v.shape == (1, 3, 3) and v.strides[1:] == (2, 6), (v.shape, v.strides)
assert "cuda:0" in repr(v)
assert dlx.from_dlpack(t).data_ptr == 4096
assert not any("libcuda" in line for line in open("/proc/self/maps"))
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "ok\n", done.stderr
