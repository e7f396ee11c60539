"""Shared memory at its limits: no room, no descriptors, damage, dead senders, and no leaks."""

import contextlib
import errno
import gc
import io
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.reduction import ForkingPickler

import pytest

import dlx
from test_share import mapped, name, numbers, own_folder, process  # noqa: F401

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd is Linux's")


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def run(code, *args):
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# ---- who frees what -----------------------------------------------------------------------------


def test_a_segment_holds_one_descriptor():
    before = descriptors()
    writable, frozen = dlx.share([1, 2, 3]), dlx.share(b"abc")
    assert descriptors() == before + 2
    attached = dlx.attach(dlx.shared_fd(writable))
    assert descriptors() == before + 2
    assert (attached[1:] + frozen[1:]).tolist() == [2 + 98, 3 + 99]


def test_memory_is_given_back_with_the_last_tensor_of_the_process():
    before, maps = descriptors(), len(mapped())
    tensor = dlx.share(numbers(1000))
    view = memoryview(tensor[10:])
    dlx.shared_fd(tensor.as_readonly())
    assert descriptors() == before + 2  # one of the segment, one that cannot write
    assert len(mapped()) == maps + 1
    del tensor
    gc.collect()
    assert len(mapped()) == maps + 1
    assert view[0] == 10
    del view
    gc.collect()
    assert descriptors() == before
    assert len(mapped()) == maps


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_the_memory_lives_until_the_last_process_lets_go(method):
    with process(multiprocessing.get_context(method), None) as ask:
        inherited = len(mapped()) if method == "fork" else 0
        before, maps = ask("len(os.listdir('/proc/self/fd'))"), len(mapped())
        tensor = dlx.share(numbers(3))
        assert ask([tensor, tensor[1:]]) == 2
        del tensor
        gc.collect()
        assert len(mapped()) == maps  # nothing is left here
        assert ask("[v.tolist() for v in views]") == [[0, 1, 2], [1, 2]]
        assert ask("len(mapped())") == inherited + 1  # for both views
        held = ask("len(os.listdir('/proc/self/fd'))")
        assert held == before + 1
        ask("views = None")
        assert ask("(gc.collect(), len(mapped()))[1]") == inherited
        assert ask("len(os.listdir('/proc/self/fd'))") == before


def attached(tensor):
    return dlx.attach(dlx.shared_fd(tensor))


def fails(error, call, *args, **kwargs):
    with pytest.raises(error):
        call(*args, **kwargs)


STEPS = {
    "share": lambda: dlx.share(numbers(2)),
    "share strided": lambda: dlx.share(SOURCE[::-1]),
    "share read-only": lambda: dlx.share(b"abc"),
    "share again": lambda: dlx.share(dlx.share(SOURCE)),
    "attach": lambda: dlx.attach(dlx.shared_fd(SHARED)),
    "attach read-only": lambda: attached(dlx.share(b"abc")),
    "attach a view": lambda: attached(dlx.share(SOURCE).as_readonly()),
    "failing attach": lambda: fails(ValueError, dlx.attach, FILE),
    "failing size": lambda: fails(MemoryError, dlx.share, HUGE),
    "name": lambda: (dlx.share(SOURCE, name=f"dlx-leak-{os.getpid()}"), dlx.unshare(f"dlx-leak-{os.getpid()}")),
    "name in use": lambda: fails(ValueError, dlx.share, SOURCE, name=TAKEN),
}  # fmt: skip
SOURCE = numbers(3)
SHARED = dlx.share(SOURCE)
HUGE = dlx.asarray([1])[0].broadcast_to((1 << 50,))
FILE = tempfile.TemporaryFile()  # noqa: SIM115 # for all of the run
TAKEN = f"dlx-taken-{os.getpid()}"


@pytest.mark.parametrize("step", STEPS)
def test_no_descriptor_and_no_mapping_leaks(step):
    if step == "name in use":
        dlx.share(SOURCE, name=TAKEN)
    try:
        STEPS[step]()
        gc.collect()
        before = descriptors(), len(mapped())
        for _ in range(50):
            STEPS[step]()
        gc.collect()
        assert (descriptors(), len(mapped())) == before
    finally:
        if step == "name in use":
            dlx.unshare(TAKEN)


