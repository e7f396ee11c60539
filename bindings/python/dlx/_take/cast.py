"""The values of a Tensor in another dtype: `dlx.asarray(x, dtype=…)`."""

from __future__ import annotations

from dlx import _native, dtypes
from dlx._access import code_of, in_place, narrowed, unpacking_call, whole
from dlx.errors import (
    CopyRefusedError,
    DeviceRefusedError,
    UnavailableError,
    UnsupportedError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dlx._native import Tensor
    from dlx.dtypes import DTypeCode

_COMPLEX = (dtypes.COMPLEX, dtypes.BCOMPLEX)
_INTEGERS = (dtypes.INT, dtypes.UINT)
_INT64 = (dtypes.INT, 64, 1)


def convert_dtype(
    tensor: Tensor, code: DTypeCode, copy: bool | None, force: bool = False
) -> Tensor:
    """A tensor's values in another dtype, as by NumPy's `astype`; ml_dtypes adds dtypes to NumPy.

    Native code converts from and to integers of fewer than 8 bits, and from FP4 and FP6. New elements
    of less than a byte take a byte each. With `force`, data on another device moves to the CPU, and
    the result stays there.

    Raises:
        CopyRefusedError: `copy` is False; a conversion always copies.
        DeviceRefusedError: the data is not on the CPU, and `force` is False.
        UnavailableError: NumPy, or ml_dtypes for its types, is not installed.
        UnsupportedError: a complex tensor into a real dtype, or a dtype that neither library has.
    """
    name, source_name = dtypes.make_name(code), str(tensor.dtype)
    if copy is False:
        raise CopyRefusedError(
            f"converting {source_name} to {name} needs a copy, and copy=False forbids it"
        )
    here = tensor.to_device("cpu") if force else in_place(tensor)
    if here is None:
        raise DeviceRefusedError(
            f"dlx converts dtypes on the CPU only (got data on {tensor.device}): convert with the "
            "library that owns the data, call `.to_device('cpu')` first, or pass force=True"
        )
    tensor = here
    if code_of(tensor)[1] < 8:
        if code_of(tensor)[2] != code[2]:
            raise UnsupportedError(
                f"cannot convert {source_name} to {name}, which has another number of lanes: call "
                f"{unpacking_call(tensor)} first"
            )
        tensor = whole(tensor)
        if code_of(tensor) == code:
            return tensor
    small = code[1] < 8 and code[0] in _INTEGERS
    if small and code_of(tensor) in ((dtypes.INT, 8, code[2]), (dtypes.UINT, 8, code[2])):
        return narrowed(tensor, code)
    try:
        import numpy  # noqa: F401  # if it is missing, the error says so
    except ImportError:
        raise UnavailableError(
            f"converting {source_name} to {name} needs NumPy, which is not installed"
        ) from None
    # int64 has the lowest bits of every integer type.
    target = dtypes.numpy_dtype(_INT64 if small and code[2] == 1 else code, extended=True)
    if target is None:
        raise UnsupportedError(
            f"cannot convert {source_name} to {name}: neither NumPy nor ml_dtypes (is it "
            "installed?) has it"
        )
    kind = code_of(tensor)[0]
    if kind in _COMPLEX and code[0] not in (*_COMPLEX, dtypes.BOOL):
        raise UnsupportedError(
            f"converting {source_name} to {name} would drop the imaginary part: take `.real` or `.imag` first"
        )
    if kind in _INTEGERS and code_of(tensor)[1] > 64:  # NumPy lacks it
        return _native.asarray(tensor.flatten().tolist(), dtype=code).reshape(tensor.shape)
    source = tensor.contiguous().numpy()  # dlx transposes faster than NumPy does
    if source.dtype.isbuiltin == 2 and (target.isbuiltin == 2 or target.kind == "b"):
        source = source.astype(_widest(kind))
    array = source.astype(target, copy=False)
    return (
        narrowed(_native.asarray(array.astype("uint8")), code) if small else _native.asarray(array)
    )


def _widest(kind: int) -> str:
    """NumPy's dtype that holds every value of a dtype of ml_dtypes. Conversions between two of those
    go through it: ml_dtypes lacks many pairs, and complex pairs lose the imaginary part."""
    if kind in _COMPLEX:
        return "complex128"
    return "int64" if kind in (dtypes.INT, dtypes.UINT) else "float64"
