"""dlx.h, section library: versions, statuses, the last error, threads."""

from __future__ import annotations

import re
import threading

import pytest
from raw_support import refused

from dlx import errors, raw
from dlx._lib import library


def test_version_is_that_of_the_header() -> None:
    parts = (raw.DLX_VERSION_MAJOR, raw.DLX_VERSION_MINOR, raw.DLX_VERSION_PATCH)
    assert raw.dlx_version() == "{}.{}.{}".format(*parts)


def test_abi_version_is_that_of_the_soname() -> None:
    assert raw.dlx_abi_version() == library.ABI_VERSION == 1


def test_every_status_has_its_name_and_its_exception() -> None:
    statuses = {n: v for n, v in vars(raw).items() if n == "DLX_OK" or n.startswith("DLX_ERROR_")}
    assert len(statuses) == 10
    for name, value in statuses.items():
        assert raw.dlx_status_name(value) == name
        if value:
            assert type(errors.from_status(value, "")) is not errors.Error


@pytest.mark.parametrize("status", [-1, 9, 254, 2**31 - 1])
def test_an_unknown_status_has_a_name_and_a_plain_exception(status: int) -> None:
    assert raw.dlx_status_name(status) == "unknown status"
    error = errors.from_status(status, "words")
    assert type(error) is errors.Error
    assert error.status == status
    assert str(error) == "words"


@pytest.mark.parametrize(
    ("cls", "builtins"),
    [
        (errors.InvalidArgumentError, (ValueError,)),
        (errors.OutOfMemoryError, (MemoryError,)),
        (errors.UnsupportedError, (BufferError,)),
        (errors.UnavailableError, (RuntimeError,)),
        (errors.DriverError, (RuntimeError,)),
        (errors.ReadOnlyError, (BufferError, ValueError)),
        (errors.CopyRefusedError, (BufferError, ValueError)),
        (errors.DeviceRefusedError, (BufferError, TypeError)),
        (errors.InternalError, (RuntimeError,)),
    ],
)
def test_exceptions_derive_from_what_callers_expect(
    cls: type[errors.Error], builtins: tuple[type, ...]
) -> None:
    assert issubclass(cls, errors.Error)
    for builtin in builtins:
        assert issubclass(cls, builtin)
    assert type(errors.from_status(cls.status, "")) is cls


def test_a_status_of_a_newer_library_is_kept() -> None:
    error = errors.from_status(77, "new")
    assert type(error) is errors.Error
    assert (error.status, str(error)) == (77, "new")


def test_a_message_has_function_and_argument() -> None:
    with refused(raw.DLX_ERROR_INVALID_ARGUMENT, "dlx_dtype_parse", "`name`", "float33"):
        raw.dlx_dtype_parse("float33")
    assert re.search(r"got .*expected", raw.dlx_last_error())


def test_a_success_and_a_release_leave_the_last_error_alone() -> None:
    with pytest.raises(errors.InvalidArgumentError):
        raw.dlx_dtype_parse("nothing")
    message = raw.dlx_last_error()
    handle = raw.dlx_tensor_empty(1, [3], raw.dlx_dtype_parse("int8"), raw.kDLCPU, 0)
    raw.dlx_tensor_release(handle)
    raw.dlx_tensor_release(None)
    assert raw.dlx_last_error() == message


def test_every_thread_has_its_own_last_error() -> None:
    with pytest.raises(errors.InvalidArgumentError):
        raw.dlx_dtype_parse("mine")
    seen = []

    def other() -> None:
        seen.append(raw.dlx_last_error())
        with pytest.raises(errors.InvalidArgumentError):
            raw.dlx_dtype_parse("yours")
        seen.append(raw.dlx_last_error())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert "mine" not in seen[0]
    assert "yours" in seen[1]
    assert "mine" in raw.dlx_last_error()


def test_a_long_message_is_cut_and_harmless() -> None:
    with refused(raw.DLX_ERROR_INVALID_ARGUMENT, "dlx_dtype_parse", "xxxx"):
        raw.dlx_dtype_parse("x" * 100_000)
    assert len(raw.dlx_last_error()) < 5000


def test_num_threads_can_be_set_and_restored() -> None:
    default = raw.dlx_get_num_threads()
    assert default >= 1
    try:
        raw.dlx_set_num_threads(3)
        assert raw.dlx_get_num_threads() == 3
        with refused(raw.DLX_ERROR_INVALID_ARGUMENT, "dlx_set_num_threads", "`num_threads`", "-1"):
            raw.dlx_set_num_threads(-1)
        assert raw.dlx_get_num_threads() == 3
    finally:
        raw.dlx_set_num_threads(0)
    assert raw.dlx_get_num_threads() == default