def _echo(pipe):
    gc.freeze()  # what a forked child has of pytest's is not looked at each time
    for tensor in iter(pipe.recv, None):
        assert tensor[0].item() == 0
        gc.collect()
        pipe.send((descriptors(), len(mapped())))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_sending_leaks_nothing_on_either_side(method):
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    other = context.Process(target=_echo, args=(there,))
    other.start()
    seen = []
    for _ in range(60):
        here.send(dlx.share(numbers(100)))
        assert here.poll(60)
        seen.append((*here.recv(), len(mapped()), descriptors()))
    # The thread of multiprocessing that hands descriptors over closes its connection afterwards.
    least = min(each[-1] for each in seen[:6])
    deadline = time.monotonic() + 20
    while descriptors() > least and time.monotonic() < deadline:
        time.sleep(0.01)
    left = descriptors()
    here.send(None)
    other.join(60)

    assert other.exitcode == 0
    assert seen[-1][:-1] == seen[5][:-1], seen
    assert left <= least, seen


def test_exit_with_shared_tensors_everywhere_is_quiet():
    code = """
import sys, dlx
class Holder:
    pass
holder = sys.modules["held"] = Holder()
holder.tensors = [dlx.share([1]), dlx.share(b"a"), memoryview(dlx.share([2]))]
holder.self = holder
kept = dlx.share([3])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_warning_where_python_warns_of_every_encoding_that_is_not_named():
    options = ["-X", "warn_default_encoding", "-W", "error"]
    code = "import dlx; t = dlx.share([1, 2]); dlx.attach(dlx.shared_fd(t))"
    done = subprocess.run(
        [sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


# ---- errors -------------------------------------------------------------------------------------


def test_more_than_the_machine_has_is_refused_before_anything_is_taken():
    with pytest.raises(MemoryError, match=r"not enough room for 90071992547\d+ bytes.*free: \d+"):
        dlx.share(HUGE)


def test_a_limit_of_the_system_is_an_error_and_no_signal():
    # Writing to memory that is promised only would be SIGBUS; the limit stands for a full /dev/shm.
    code = """
import resource, sys, dlx
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
big = dlx.empty(1 << 21, dtype="uint8")
for name in (None, sys.argv[1]):
    try:
        dlx.share(big, name=name)
    except MemoryError as error:
        print(error)
print(dlx.share(b"abc").tolist())
"""
    first, second, last = run(code, f"dlx-none-{os.getpid()}").splitlines()
    assert "not enough room for 20972" in first
    assert first == second
    assert last == "[97, 98, 99]"


def test_too_many_files_names_the_way_out():
    code = """
import resource, dlx
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
kept = []
try:
    for _ in range(100):
        kept.append(dlx.share(b"abc"))
except dlx.UnavailableError as error:
    print(error)
number = len(kept)
one = kept[0]
kept.clear()
print(number > 20, dlx.share(b"abc").tolist(), one.tolist())
"""
    said, rest = run(code).splitlines()
    assert "ulimit -n" in said
    assert "views" in said
    assert rest == "True [97, 98, 99] [97, 98, 99]"


STARVED = """
import multiprocessing, os, resource, sys, dlx
from multiprocessing.reduction import ForkingPickler
def sender(pipe):  # another process, which is not at its limit
    tensor = dlx.share([1, 2, 3])
    pipe.send([bytes(ForkingPickler.dumps(tensor[i % 3:])) for i in range(12)])
    pipe.recv()
