"""The traceback of a mistake ends in the user's line and one or two frames of dlx."""

import inspect
import os
import subprocess
import sys
import traceback

import pytest

import dlx
from dlx import errors

numpy = pytest.importorskip("numpy", reason="computes")
PACKAGE = os.path.dirname(dlx.__file__)
t = dlx.asarray([[1.0, 2.0], [3.0, 4.0]])
cpu = dlx.Device("cpu")
MISTAKES = """
dlx.asarray({})
dlx.asarray(object())
dlx.asarray([1, "two"])
dlx.asarray([[1, 2], [3]])
dlx.asarray([1, 2], dtype="float33")
dlx.asarray([1, 2], device="nowhere")
dlx.asarray([1, 2], copy=False)
dlx.asarray([300], dtype="int8")
dlx.asarray(numpy.array(["a"]))
dlx.asarray(numpy.array(["a", None], dtype=object))
dlx.asarray(numpy.ma.array([1, 2], mask=[True, False]))
dlx.asarray(1.5, dtype="int8")
dlx.from_dlpack([1, 2])
dlx.from_dlpack(t, device="cuda:77")
dlx.from_dlpack(t, device=3.5)
dlx.convert(t, "nothing")
dlx.convert(t, 3)
dlx.convert({}, "numpy")
dlx.convert(t, "numpy", device="cuda:77")
dlx.copyto(t, [1.0, 2.0, 3.0])
dlx.copyto([1.0], t)
dlx.copyto(t.as_readonly(), t)
dlx.empty((2, -1))
dlx.empty("two")
dlx.empty(2, dtype="float33")
dlx.empty(2, dtype=[])
dlx.empty(2, device="nowhere")
dlx.empty(2, device=["cpu"])
dlx.empty(1 << 62)
dlx.from_pointer("text", (2,), "int8")
dlx.from_pointer(-1, (2,), "int8")
dlx.from_pointer(0, (2,), "int8")
dlx.from_pointer(1, (2,), "int7x")
dlx.from_pointer(1, (2,), "int8", on_release=3)
dlx.from_pointer(1, (2,), "int8", device="nowhere")
dlx.share({})
dlx.share(t, name="a/b")
dlx.share(t, name=3)
dlx.attach("no-such-memory")
dlx.attach(3.5)
dlx.attach(987654)
dlx.shared_fd(t)
dlx.shared_fd(3)
dlx.unshare("no-such-memory")
dlx.unshare(3)
dlx.Device("nowhere")
dlx.Device(3.5)
dlx.Device((1, "a"))
dlx.Device("cuda:77").memory_total
dlx.Device("cuda:77").synchronize()
dlx.device_of("text")
dlx.device_of(0)
dlx.dtype("float33")
dlx.dtype([])
dlx.dtype("uint8x4").dtype
dlx.Stream()
dlx.Stream(3)
dlx.Stream("text", device="cuda")
dlx.Stream(device="cpu")
dlx.stream("text")
dlx.current_stream("nowhere")
dlx.set_num_threads(-1)
dlx.set_num_threads("two")
dlx.set_export_negative_strides("perhaps")
t.to_device("nowhere")
t.to_device("cuda:77")
t.to_device("cpu", stream="text")
t.to_device(3.5)
t.reshape((3, 3))
t.reshape((-1, -1))
t.reshape("ab")
t.permute_dims((0, 0))
t.transpose(0, 0)
t.squeeze(0)
t.broadcast_to((3, 3))
t.view("int3")
t.view("int24x")
t.flatten(order="X")
t.astype("float33")
t.item()
t.numpy(3)
t.contiguous("X")
t[5]
t["a"]
t[0, 0, 0]
t[[True]]
t[1.5]
t[numpy.array([9])]
t[0] = "a"
t[9] = 1
t[0] = [1, 2, 3]
t.as_readonly()[0] = 1
t + "a"
t + {}
t @ dlx.asarray([1.0, 2.0, 3.0])
t + dlx.asarray([1.0, 2.0, 3.0])
t << 1
t.__iadd__(dlx.asarray([1.0, 2.0, 3.0]))
t.as_readonly().__iadd__(1)
t.sum(axis=7)
t.mean("a")
t.clip(1, 2, 3, 4, 5)
numpy.add(t, "a")
numpy.concatenate([t, dlx.asarray([1.0])])
numpy.add(t, t, out=t.as_readonly())
bool(t)
int(t)
float(t)
complex(t)
format(t, ".2f")
iter(t[0, 0])
hash(t)
t.__dlpack__(stream=3)
t.__dlpack__(dl_device=(2, 0))
t.__array_namespace__(api_version="1999")
t.__array__("int8", copy=False)
t.nonsense
xp.zeros((2, -1))
xp.sum(t, axis=7)
xp.asarray({})
xp.isdtype(t.dtype, "nonsense")
xp.zeros(2, device="nowhere")
xp.zeros(2, device="cpu:7")
xp.nonsense
raw.dlx_tensor_alloc("a")
""".strip().splitlines()


def frames_of(error):
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_shows_at_most_two_frames_of_dlx(line):
    from dlx import raw, xp

    with pytest.raises(Exception) as info:  # noqa: PT011
        exec(compile(line, "user", "exec"), {**globals(), "raw": raw, "xp": xp})
    error = info.value
    shown = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    assert sum(name.startswith(PACKAGE) for name in frames_of(error)) <= 2, shown


def test_frames_of_other_code_that_dlx_calls_stay():
    class Fails:
        def __array__(self, dtype=None, copy=None):
            raise ValueError("not today")

    with pytest.raises(ValueError, match="not today") as info:
        dlx.asarray(Fails(), copy=True)
    here = frames_of(info.value)
    assert here[0] == here[-1] == __file__
    assert sum(name.startswith(PACKAGE) for name in here) == 1


def test_a_bug_of_dlx_shows_every_frame():
    def frames(error):
        def fail():
            raise error

        with pytest.raises(type(error)) as caught:
            errors.with_brief_errors(fail)()
        return len(traceback.extract_tb(caught.tb))

    assert frames(dlx.InternalError("a bug")) == frames(dlx.InvalidArgumentError("a mistake")) + 1


def test_functions_with_brief_errors_look_like_themselves():
    assert dlx.Stream.wait.__qualname__ == "Stream.wait"
    assert dlx.Stream.wait.__doc__
    assert list(inspect.signature(dlx.stream).parameters) == ["obj", "device"]


def test_development_mode_shows_every_frame():
    command = [sys.executable, "-X", "dev", "-W", "ignore", "-c", "import dlx; dlx.asarray({})"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert shown.count(PACKAGE) > 2
