"""Memory that processes share: real processes, each way of sending, who frees what, and when."""

import contextlib
import gc
import mmap
import multiprocessing
import os
import pickle
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor

import pytest

import dlx
from dlx._share import segments

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd is Linux's")

METHODS = ["fork", "spawn", "forkserver"]
NAME = f"dlx-test-{os.getpid()}"


@pytest.fixture(params=METHODS)
def context(request):
    return multiprocessing.get_context(request.param)


@pytest.fixture
def name():
    """A name that is free, and is free again afterwards."""
    yield NAME
    with contextlib.suppress(FileNotFoundError):
        dlx.unshare(NAME)


@contextlib.contextmanager
def own_folder():
    """A folder that stands for /dev/shm, which other processes may use beside a test."""
    directory = tempfile.TemporaryDirectory(dir=segments.FOLDER)
    with directory as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "FOLDER", folder)
        yield folder


def numbers(*shape, dtype="float64"):
    """A Tensor of 0, 1, 2 …, in memory of this process only."""
    tensor = dlx.empty(shape, dtype=dtype)
    flat = tensor.reshape((-1,))
    for i in range(flat.size):
        flat[i] = i
    return tensor


def mapped():
    """The segments in this process's address space."""
    with open("/proc/self/maps") as maps:
        return [line for line in maps if "memfd:dlx" in line or "/dev/shm" in line]


def serve(pipe, tensor, *more):
    """In the other process: answer what a test asks."""
    kept = {"tensor": tensor, "more": more, "dlx": dlx}
    del tensor, more
    for text in iter(pipe.recv, None):
        if isinstance(text, list):
            kept["views"] = text
            pipe.send(len(text))
            continue
        try:
            answer = eval(text, {**globals(), **kept})
        except SyntaxError:
            exec(text, {**globals()}, kept)
            answer = None
        except Exception as error:
            answer = repr(error)
        pipe.send(answer)


@contextlib.contextmanager
def process(context, *tensors):
    """Another process that got the Tensors as arguments; yields how to ask it something.

    A str is evaluated there, or executed; a list of Tensors is kept there as `views`.
    """
    here, there = context.Pipe()
    other = context.Process(target=serve, args=(there, *tensors))
    other.start()
    there.close()
    del tensors

    def ask(text):
        here.send(text)
        assert here.poll(60), text
        return here.recv()

    try:
        yield ask
        here.send(None)
        other.join(60)
        assert other.exitcode == 0
    finally:
        other.kill()
        other.join()
        here.close()


def test_writes_are_seen_both_ways(context):
    tensor = dlx.share(numbers(3, 4))
    with process(context, tensor) as ask:
        assert ask("tensor.tolist()") == numbers(3, 4).tolist()
        tensor[0, 0] = -1.0
        assert ask("tensor[0, 0].item()") == -1
        ask("tensor[2, 3] = 99.5")
        assert tensor[2, 3].item() == 99.5
        ask("tensor[1] = [5.0, 6.0, 7.0, 8.0]")
    assert tensor[1].tolist() == [5, 6, 7, 8]  # also when the other has ended


def test_through_a_pipe_views_stay_views_of_one_memory(context):
    tensor = dlx.share(numbers(4, 6))
    views = [tensor, tensor[::-1, ::2], tensor.T, tensor[1, 2], tensor[0].broadcast_to((3, 6)), tensor[:0]]  # fmt: skip
    with process(context, None) as ask:
        assert ask(views) == len(views)
        addresses, back = ask("[v.data_ptr for v in views]"), ask("views")

        assert [a - addresses[0] for a in addresses[:4]] == [
            v.data_ptr - tensor.data_ptr for v in views[:4]
        ]
        for view, again in zip(views, back):  # here they are the very same places
            assert again.shape == view.shape
            assert again.tolist() == view.tolist()
            assert again.readonly == view.readonly
            assert again.data_ptr == view.data_ptr
            assert view.size == 0 or again.strides == view.strides
        back[1][0, 0] = -3.0
        assert ask("views[0][3, 0].item()") == -3


def _double(tensor):
    for i in range(tensor.size):
        tensor[i] = tensor[i].item() * 2
    return tensor.data_ptr, os.getpid()


def test_pools_and_executors_write_in_place(context):
    tensor = dlx.share(numbers(8))
    with context.Pool(2) as pool:
        answers = pool.map(_double, [tensor[i : i + 2] for i in range(0, 8, 2)])
    assert os.getpid() not in {pid for _, pid in answers}
    assert tensor.tolist() == [2 * i for i in range(8)]
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        pool.submit(_double, tensor).result()
    assert tensor.tolist() == [4 * i for i in range(8)]