context = multiprocessing.get_context("fork")
here, there = context.Pipe()
process = context.Process(target=sender, args=(there,))
process.start()
sent = here.recv()
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
name = sys.argv[1]
try:
    dlx.share([5], name=name)
    tensor, other = dlx.share([1, 2, 3]), dlx.share([4])
    view = other.as_readonly()
    # Once before: what Python itself loads and makes for it the first time has errors of its own.
    ForkingPickler.dumps(tensor), ForkingPickler.loads(sent.pop()), dlx.share(b"")
    calls = {
        "share": lambda: dlx.share([1]),
        "frozen": lambda: dlx.share(b"abc"),
        "name": lambda: dlx.share([1], name=name + "-2"),
        "attach": lambda: dlx.attach(name),
        "fd": lambda: dlx.attach(dlx.shared_fd(tensor)),
        "reader": lambda: dlx.shared_fd(view),
        "send": lambda: ForkingPickler.dumps(tensor),
        "receive": lambda: ForkingPickler.loads(sent.pop()),
    }
    failed = set()
    for free in range(6):
        for what, call in calls.items():
            held = []
            try:
                while True:
                    held.append(os.open("/dev/null", os.O_RDONLY))
            except OSError:
                for descriptor in held[:free]:
                    os.close(descriptor)
                del held[:free]
            try:
                call()
            except dlx.UnavailableError as error:
                failed.add(what)
                assert "ulimit -n" in str(error), error
            except Exception as error:
                print(free, what, repr(error))
            finally:
                for descriptor in held:
                    os.close(descriptor)
                if os.path.exists(f"/dev/shm/{name}-2"):
                    dlx.unshare(name + "-2")
    print(sorted(failed) == sorted(calls) or sorted(failed))
finally:
    dlx.unshare(name)
    here.send(None)
    process.join()
"""


def test_too_many_files_in_every_call():
    assert run(STARVED, f"dlx-starved-{os.getpid()}") == "True"


def test_what_cannot_be_shared_says_why():
    with pytest.raises(TypeError, match=r"cuda:0.*to_device\('cpu'\)"):
        dlx.share(dlx.from_pointer(64, 3, "int8", device="cuda:0"))
    with pytest.raises(BufferError, match="addresses"):
        dlx.share(dlx.from_pointer(id(bytes), 1, "opaque64"))
    with pytest.raises(ValueError, match=r"shared memory.*dlx\.share"):
        dlx.shared_fd(numbers(3))
    with pytest.raises(TypeError, match="list"):
        dlx.shared_fd([1])


@pytest.mark.parametrize("bad", [None, 1.5, True, b"name", [3]])
def test_sources_of_another_type(bad):
    with pytest.raises(TypeError, match=f"source.*{type(bad).__name__}"):
        dlx.attach(bad)


def test_a_closed_descriptor():
    with pytest.raises(OSError) as caught:  # noqa: PT011 # by number
        dlx.attach(1 << 20)
    assert caught.value.errno == errno.EBADF


@pytest.mark.parametrize("number", [1 << 40, -(1 << 40), 1 << 70])
def test_a_number_that_no_descriptor_has(number):
    with pytest.raises(dlx.InvalidArgumentError, match=f"source.*{number}"):
        dlx.attach(number)


def test_descriptors_of_no_file(tmp_path):
    pipe, sockets = os.pipe(), socket.socketpair()
    written = open(tmp_path / "write-only", "wb")  # noqa: SIM115
    written.write(bytes(100))
    folder, device = os.open(tmp_path, os.O_RDONLY), os.open("/dev/null", os.O_RDWR)
    for source in (*pipe, sockets[0], written, folder, device):
        with pytest.raises(dlx.InvalidArgumentError, match="source"):
            dlx.attach(source)
    for descriptor in (*pipe, folder, device):
        os.close(descriptor)
    for file in (*sockets, written):
        file.close()


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "socket"])
def test_names_of_what_is_no_memory(kind, readonly):
    path = f"/dev/shm/dlx-odd-{os.getpid()}"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "link":
        os.symlink("/dev/null", path)
    else:
        socket.socket(socket.AF_UNIX).bind(path)
    try:
        code = """
import sys, dlx
try:
    dlx.attach(sys.argv[1], readonly=len(sys.argv) > 2)
except dlx.InvalidArgumentError:
    print("refused")
