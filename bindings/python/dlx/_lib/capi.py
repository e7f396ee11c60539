"""The C functions that the package itself calls, with Python values in and out; a tensor is a handle.

`dlx.raw` has all C functions; it is larger, and programs that need it import it.
"""

from __future__ import annotations

import operator

from dlx._lib import library
from dlx._lib.constants import (
    FORMAT_TYPESTR,
    HAS_STREAM,
    NAME_SIZE,
    NEGATIVE_STRIDES_COPY,
    NEGATIVE_STRIDES_ERROR,
    NEGATIVE_STRIDES_SHARE,
)
from dlx.errors import (
    InvalidArgumentError,
    UnsupportedError,
    from_status,
    int_text,
    with_brief_errors,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx.device import DeviceCode
    from dlx.dtypes import DTypeCode

_backend = library.backend
_functions = _backend.functions
_POLICIES = {
    "copy": NEGATIVE_STRIDES_COPY,
    "share": NEGATIVE_STRIDES_SHARE,
    "error": NEGATIVE_STRIDES_ERROR,
}
# Caches: data types and devices are few, and what C says about them never changes.
_typestrs: dict[DTypeCode, str | None] = {}
_names: dict[DTypeCode, str] = {}
_codes: dict[str, DTypeCode] = {}
_device_names: dict[DeviceCode, str] = {}
_device_codes: dict[str, DeviceCode] = {}


def last_error() -> str:
    """dlx_last_error()."""
    text: bytes = _functions.dlx_last_error()
    return text.decode("utf-8", "replace")


def check(status: int, caller: str) -> None:
    """Raise the exception for a status other than DLX_OK. Its message names the Python function
    `caller` in place of the C function."""
    if status:
        text = last_error()
        refused, _, why = text.partition(": ")
        raise from_status(status, f"{caller}: {why if refused.startswith('dlx_') else text}")


def version() -> str:
    """The library's version, "major.minor.patch"."""
    text: bytes = _functions.dlx_version()
    return text.decode()


def abi_version() -> int:
    """The N of libdlx.so.N."""
    number: int = _functions.dlx_abi_version()
    return number


def describe_copy(dst: int, src: int) -> str:
    """What dlx_copy_plan_describe() says of a copy between two tensors."""
    structs = [_functions.dlx_tensor_dltensor(tensor) for tensor in (dst, src)]
    out = _backend.array("char", 256)
    check(_functions.dlx_copy_plan_describe(*structs, _backend.address(out), 256), "info")
    return _backend.text(out).decode("utf-8", "replace")


def _text(caller: str, function: Any, *arguments: Any) -> str:
    """Call a C function that writes a name into a buffer."""
    out = _backend.array("char", NAME_SIZE)
    check(function(*arguments, _backend.address(out), NAME_SIZE), caller)
    return _backend.text(out).decode()


def _dtype_struct(code: DTypeCode) -> Any:
    out = _backend.struct("DLDataType")
    if not (0 <= code[0] < 256 and 0 <= code[1] < 256 and 0 <= code[2] < 65536):
        numbers = tuple(map(int_text, code))
        raise UnsupportedError("unknown data type: code {}, bits {}, lanes {}".format(*numbers))
    out.code, out.bits, out.lanes = code
    return out


def _encoded(text: str, argument: str) -> bytes:
    """UTF-8 for C; a zero inside would end the string there."""
    raw = text.encode("utf-8", "surrogatepass")
    if b"\0" in raw:
        raise from_status(1, f"`{argument}` contains a zero character (got {text!r:.60})")
    return raw


def tensor_dtype(tensor: int) -> DTypeCode:
    """dlx_tensor_dtype() of a handle."""
    address = _functions.dlx_tensor_dtype(tensor)
    dtype = _backend.struct_at("DLDataType", address)
    return dtype.code, dtype.bits, dtype.lanes


def dtype_parse(name: str) -> DTypeCode:
    """(code, bits, lanes) of a name. Raises InvalidArgumentError."""
    code = _codes.get(name)
    if code is None:
        out = _backend.struct("DLDataType")
        check(_functions.dlx_dtype_parse(_encoded(name, "dtype"), _backend.address(out)), "dtype")
        code = _codes[name] = out.code, out.bits, out.lanes
    return code


def dtype_parse_typestr(typestr: str) -> DTypeCode:
    """(code, bits, lanes) of "<f4" and the like. Raises UnsupportedError."""
    if not isinstance(typestr, str):
        raise TypeError(f"`typestr` is not a str (got {type(typestr).__name__})")
    out = _backend.struct("DLDataType")
    name = _encoded(typestr, "typestr")
    check(_functions.dlx_dtype_parse_format(name, FORMAT_TYPESTR, _backend.address(out)), "dtype")
    return out.code, out.bits, out.lanes


def dtype_name(code: DTypeCode) -> str:
    """The name of (code, bits, lanes). Raises UnsupportedError."""
    name = _names.get(code)
    if name is None:
        dtype = _dtype_struct(code)
        name = _names[code] = _text("name", _functions.dlx_dtype_name, _backend.address(dtype))
    return name


def dtype_typestr(code: DTypeCode) -> str | None:
    """The typestr of (code, bits, lanes), or None if NumPy's array interface lacks it."""
    if code not in _typestrs:
        dtype = _dtype_struct(code)
        try:
            text = _text(
                "dtype", _functions.dlx_dtype_format, _backend.address(dtype), FORMAT_TYPESTR
            )
        except UnsupportedError:
            text = None
        _typestrs[code] = text
    return _typestrs[code]


def device_parse(name: str) -> tuple[int, int]:
    """(type, id) of a device's name. Raises InvalidArgumentError."""
    code = _device_codes.get(name)
    if code is None:
        out = _backend.array("int32_t", 2)
        address = _backend.address(out)
        check(_functions.dlx_device_parse(_encoded(name, "device"), address, address + 4), "Device")
        code = _device_codes[name] = int(out[0]), int(out[1])
    return code


def device_name(device_type: int, device_id: int) -> str:
    """The name of a device. Raises InvalidArgumentError."""
    code = device_type, device_id
    name = _device_names.get(code)
    if name is None:
        _require_int32(device_type, device_id)
        name = _device_names[code] = _text("name", _functions.dlx_device_name, *code)
    return name


def _require_int32(device_type: int, device_id: int) -> None:
    """ctypes would silently truncate a larger number."""
    if not (0 < device_type < 1 << 31 and 0 <= device_id < 1 << 31):
        got = f"type {int_text(device_type)}, id {int_text(device_id)}"
        raise from_status(1, f"`device` is not a device (got {got})")


def device_count(device_type: int) -> int:
    """Number of devices of a type on this machine."""
    count: int = _functions.dlx_device_count(device_type)
    return count


def device_reason(device_type: int) -> str:
    """The reason why this machine has no device of a type."""
    text: bytes = _functions.dlx_backend_reason(device_type)
    return text.decode("utf-8", "replace")


def device_properties(device_type: int, device_id: int) -> dict[str, Any]:
    """The fields of dlx_device_properties; unknown sizes of memory are None."""
    out = _backend.struct("dlx_device_properties")
    out.struct_size = _backend.size(out)
    check(
        _functions.dlx_device_info(device_type, device_id, _backend.address(out)),
        "Device",
    )
    found: dict[str, Any] = {
        name: _backend.get_text(out, name).decode("utf-8", "replace")
        for name in ("name", "architecture", "pci_id", "uuid", "driver_version", "no_kernels")
    }
    for name in ("memory_total", "memory_free"):
        size = int(getattr(out, name))
        found[name] = None if size < 0 else size
    found["unified_memory"] = bool(out.unified_memory)
    return found


def device_of_pointer(pointer: int) -> tuple[int, int]:
    """(type, id) of the device that owns the memory at an address."""
    out = _backend.array("int32_t", 2)
    address = _backend.address(out)
    check(_functions.dlx_device_of_pointer(pointer, address, address + 4), "device_of")
    return int(out[0]), int(out[1])


def device_synchronize(device_type: int, device_id: int) -> None:
    """dlx_device_synchronize()."""
    check(_functions.dlx_device_synchronize(device_type, device_id), "Device.synchronize")


def stream_create(device: tuple[int, int]) -> int:
    """dlx_stream_create()."""
    _require_int32(*device)
    out = _backend.array("int64_t", 1)
    check(_functions.dlx_stream_create(*device, _backend.address(out)), "Stream")
    return int(out[0])


def stream_abandon(device: tuple[int, int], stream: int) -> None:
    """dlx_stream_destroy(). Its status is ignored: a driver that is unloaded has freed its streams."""
    _functions.dlx_stream_destroy(*device, stream)


def stream_synchronize(device: tuple[int, int], stream: int) -> None:
    """dlx_stream_synchronize()."""
    check(_functions.dlx_stream_synchronize(*device, stream), "Stream.synchronize")


def stream_wait(device: tuple[int, int], stream: int, other: int) -> None:
    """dlx_stream_wait()."""
    check(_functions.dlx_stream_wait(*device, stream, other), "Stream.wait")


def stream_get_current(device: tuple[int, int]) -> int:
    """dlx_stream_get_current()."""
    _require_int32(*device)
    out = _backend.array("int64_t", 1)
    check(_functions.dlx_stream_get_current(*device, _backend.address(out)), "current_stream")
    return int(out[0])


def tensor_wait_on_stream(tensor: int, stream: int) -> None:
    """dlx_tensor_wait_on_stream()."""
    check(_functions.dlx_tensor_wait_on_stream(tensor, stream), "Stream.wait")


def tensor_written_on_stream(tensor: int, stream: int) -> None:
    """dlx_tensor_written_on_stream()."""
    check(_functions.dlx_tensor_written_on_stream(tensor, stream), "Stream.wrote")


def tensor_synchronize(tensor: int) -> None:
    """dlx_tensor_synchronize()."""
    check(_functions.dlx_tensor_synchronize(tensor), "synchronize")


@with_brief_errors
def set_num_threads(num_threads: int, /) -> None:
    """Set how many threads one copy may use, for the whole process.

    Args:
        num_threads: 1 keeps a copy on the calling thread; 0 restores the default: DLX_NUM_THREADS
            from the environment, else the number of cores that this process may run on.

    Raises:
        TypeError: `num_threads` is not an int.
        ValueError: a negative number (`InvalidArgumentError`).
    """
    count = operator.index(num_threads)
    if not -(1 << 31) <= count < 1 << 31:
        raise from_status(1, f"`num_threads` is out of range (got {int_text(count)})")
    check(_functions.dlx_set_num_threads(count), "set_num_threads")


def get_num_threads() -> int:
    """How many threads one copy may use; at least 1."""
    count: int = _functions.dlx_get_num_threads()
    return count


@with_brief_errors
def set_export_negative_strides(policy: str, /) -> None:
    """Set what `Tensor.__dlpack__` does with negative strides when `copy=None`.

    DLPack allows negative strides, but PyTorch aborts the process on them.

    Args:
        policy: "copy" exports a compact copy, marked as copied (the policy at start); "share"
            exports them as they are; "error" raises. `copy=False` shares under the first two,
            `copy=True` always copies; `numpy.asarray(t)` and `memoryview(t)` share under every
            policy.

    Raises:
        ValueError: no such policy (`InvalidArgumentError`).
    """
    if policy not in list(_POLICIES):  # a list, because `policy` may have no hash
        got = f"{policy!r:.60}" if isinstance(policy, str) else type(policy).__name__
        raise InvalidArgumentError(
            f"`policy` is unknown (got {got}, expected 'copy', 'share' or 'error')"
        )
    check(
        _functions.dlx_set_export_negative_strides(_POLICIES[policy]), "set_export_negative_strides"
    )


def get_export_negative_strides() -> str:
    """The policy that `set_export_negative_strides` set."""
    number: int = _functions.dlx_get_export_negative_strides()
    return next(name for name, value in _POLICIES.items() if value == number)


def to_device(
    tensor: int, device: tuple[int, int], stream: int | None = None, copy: int = 0
) -> int:
    """dlx_tensor_to_device(): the handle of the result; `copy` is a DLX_COPY_* number."""
    _require_int32(*device)
    options = _backend.struct("dlx_copy_options")
    options.struct_size = _backend.size(options)
    options.copy = copy
    if stream is not None:
        options.flags, options.stream = HAS_STREAM, stream
    out = _backend.array("uintptr_t", 1)
    status = _functions.dlx_tensor_to_device(
        tensor, *device, _backend.address(options), _backend.address(out)
    )
    check(status, "to_device")
    return int(out[0])