def test_what_is_not_shared_goes_by_value(context):
    tensor = numbers(3)
    with context.Pool(1) as pool:
        pool.map(_double, [tensor])
    assert tensor.tolist() == [0, 1, 2]


DTYPES = ["bool", "int8", "uint64", "float16", "float32", "complex128", "bfloat16", "float8_e4m3fn",
          "float6_e2m3fn", "float4_e2m1fnx2", "int4", "uint2", "float32x4", "int16x3"]  # fmt: skip


def test_every_dtype():
    sources = []
    for name in DTYPES:
        for shape in ((), (0,), (2, 3)):
            sources.append(dlx.empty(shape, dtype=name))
            raw = dlx.from_pointer(sources[-1].data_ptr, sources[-1].nbytes, "uint8")
            raw[...] = 1
    sources.append(dlx.asarray(b"\1" * 6).reshape((2, 3)).view("uint4"))
    tensors = [dlx.share(source) for source in sources]
    fds = [dlx.shared_fd(tensor) for tensor in tensors]
    code = """
import dlx, sys
for fd in sys.argv[1:]:
    t = dlx.attach(int(fd))
    print((str(t.dtype), t.shape, t.nbytes, t.tolist()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, fds)], pass_fds=fds, capture_output=True, text=True
    )
    assert not done.stderr
    for said, tensor, source in zip(done.stdout.splitlines(), tensors, sources):
        expected = (str(source.dtype), source.shape, source.nbytes, source.tolist())
        assert (str(tensor.dtype), tensor.shape, tensor.nbytes, tensor.tolist()) == expected
        assert said == str(expected)


def test_padded_small_integers():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numpy = pytest.importorskip("numpy")
    tensor = dlx.share(dlx.asarray(numpy.array([1, -2, 3], ml_dtypes.int4)))
    back = dlx.attach(dlx.shared_fd(tensor))

    assert back.tolist() == [1, -2, 3]
    assert back.nbytes == 3
    assert back[1:].numpy().dtype == ml_dtypes.int4


def test_strided_sources_are_packed_first():
    source = numbers(4, 6)[::-2, ::3]
    tensor = dlx.share(source)

    assert tensor.is_contiguous()
    assert tensor.tolist() == source.tolist()
    source[0, 0] = -1.0
    assert tensor[0, 0].item() != -1  # a copy
    assert not tensor.readonly


def test_what_is_shared_already_is_not_copied():
    tensor = dlx.share(numbers(6))

    assert dlx.share(tensor) is tensor
    view = tensor[::-1]
    assert dlx.share(view) is view
    assert dlx.share(memoryview(tensor)).data_ptr == tensor.data_ptr
    assert dlx.share(tensor, readonly=True).data_ptr != tensor.data_ptr  # all could still write
    assert dlx.share(tensor.as_readonly(), readonly=False).data_ptr != tensor.data_ptr


def test_ordinary_pickles_hold_the_bytes():
    tensor = dlx.share(numbers(3))
    back = pickle.loads(pickle.dumps(tensor, 4))

    assert back.tolist() == [0, 1, 2]
    assert back.data_ptr != tensor.data_ptr


def test_over_a_socket():
    tensor = dlx.share(numbers(5))
    ours, theirs = socket.socketpair()
    code = """
import socket, sys, dlx
sock = socket.socket(fileno=int(sys.argv[1]))
_, [fd], _, _ = socket.recv_fds(sock, 1, 1)
tensor = dlx.attach(fd)
import os
os.close(fd)  # ours; the Tensor has its own
tensor[4] = 44.0
sock.send(b"1")
sock.recv(1)
print(tensor.tolist())
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        theirs.close()
        socket.send_fds(ours, [b"0"], [dlx.shared_fd(tensor[1:])])
        assert ours.recv(1) == b"1"
        assert tensor[4].item() == 44
        tensor[0] = -1.0
        ours.send(b"2")
        assert other.communicate(timeout=60)[0].strip() == "[-1.0, 1.0, 2.0, 3.0, 44.0]"
    ours.close()


# ---- read-only ----------------------------------------------------------------------------------