"""
        more = ["readonly"] if readonly else []
        assert run(code, os.path.basename(path), *more) == "refused"
    finally:
        os.rmdir(path) if kind == "folder" else os.unlink(path)


def damaged(change):
    """A copy of a segment's file, with bytes changed."""
    with open(f"/proc/self/fd/{dlx.shared_fd(SHARED)}", "rb") as source:
        data = bytearray(source.read())
    change(data)
    file = tempfile.TemporaryFile()  # noqa: SIM115 # the caller closes it
    file.write(data)
    file.flush()
    return file


def describe_by(data, text):
    """Puts another description, of any length, behind the elements."""
    length = int.from_bytes(data[-16:-8], "little")
    data[-16 - length :] = text + len(text).to_bytes(8, "little") + data[-8:]


@pytest.mark.parametrize("change", [
    lambda d: d.clear(),
    lambda d: d.__setitem__(-1, 0),
    lambda d: d.__setitem__(slice(-16, -8), (1 << 40).to_bytes(8, "little")),
    lambda d: d.__setitem__(slice(-16, -8), (3).to_bytes(8, "little")),
    lambda d: d.__setitem__(slice(None), d.replace(b'"shape":[3]', b'"shape":[9]')),
    lambda d: d.__setitem__(slice(None), d.replace(b'"shape":[3]', b'"shape":-1 ')),
    lambda d: d.__setitem__(slice(None), d.replace(b'"shape":[3]', b'"shape":1e9')),
    lambda d: describe_by(d, b'{"shape":[1e999],"dtype":[2,64,1],"flags":0}'),
    lambda d: describe_by(d, b"[" * 50_000),
    lambda d: d.__setitem__(slice(None), d.replace(b'"dtype"', b'"btype"')),
    lambda d: d.__setitem__(slice(None), d.replace(b"[2,64,1]", b"[2,64,0]")),
    lambda d: describe_by(d, b'{"shape":[3],"dtype":[2,64,1,1],"flags":0}'),
    lambda d: describe_by(d, b'{"shape":[3],"dtype":[2,64],"flags":0}'),
    lambda d: describe_by(d, b'{"shape":[3],"dtype":[1000,64,1],"flags":0}'),
    lambda d: describe_by(d, b'{"shape":[0],"dtype":[-1,64,1],"flags":0}'),
    lambda d: describe_by(d, b'{"shape":[0],"dtype":[2,1e30,1],"flags":0}'),
    lambda d: describe_by(d, b'{"shape":[0,1e30],"dtype":[2,64,1],"flags":0}'),
    lambda d: describe_by(d, b'{"shape":[3],"dtype":[2,64,1],"flags":1e30}'),
    lambda d: describe_by(d, b'{"shape":[3],"dtype":[2,64,1],"flags":8}'),
    lambda d: describe_by(d, b'{"shape":[3],"dtype":[2,64,1],"flags":-1}'),
    lambda d: describe_by(d, b'[]'),
])  # fmt: skip
def test_descriptors_of_something_else(change):
    with damaged(change) as file, pytest.raises((dlx.InvalidArgumentError, dlx.UnsupportedError)):
        dlx.attach(file)


def test_an_undamaged_copy_is_taken():
    with damaged(lambda data: None) as file:
        assert dlx.attach(file, trust=True).tolist() == [0, 1, 2]


def test_a_file_that_has_grown_since_it_was_mapped():
    text = b'{"shape":[10000000],"dtype":[1,8,1],"flags":0}'
    with damaged(lambda data: None) as file:
        small = dlx.attach(file, trust=True)
        file.seek(0)
        with open(file.fileno(), "rb", closefd=False) as same:
            data = bytearray(same.read())
        data[:0] = bytes(10_000_000)
        describe_by(data, text)
        file.seek(0)
        file.write(data)
        file.flush()
        with pytest.raises(dlx.InvalidArgumentError, match="resized from"):
            dlx.attach(file, trust=True)
        assert small.tolist()[1:] == [0, 0]
        del small
        assert dlx.attach(file, trust=True).shape == (10_000_000,)


