"""Pickling: every protocol, data out of band, who may write what comes back, and what is refused."""

import copy
import os
import pickle
import random
import subprocess
import sys

import pytest

import dlx
from dlx import _pickling

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def out_of_band(tensor):
    frames = []
    return pickle.dumps(tensor, protocol=5, buffer_callback=frames.append), frames


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", ["bool", "int8", "uint64", "float32", "float64", "complex128", "bfloat16", "float8_e4m3fn", "int4", "float32x4"])  # fmt: skip
def test_round_trip(protocol, name):
    tensor = dlx.empty((2, 3), dtype=name)
    count = tensor.nbytes
    data = bytes(random.Random(4).choices(range(2), k=count))
    dlx.copyto(dlx.from_pointer(tensor.data_ptr, count, "uint8", owner=tensor), dlx.asarray(data))
    back = pickle.loads(pickle.dumps(tensor, protocol))

    assert type(back) is dlx.Tensor
    assert dlx.dtype(back.dtype) == dlx.dtype(tensor.dtype)
    assert back.shape == tensor.shape
    assert back.tolist() == tensor.tolist()
    assert back.data_ptr != tensor.data_ptr
    assert not back.readonly


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4)])
def test_shapes(shape):
    back = pickle.loads(pickle.dumps(dlx.empty(shape)))
    assert back.shape == shape


def test_random_strided_tensors_are_packed_first():
    numpy = pytest.importorskip("numpy", reason="makes the random arrays")
    seed = int(os.environ.get("DLX_TEST_SEED") or random.randrange(1 << 32))
    print(f"DLX_TEST_SEED={seed}")
    rng = numpy.random.default_rng(seed)
    for _ in range(50):
        source = rng.random(tuple(rng.integers(0, 6, 3)))
        view = source.transpose(rng.permutation(3))[:: int(rng.choice([-2, -1, 1, 2])), 1:]
        data, frames = out_of_band(dlx.asarray(view))
        assert sum(memoryview(frame).nbytes for frame in frames) == view.size * 8
        back = pickle.loads(data, buffers=frames)
        assert back.is_contiguous()
        assert back.tolist() == view.tolist()


def test_frames_are_the_memory_itself():
    tensor = dlx.empty(1 << 20, dtype="uint8")
    tensor[0] = 7
    data, frames = out_of_band(tensor)

    assert len(data) < 200
    (frame,) = frames
    with frame.raw() as raw:
        assert dlx.asarray(raw).data_ptr == tensor.data_ptr
    back = pickle.loads(data, buffers=frames)
    assert back.data_ptr == tensor.data_ptr  # nothing was copied on either side
    back[0] = 9
    assert tensor[0].item() == 9


def test_frames_keep_the_memory():
    released = []
    memory = bytearray(b"\x05" * 8)
    tensor = dlx.from_pointer(
        dlx.asarray(memory).data_ptr,
        8,
        "uint8",
        owner=memory,
        on_release=lambda: released.append(1),
    )
    data, frames = out_of_band(tensor)
    back = pickle.loads(data, buffers=frames)
    del tensor, frames
    assert released == []
    assert back.tolist() == [5] * 8
    del back
    assert released == [1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_read_only_stays_read_only(protocol):
    tensor = dlx.asarray([1, 2, 3]).as_readonly()
    assert pickle.loads(pickle.dumps(tensor, protocol)).readonly


def test_read_only_frames_give_read_only_tensors():
    data, frames = out_of_band(dlx.asarray([1, 2, 3]))

    assert pickle.loads(data, buffers=[bytes(frame) for frame in frames]).readonly
    assert not pickle.loads(data, buffers=[bytearray(frame) for frame in frames]).readonly


def test_a_frame_of_another_size_is_refused():
    data, frames = out_of_band(dlx.asarray([1, 2, 3]))
    with pytest.raises(ValueError, match=r"23 bytes \(expected 24\)"):
        pickle.loads(data, buffers=[bytes(frames[0])[:-1]])


def test_what_cannot_be_pickled_says_why():
    with pytest.raises(dlx.DeviceRefusedError, match=r"cuda:0.*to_device\('cpu'\)"):
        pickle.dumps(dlx.from_pointer(64, 3, "int8", device="cuda:0"))
    with pytest.raises(dlx.UnsupportedError, match="addresses"):
        pickle.dumps(dlx.from_pointer(id(bytes), 1, "opaque64"))


def test_in_another_process():
    tensor = dlx.asarray([[1.5, 2.5]])
    code = "import pickle, sys; t = pickle.load(sys.stdin.buffer); print(t.shape, t.tolist())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(tensor),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.decode().strip() == "(1, 2) [[1.5, 2.5]]"


def test_the_name_in_every_pickle_stays():
    # Files that users keep refer to it.
    assert _pickling.rebuild.__module__ == "dlx._pickling"
    assert _pickling.rebuild.__qualname__ == "rebuild"
    block = b"".join(number.to_bytes(2, sys.byteorder) for number in (1, 2))
    ours = dlx.asarray([1], dtype="uint16").__reduce_ex__(4)[1][3]
    assert ours == (_pickling.BIG_ENDIAN if sys.byteorder == "big" else 0)
    assert _pickling.rebuild(block, (2,), (1, 16, 1), ours).tolist() == [1, 2]
    for other in (block[:3], block + b"x"):
        with pytest.raises(dlx.InvalidArgumentError, match=r"bytes \(expected 4\)"):
            _pickling.rebuild(other, (2,), (1, 16, 1), ours)


def test_no_elements_need_no_address():
    empty = dlx.from_pointer(0, (0, 2), "int16")
    assert not empty.data_ptr
    assert pickle.loads(pickle.dumps(empty)).shape == (0, 2)


def test_methods_go_by_name():
    for name in ("tolist", "sum", "copy", "__add__", "__array__", "reshape"):
        method = getattr(dlx.Tensor, name)
        assert pickle.loads(pickle.dumps(method)) is method


def test_of_the_other_byte_order():
    theirs = 0 if sys.byteorder == "big" else _pickling.BIG_ENDIAN
    with pytest.raises(dlx.UnsupportedError, match="other byte order"):
        _pickling.rebuild(bytes(4), (2,), (1, 16, 1), theirs)
    assert _pickling.rebuild(b"ab", (2,), (1, 8, 1), theirs).tolist() == [97, 98]


def test_copy_and_deepcopy():
    tensor = dlx.asarray([1, 2, 3])
    assert copy.copy(tensor) is tensor
    deep = copy.deepcopy({"a": tensor, "b": tensor})
    assert deep["a"] is deep["b"]
    assert deep["a"].data_ptr != tensor.data_ptr
    assert deep["a"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "frame", ["x[::-1]", "numpy.broadcast_to(x[:1], 64)", "y[::2]", "x.reshape(8, 8).T"]
)
def test_a_frame_with_gaps_is_refused(frame):
    """As numpy's own: what lies between its elements is not the pickle's."""
    numpy = pytest.importorskip("numpy")
    pickled, _ = out_of_band(dlx.empty(64, dtype="uint8"))
    places = {"numpy": numpy, "x": numpy.zeros(64, "u1"), "y": numpy.zeros(128, "u1")}

    with pytest.raises(dlx.InvalidArgumentError, match=r"not compact \(got strides"):
        pickle.loads(pickled, buffers=[eval(frame, places)])
