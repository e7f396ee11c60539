"""What `dlx.attach` checks before it maps memory that another process sends."""

import errno
import fcntl
import os
import sys
import types

import pytest

import dlx
from dlx._share import sharing
from test_share import mapped, name, numbers  # noqa: F401

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd is Linux's")

ADD_SEALS, SEAL_SHRINK, SEAL_FUTURE_WRITE = 1033, 2, 16
SHARED = dlx.share(numbers(3))


def memfd(seals=0):
    """A copy of a shared segment in another memfd, as a sender could make it."""
    if not hasattr(os, "memfd_create"):
        pytest.skip("this Python lacks memfd_create")
    descriptor = os.memfd_create("sender", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(f"/proc/self/fd/{dlx.shared_fd(SHARED)}", "rb") as source:
        os.write(descriptor, source.read())
    if seals:
        fcntl.fcntl(descriptor, ADD_SEALS, seals)
    return descriptor


def seal_future_writes(descriptor):
    try:
        fcntl.fcntl(descriptor, ADD_SEALS, SEAL_FUTURE_WRITE)
    except OSError:
        pytest.skip("this kernel is older than F_SEAL_FUTURE_WRITE")


def test_memory_that_its_owner_may_shrink_is_refused():
    descriptor = memfd()
    before = os.listdir("/proc/self/fd"), mapped()
    with pytest.raises(
        dlx.InvalidArgumentError,
        match=r"`source` is not sealed \(got a file without F_SEAL_SHRINK, expected memory that "
        r"dlx\.share made\).*SIGBUS.*`?dlx\.attach\(source, trust=True\)",
    ):
        dlx.attach(descriptor)
    assert (os.listdir("/proc/self/fd"), mapped()) == before
    assert dlx.attach(descriptor, trust=True).tolist() == [0, 1, 2]
    os.close(descriptor)


def test_a_seal_against_shrinking_is_enough():
    descriptor = memfd(SEAL_SHRINK)
    assert dlx.attach(descriptor).tolist() == [0, 1, 2]
    os.close(descriptor)


def test_a_damaged_description_is_refused_although_the_sender_is_trusted():
    descriptor = memfd()
    os.ftruncate(descriptor, 64)
    with pytest.raises(dlx.InvalidArgumentError, match="is not memory created by"):
        dlx.attach(descriptor, trust=True)
    os.close(descriptor)


@pytest.mark.parametrize("by", ["name", "descriptor"])
def test_a_file_of_another_user_is_refused(monkeypatch, name, by):  # noqa: F811
    dlx.share(numbers(3), name=name)
    opened = os.open(f"/dev/shm/{name}", os.O_RDWR)
    source = name if by == "name" else opened
    assert dlx.attach(source).tolist() == [0, 1, 2]
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with pytest.raises(
        dlx.InvalidArgumentError,
        match=rf"belongs to another user \(got user {user}, expected {user + 1}\).*trust=True",
    ):
        dlx.attach(source)
    assert dlx.attach(source, trust=True).tolist() == [0, 1, 2]
    os.close(opened)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_refused(name, mode):  # noqa: F811
    kept = dlx.share(numbers(3), name=name)
    file = f"/dev/shm/{name}"
    assert os.stat(file).st_mode & 0o777 == 0o600
    os.chmod(file, mode)
    for readonly in (False, True):
        with pytest.raises(
            dlx.InvalidArgumentError,
            match=rf"`source` may be written by other users \(got mode 0{mode:o}, expected 0600.*"
            r"SIGBUS; call os\.chmod\(path, 0o600\), or.*trust=True",
        ):
            dlx.attach(name, readonly=readonly)
    assert dlx.attach(name, trust=True).data_ptr == kept.data_ptr
    os.chmod(file, 0o644)
    assert dlx.attach(name).tolist() == [0, 1, 2]


def test_memory_that_nobody_may_map_for_writing_any_more_is_readonly():
    descriptor = memfd(SEAL_SHRINK)
    before = dlx.attach(descriptor)
    seal_future_writes(descriptor)
    found = dlx.attach(descriptor)
    assert (found.readonly, found.data_ptr) == (True, before.data_ptr)
    del before, found
    found = dlx.attach(descriptor)
    assert (found.readonly, found.tolist()) == (True, [0, 1, 2])
    del found
    os.close(descriptor)


def test_a_message_with_memory_that_was_sealed_on_its_way(monkeypatch):
    descriptor = memfd(SEAL_SHRINK)
    monkeypatch.setattr(sharing, "_handle", os.dup)
    rebuild, (sent, *place) = sharing._reduce(dlx.attach(descriptor))
    seal_future_writes(descriptor)
    found = rebuild(types.SimpleNamespace(detach=lambda: sent), *place)
    assert (found.readonly, found.tolist()) == (True, [0, 1, 2])
    os.close(descriptor)


@pytest.mark.parametrize("value", ["no", 1, None, []])
def test_flags_are_bools(value):
    descriptor = dlx.shared_fd(SHARED)
    got = rf"must be True or False \(got {type(value).__name__}\)"
    for option in ("trust", "readonly"):
        with pytest.raises(TypeError, match=f"`{option}` {got}"):
            dlx.attach(descriptor, **{option: value})
    with pytest.raises(TypeError, match=f"`readonly` {got}"):
        dlx.from_pointer(0, (0,), "int8", readonly=value)
    if value is not None:
        with pytest.raises(TypeError, match=f"`readonly` {got}"):
            dlx.share(numbers(3), readonly=value)


@pytest.mark.parametrize("when", ["before it is mapped", "after it is mapped"])
@pytest.mark.parametrize("size", [0, 40, 1 << 16])
def test_memory_that_is_resized_while_it_is_attached(monkeypatch, when, size):
    descriptor, whole = memfd(), dlx._native._map

    def resizing(*arguments, **options):
        if when == "after it is mapped":
            mapping = whole(*arguments, **options)
            os.ftruncate(descriptor, size)
            return mapping
        os.ftruncate(descriptor, size)
        return whole(*arguments, **options)

    maps, files = len(mapped()), len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patched:
        patched.setattr(dlx._native, "_map", resizing)
        with pytest.raises(dlx.InvalidArgumentError, match=rf"resized from \d+ to {size} bytes"):
            dlx.attach(descriptor, trust=True)
    assert (len(mapped()), len(os.listdir("/proc/self/fd"))) == (maps, files)
    os.close(descriptor)


def test_memory_that_is_resized_between_the_description_and_the_mapping(monkeypatch):
    descriptor, described = memfd(), dlx._share.segments.is_writable
    monkeypatch.setattr(
        dlx._share.segments,
        "is_writable",
        lambda file: (os.ftruncate(descriptor, 1 << 16), described(file))[1],
    )
    with pytest.raises(dlx.InvalidArgumentError, match=r"resized from \d+ to 65536 bytes"):
        dlx.attach(descriptor, trust=True)
    os.close(descriptor)


def test_a_file_system_without_seals(tmp_path):
    """An ordinary file: F_GET_SEALS fails on it."""
    source, copy = memfd(), tmp_path / "copy"
    copy.write_bytes(os.pread(source, 1 << 16, 0))
    os.close(source)
    with copy.open("r+b") as file:
        with pytest.raises(OSError, match=os.strerror(errno.EINVAL)):
            fcntl.fcntl(file, 1034)
        with pytest.raises(dlx.InvalidArgumentError, match=r"not sealed.*trust=True"):
            dlx.attach(file)
        assert dlx.attach(file, trust=True).tolist() == [0, 1, 2]