class Handle:
    """The descriptor in a message between processes, here for this one."""

    def detach(self):
        return os.dup(dlx.shared_fd(SHARED))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (1, 1 << 40), (1, -1), (2, -4), (2, 1 << 40), (2, 60), (3, (30,)), (4, (10,)), (4, (-1,)),
        (5, (2, 64, 1000)),
    ],
)  # fmt: skip
def test_a_damaged_message_reaches_no_other_memory(monkeypatch, field, value):
    def close(descriptor):
        assert os.path.exists(f"/proc/self/fd/{descriptor}")  # else it may be another thread's
        once(descriptor)

    once = os.close
    monkeypatch.setattr(os, "close", close)
    reduce = ForkingPickler(io.BytesIO()).dispatch_table[dlx.Tensor]
    rebuild, (_, *parts) = reduce(SHARED)
    whole = [Handle(), *parts]
    assert rebuild(*whole).tolist() == [0, 1, 2]
    gc.collect()
    before = descriptors()
    whole[field] = value
    match = r"too few for \S+ bytes of data|beyond the \d+ bytes of the shared memory"
    with pytest.raises(dlx.InvalidArgumentError, match=match):
        rebuild(*whole)
    assert descriptors() == before


@pytest.mark.parametrize("more", [0, 1, 1 << 20])
def test_a_message_claims_no_more_than_its_file_has(more):
    shared = dlx.share([1, 2, 3])
    kept = os.dup(dlx.shared_fd(shared))

    class Kept:
        def detach(self):
            return os.dup(kept)

    rebuild, (_, _, *place) = ForkingPickler(io.BytesIO()).dispatch_table[dlx.Tensor](shared)
    del shared  # else the segment is known, and its own numbers count
    gc.collect()
    size = os.fstat(kept).st_size
    try:
        with pytest.raises(dlx.InvalidArgumentError, match=f"has {size} bytes, too few for"):
            rebuild(Kept(), size + more, *place)
    finally:
        os.close(kept)


def test_nobody_can_cut_the_memory_off():
    fd = dlx.shared_fd(SHARED)
    for size in (0, 1 << 20):
        with pytest.raises(PermissionError):
            os.ftruncate(fd, size)


def test_a_sender_that_is_gone():
    code = """
import dlx, multiprocessing, os, sys
from multiprocessing import reduction
data = reduction.ForkingPickler.dumps(dlx.share([1, 2, 3]))
sys.stdout.buffer.write(multiprocessing.current_process().authkey.hex().encode() + b"\\n" + data)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    key, _, data = done.stdout.partition(b"\n")
    process_key = multiprocessing.current_process().authkey
    multiprocessing.current_process().authkey = bytes.fromhex(key.decode())
    try:
        with pytest.raises(dlx.UnavailableError, match="has to run until"):
            multiprocessing.reduction.ForkingPickler.loads(data)
    finally:
        multiprocessing.current_process().authkey = process_key


@pytest.mark.parametrize("refused", [None, errno.ENOSYS, errno.EPERM, errno.EACCES])
def test_without_memfd_create(monkeypatch, refused):
    if refused is None:  # some builds of Python have none
        monkeypatch.delattr(os, "memfd_create")
    else:  # sandboxes, and vm.memfd_noexec

        def refuse(*_):
            raise OSError(refused, os.strerror(refused))

        monkeypatch.setattr(os, "memfd_create", refuse)
    with own_folder() as folder:
        tensor = dlx.share(numbers(3))
        frozen = dlx.share(b"abc")
        assert not os.listdir(folder)

    with process(multiprocessing.get_context("spawn"), tensor, frozen) as ask:
        ask("tensor[0] = 9.0")
        assert ask("more[0].readonly") is True
    assert tensor.tolist() == [9, 1, 2]
    assert frozen.tolist() == [97, 98, 99]


@pytest.mark.parametrize(
    ("module", "call"),
    [(os, "posix_fallocate"), (os, "pwrite"), (dlx._native, "_map"), (os, "fchmod"), (os, "fstat")],
)
def test_an_interrupt_leaves_no_memory(monkeypatch, module, call):
    def interrupted(*arguments, **options):
        before(*arguments, **options)
        raise KeyboardInterrupt  # as Python does once the call is over

    dlx.share([1])
    files = set(os.listdir("/proc/self/fd"))
    before = getattr(module, call)
    with monkeypatch.context() as patched:
        patched.setattr(module, call, interrupted)
        with pytest.raises(KeyboardInterrupt):
            dlx.share(b"abc")
    assert set(os.listdir("/proc/self/fd")) == files


def test_too_small_a_folder_is_named(monkeypatch, name):  # noqa: F811
    limits = os.statvfs("/dev/shm")
    small = os.statvfs_result([4096, 4096, 16, 2, 2, *limits[5:]])
    monkeypatch.setattr(os, "statvfs", lambda _: small)
    with pytest.raises(
        MemoryError, match=r"not enough room for \d+ bytes in /dev/shm \(free: 8192\)"
    ):
        dlx.share(bytes(9000), name=name)
    assert dlx.share(bytes(9000)).size == 9000  # which has no name, and is not there
    assert dlx.share(bytes(7000), name=name).size == 7000


def test_fork_beside_another_thread():
    code = """
