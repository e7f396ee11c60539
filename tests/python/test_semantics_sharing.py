"""docs/semantics.md: one test for each rule on memory that processes share.

test_share.py and test_share_limits.py go into the matter at length.
"""

import copy
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys

import pytest

import dlx
from test_share import cannot_be_written, name, numbers, own_folder, process  # noqa: F401

CONTEXT = multiprocessing.get_context("spawn")


def test_x1_sharing_copies_once():
    source = numbers(4, 4)[:, ::2]
    t = dlx.share(source)
    source[0, 0] = -1.0

    assert t.is_contiguous()
    assert t[0, 0].item() == 0
    assert dlx.share(t) is t
    assert dlx.share(t[1:]).data_ptr == t[1:].data_ptr


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_x2_multiprocessing_sends_descriptors(method):
    t = dlx.share(numbers(4))
    with process(multiprocessing.get_context(method), t) as ask:
        ask([t[::-1], t[1:]])
        ask("views[0][0] = 30.0")
        t[1] = 10.0
        assert ask("[v.tolist() for v in views]") == [[30, 2, 10, 0], [10, 2, 30]]
        assert ask("views[1].data_ptr - views[0].data_ptr") == -16
        assert ask("tensor.tolist()") == t.tolist() == [0, 10, 2, 30]


def test_x3_all_else_goes_by_value():
    plain, shared = numbers(3), dlx.share(numbers(3))
    with process(CONTEXT, plain) as ask:
        ask("tensor[0] = 9.0")
        assert plain[0].item() == 0
    for duplicate in (pickle.loads(pickle.dumps(shared)), copy.deepcopy(shared)):
        duplicate[0] = 9.0
        assert shared[0].item() == 0


def test_x4_the_last_process_frees():
    with process(CONTEXT, None) as ask:
        t = dlx.share(numbers(3))
        ask([t])
        del t
        gc.collect()
        assert ask("views[0].tolist()") == [0, 1, 2]  # the sender has let it go
        back = ask("views")
        ask("views = None")
    assert back[0].tolist() == [0, 1, 2]  # the receiver has ended


def test_x5_names_are_given_on_request_and_stay(name):  # noqa: F811
    with own_folder() as folder:
        dlx.share(numbers(3))
        assert not os.listdir(folder)
    dlx.share(numbers(3), name=name)
    gc.collect()
    code = "import dlx, sys; print(dlx.attach(sys.argv[1]).tolist())"
    for _ in range(2):
        said = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True)
        assert said.stdout.strip() == "[0.0, 1.0, 2.0]", said.stderr
    # A file of the user, which nothing seals.
    os.truncate(f"/dev/shm/{name}", 0)
    os.chmod(f"/dev/shm/{name}", 0o400)
    dlx.unshare(name)
    with pytest.raises(FileNotFoundError):
        dlx.attach(name)


def test_x6_read_only_data_is_sealed():
    for t in (dlx.share(b"abc"), dlx.share(bytearray(b"abc"), readonly=True)):
        assert t.readonly
        cannot_be_written(dlx.shared_fd(t))
    assert not dlx.share(b"abc", readonly=False).readonly


def test_x7_one_writes_and_others_read():
    t = dlx.share(numbers(3))
    with process(CONTEXT, t.as_readonly()) as ask:
        assert ask("tensor.readonly and cannot_be_written(dlx.shared_fd(tensor))") is True
        t[0] = 4.0
        assert ask("tensor[0].item()") == 4


def test_x8_room_is_taken_at_once_and_stays():
    with pytest.raises(MemoryError, match="not enough room"):
        dlx.share(numbers(1)[0].broadcast_to((1 << 50,)))
    t = dlx.share(numbers(1 << 12))
    fd = dlx.shared_fd(t)
    assert os.fstat(fd).st_blocks * 512 >= t.nbytes
    with pytest.raises(PermissionError):
        os.ftruncate(fd, 0)


def test_x9_descriptors_by_hand():
    t = dlx.share(numbers(2, 3))
    fd = os.dup(dlx.shared_fd(t))
    code = "import dlx, os, sys; fd = int(sys.argv[1]); t = dlx.attach(fd); os.close(fd); t[1, 2] = 7.0; print(t.tolist())"
    said = subprocess.run(
        [sys.executable, "-c", code, str(fd)], pass_fds=[fd], capture_output=True, text=True
    )
    os.close(fd)

    assert said.stdout.strip() == "[[0.0, 1.0, 2.0], [3.0, 4.0, 7.0]]", said.stderr
    assert t[1, 2].item() == 7


def test_x10_what_cannot_be_shared():
    with pytest.raises(dlx.DeviceRefusedError, match=r"to_device\('cpu'\)"):
        dlx.share(dlx.from_pointer(64, 3, "int8", device="cuda:0"))
    with pytest.raises(dlx.UnsupportedError, match="addresses"):
        dlx.share(dlx.from_pointer(id(bytes), 1, "opaque64"))