def cannot_be_written(descriptor, size=1):
    with pytest.raises(PermissionError):
        mmap.mmap(descriptor, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    return True


@pytest.mark.parametrize("make", [
    lambda: dlx.share(b"\0\1\2"),
    lambda: dlx.share(numbers(3, dtype="uint8"), readonly=True),
    lambda: dlx.share(dlx.share(numbers(3, dtype="uint8")), readonly=True),
])  # fmt: skip
def test_read_only_memory_is_sealed(make, context):
    tensor = make()
    assert tensor.readonly
    with pytest.raises(dlx.ReadOnlyError):
        tensor[0] = 1
    fd = dlx.shared_fd(tensor)
    assert cannot_be_written(fd)
    again = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    assert cannot_be_written(again)
    os.close(again)
    with process(context, tensor) as ask:
        assert ask("tensor.readonly, tensor.tolist()") == (True, [0, 1, 2])
        assert ask("cannot_be_written(dlx.shared_fd(tensor))") is True
        assert "ReadOnlyError" in ask("tensor.__setitem__(0, 7)")


def test_one_writes_and_others_read(context):
    tensor = dlx.share(numbers(3))
    with process(context, None, tensor.as_readonly()) as ask:
        assert ask("more[0].readonly") is True
        assert "ReadOnlyError" in ask("more[0].__setitem__(0, 7.0)")
        if context.get_start_method() != "fork":  # which has the memory itself
            assert ask("cannot_be_written(dlx.shared_fd(more[0]))") is True
        tensor[1] = 10.0
        assert ask("more[0].tolist()") == [0, 10, 2]


def test_memory_that_others_write_is_copied_to_be_sealed():
    tensor = dlx.share(numbers(3))
    fd = os.dup(dlx.shared_fd(tensor.as_readonly()))
    del tensor
    gc.collect()
    reader = dlx.attach(fd)  # mapped read-only here; whoever has the first descriptor can write
    os.close(fd)

    assert reader.readonly
    assert dlx.share(reader) is reader
    sealed = dlx.share(reader, readonly=True)
    assert sealed.data_ptr != reader.data_ptr
    assert dlx.share(sealed, readonly=True) is sealed


def test_writable_copies_of_read_only_data():
    tensor = dlx.share(b"abc", readonly=False)
    tensor[0] = 0

    assert tensor.tolist() == [0, 98, 99]


def test_attach_read_only():
    tensor = dlx.share(numbers(3))
    reader = dlx.attach(dlx.shared_fd(tensor), readonly=True)
    tensor[0] = 5.0

    assert reader.readonly
    assert reader[0].item() == 5


# ---- names --------------------------------------------------------------------------------------


def test_names_are_only_made_on_request(context):
    before = set(os.listdir("/dev/shm"))
    tensor = dlx.share(numbers(3))
    with process(context, tensor):
        added = set(os.listdir("/dev/shm")) - before
    assert not [entry for entry in added if "dlx" in entry]


def test_a_name_reaches_any_process_and_outlives_each(name):
    tensor = dlx.share(numbers(3), name=name)
    code = "import dlx, sys; t = dlx.attach(sys.argv[1]); t[0] = t[0].item() + 7; print(t.tolist())"

    def attach():
        done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True)
        assert not done.stderr  # no tracker warns of it
        return done.stdout.strip()

    assert attach() == "[7.0, 1.0, 2.0]"
    assert tensor.tolist() == [7, 1, 2]
    # An attaching process of multiprocessing.shared_memory would have removed it by now.
    del tensor
    gc.collect()
    assert attach() == "[14.0, 1.0, 2.0]"
    kept = dlx.attach(name)
    dlx.unshare(name)
    assert kept.tolist() == [14, 1, 2]
    with pytest.raises(FileNotFoundError):
        dlx.attach(name)
    with pytest.raises(FileNotFoundError):
        dlx.unshare(name)


def test_a_name_in_use_is_kept(name):
    tensor = dlx.share(numbers(3), name=name)
    with pytest.raises(ValueError, match=rf"in use.*{name}.*unshare"):
        dlx.share(b"other", name=name)
    assert dlx.attach(name).data_ptr == tensor.data_ptr


def test_read_only_with_a_name(name):
    tensor = dlx.share(b"abc", name=name)

    assert tensor.readonly
    again = dlx.attach(name)
    assert again.readonly
    assert bytes(memoryview(again)) == b"abc"
    assert os.stat(f"/dev/shm/{name}").st_mode & 0o777 == 0o400


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "a/b", "/a", "a\0b", "a" * 256, "é" * 128, "\ud800"]
)
def test_names_that_no_file_can_have_are_refused(bad):
    for call in (
        lambda: dlx.share(b"a", name=bad),
        lambda: dlx.attach(bad),
        lambda: dlx.unshare(bad),
    ):
        with pytest.raises(ValueError, match="name"):
            call()
    with pytest.raises(TypeError, match="name"):
        dlx.share(b"a", name=3)