import os, threading, warnings, dlx
warnings.simplefilter("ignore")
done = []
def other():
    child = os.fork()
    if child == 0:
        t = dlx.share([1, 2])
        os._exit(0 if dlx.share(t) is t else 1)
    done.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread = threading.Thread(target=other)
thread.start()
thread.join(60)
print(done)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-uc", code], capture_output=True, text=True, timeout=90)
    assert done.stdout.strip() == "[0]", done.stderr


def test_threads_that_ask_for_the_same_descriptor(monkeypatch):
    opened = []
    reopen = dlx._share.segments._reopen
    both = threading.Barrier(2)

    def slow(file):
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)
        opened.append(reopen(file))
        return opened[-1]

    tensor = dlx.share(numbers(3)).as_readonly()
    monkeypatch.setattr(dlx._share.segments, "_reopen", slow)
    before, numbers_of = descriptors(), []
    threads = [
        threading.Thread(target=lambda: numbers_of.append(dlx.shared_fd(tensor))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(opened) == 2
    opened.clear()  # the one that was not kept is closed
    assert numbers_of == [dlx.shared_fd(tensor)] * 2
    assert descriptors() == before + 1


def test_threads_that_attach_the_same_memory(monkeypatch):
    both = threading.Barrier(2)
    whole = dlx._native._map

    def slow(*arguments):
        both.wait(60)
        return whole(*arguments)

    shared = dlx.share(numbers(3))
    other = os.dup(dlx.shared_fd(shared))
    del shared
    monkeypatch.setattr(dlx._native, "_map", slow)
    before, maps, found = descriptors(), len(mapped()), []
    threads = [threading.Thread(target=lambda: found.append(dlx.attach(other))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found[0].data_ptr == found[1].data_ptr
    assert (descriptors(), len(mapped())) == (before + 1, maps + 1)
    os.close(other)


def test_share_in_a_signal_handler_that_interrupts_share():
    code = """
import sys, dlx
from dlx._share import segments
kept = [dlx.share([i]) for i in range(5)]
places = {segments.find.__code__, segments._mapped_now.__code__}
def handler(frame, event, argument):  # a signal may come before any line
    if frame.f_code in places and event == "line" and len(kept) < 50:
        sys.settrace(None)
        kept.append(dlx.share([1]))
        sys.settrace(handler)
    return handler
sys.settrace(handler)
t = dlx.share([1, 2])
sys.settrace(None)
print(len(kept) > 5, t.tolist())
"""
    assert run(code) == "True [1, 2]"


def test_torch_and_numpy_write_into_it():
    numpy = pytest.importorskip("numpy")
    tensor = dlx.share(numbers(4))
    array = numpy.asarray(tensor)
    with process(multiprocessing.get_context("spawn"), tensor) as ask:
        array += 1
        assert ask("tensor.tolist()") == [1, 2, 3, 4]
        ask("tensor[0] = 0.0")
    assert array.tolist() == [0, 2, 3, 4]
