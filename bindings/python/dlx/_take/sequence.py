"""New tensors of numbers, and of nested sequences of numbers or of arrays of one shape."""

from __future__ import annotations

import cmath
from collections import deque
from collections.abc import Sequence

from dlx import _native, dtypes
from dlx._access import bytes_of, code_of, empty_padded
from dlx._lib.classes import ARROW_METHODS, loaded
from dlx._lib.constants import PADDED, THE_CPU
from dlx._take import by_library, codec
from dlx.errors import Error, InvalidArgumentError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dlx._native import Tensor
    from dlx.dtypes import DTypeCode

    Shape = tuple[int, ...]
    Position = tuple[int, ...]

_PLAIN = frozenset({list, tuple})
_READING = ("__getattribute__", "__getitem__", "__iter__", "__len__")
_MAX_DEPTH = 256  # Python's recursion limit is a few times deeper
_ARRAY_PROTOCOLS = (
    "__dlpack__",
    "__array_interface__",
    "__array_struct__",
    "__array__",
    "__jax_array__",
    "__cuda_array_interface__",
    *ARROW_METHODS,
)


def is_number(obj: object) -> bool:
    """Whether an object is a Python number, also of a subclass."""
    return isinstance(obj, (bool, int, float, complex))


def is_array(obj: object) -> bool:
    """Whether an object has a shape of its own: it becomes a block of the result, or a number if 0-d."""
    if isinstance(obj, (type, str, bytes)):
        return False
    return (
        any(hasattr(obj, name) for name in _ARRAY_PROTOCOLS)
        or _has_buffer(obj)
        or by_library.holds_array(type(obj))
    )


def _has_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    except Exception:  # it has one, and refuses: importing it says why
        return True
    return True


def is_sequence(obj: object) -> bool:
    """Whether an object is a list, a tuple or another ordered collection; not text, set or dict."""
    if type(obj) in _PLAIN:
        return True
    if isinstance(obj, (str, bytes, bytearray, dict, type)) or is_array(obj):
        return False
    numpy = loaded("numpy")
    if numpy is not None and isinstance(obj, (numpy.dtype, numpy.nditer)):
        return False  # its items are fields, or operands
    if isinstance(obj, (list, tuple)):
        return True
    # Objects with keys are mappings, or hold named members (h5py and Zarr groups).
    if not hasattr(obj, "__len__") or not hasattr(obj, "__getitem__") or hasattr(obj, "keys"):
        return False
    try:
        len(obj)
    except TypeError:  # a single value of a class for many: astropy's Time, SciPy's Rotation
        return False
    return _iterates_over_its_items(obj)


def _iterates_over_its_items(obj: Any) -> bool:
    """Whether iteration begins with item 0, as in a sequence. networkx's degrees are indexed by node and
    iterate as pairs; SimpleITK's images iterate over pixels."""
    if isinstance(obj, Sequence) or getattr(type(obj), "__iter__", None) is None:
        return True
    nothing = object()
    first = next(iter(obj), nothing)
    if first is nothing:
        return True
    try:
        item = obj[0]
    except LookupError:
        return False
    if is_number(first) and is_number(item):
        return first == item or first != first
    return type(first) is type(item)


def build(obj: Any, code: DTypeCode | None, cast_arrays: bool) -> tuple[Tensor, bool]:
    """A new CPU tensor of a number or a nested sequence, and whether its dtype is final: it has the dtype
    asked for, or keeps that of the arrays inside because `cast_arrays` is False.

    Without `code`: bool if every number is a bool, else int64 (uint64 if one is above 2^63-1), else
    float64, else complex128; arrays inside must share one dtype, which the result has.

    Raises:
        InvalidArgumentError: ragged nesting (the message names the position), a number that the dtype
            cannot hold, or too many levels.
        TypeError: an item that is neither a number nor an array.
    """
    if code is not None and not codec.can_encode(code):
        tensor = _to_be_converted(obj, code)
        return tensor, not cast_arrays and tensor.ndim > len(_outer_shape(obj))
    if code is None and dtypes.note_numpy():  # the native code can now read NumPy's numbers
        return _native.asarray(obj), False
    if is_number(obj):
        return _from_numbers([obj], (), code)
    shape = _outer_shape(obj)
    flat = _flattened(obj, shape)
    if flat is not None:
        try:
            inner = _native.asarray(flat, dtype=code)
        except (Error, TypeError):  # the slower way below finds the position of the error
            pass
        else:
            if cast_arrays or inner.ndim == 1:  # else arrays have been cast
                return inner.reshape(shape + inner.shape[1:]), True
    leaves = list(_leaves(obj, shape, ()))
    blocks = [leaf for _, leaf in leaves if not is_number(leaf)]
    if not blocks:
        return _from_numbers([leaf for _, leaf in leaves], shape, code)
    tensor, done = _from_arrays(leaves, shape, code, cast_arrays)
    return tensor, done or not cast_arrays


def _to_be_converted(obj: Any, code: DTypeCode) -> Tensor:
    """The numbers in a dtype from which NumPy converts to `code`, which `encode` does not support."""
    kind, _, lanes = code
    if kind in (dtypes.INT, dtypes.UINT) and lanes == 1:
        tensor = _native.asarray(obj)
        if tensor.ndim == len(_outer_shape(obj)):  # else it holds arrays, which are cast
            codec.check_integers(tensor.tolist(), code)
        return tensor
    try:
        tensor = _native.asarray(obj)
    except InvalidArgumentError:  # an int beyond 64 bits may still be a number for a float
        tensor = _native.asarray(obj, dtype="float64")
    if tensor.ndim == len(_outer_shape(obj)):
        _check_floats(tensor.flatten(), code)
    return tensor


def _check_floats(numbers: Tensor, code: DTypeCode) -> None:
    """Refuse numbers that become NaN or finite in a floating-point type, or cease to be NaN. Of FP8, FP6
    and FP4 most types lack infinity or NaN, and one lacks 0.

    Raises:
        InvalidArgumentError: such a number.
    """
    held = _native.asarray(numbers, dtype=code).tolist()
    for number, value in zip(numbers.tolist(), held):
        nan, infinite = cmath.isnan(number), cmath.isinf(number)
        if cmath.isnan(value) != nan or (infinite and not cmath.isinf(value)):
            raise InvalidArgumentError(
                f"{number!r} is not a value of {dtypes.make_name(code)}, which would hold {value!r}: "
                "replace it first"
            )


def _outer_shape(obj: Any) -> Shape:
    """The shape of the first elements at each level; _leaves checks all others."""
    shape: list[int] = []
    seen: dict[
        int, Any
    ] = {}  # kept alive, so that ids stay unique even if items are made on access
    while is_sequence(obj):
        if id(obj) in seen:
            raise InvalidArgumentError("`obj` is a sequence that contains itself")
        seen[id(obj)] = obj
        if len(shape) == _MAX_DEPTH:
            raise InvalidArgumentError(
                f"`obj` is nested too deeply (expected at most {_MAX_DEPTH} levels)"
            )
        shape.append(len(obj))
        if not shape[-1]:
            break
        obj = obj[0]
    return tuple(shape)


def _flattened(obj: Any, shape: Shape) -> list[Any] | None:
    """The numbers or arrays as one plain list, which is read much faster, if some of the lists, tuples
    and deques are of subclasses. None for other sequences, and for ragged ones."""
    flat, plain = [obj], True
    for extent in shape:
        classes = set(map(type, flat))
        plain = plain and classes <= _PLAIN
        if not all(map(is_read_like_its_base, classes)) or {*map(len, flat)} != {extent}:
            return None
        flat = [item for part in flat for item in part]
    return None if plain else flat


def is_read_like_its_base(cls: type) -> bool:
    """Whether a class is not an array and gives its items as a list, a tuple or a deque does."""
    return not any(hasattr(cls, name) for name in _ARRAY_PROTOCOLS) and any(
        issubclass(cls, base)
        and all(getattr(cls, name) is getattr(base, name) for name in _READING)
        for base in (list, tuple, deque)
    )


def _leaves(obj: Any, shape: Shape, position: Position) -> Iterator[tuple[Position, Any]]:
    """Every number or array in it with its position, in C order."""
    depth = len(position)
    if depth == len(shape):
        if is_number(obj):
            yield position, obj
            return
        if is_sequence(obj):
            raise _ragged(
                position,
                f"a sequence of {len(obj)}",
                "a number or an array, as elsewhere at this depth",
            )
        if not is_array(obj):
            kind = type(obj).__name__
            raise TypeError(f"`obj`{_at(position)} is not a number (got {kind}: {obj!r:.60})")
        yield position, obj
        return
    if not is_sequence(obj):
        raise _ragged(position, f"one {type(obj).__name__}", f"a sequence of {shape[depth]}")
    if len(obj) != shape[depth]:
        raise _ragged(position, f"{len(obj)} items", f"{shape[depth]}, as in the first")
    for index in range(shape[depth]):
        try:
            item = obj[index]
        except IndexError:
            raise _ragged(position, f"{index} items", f"{shape[depth]}, its length") from None
        yield from _leaves(item, shape, (*position, index))


def _at(position: Position) -> str:
    return "".join(f"[{index}]" for index in position)


def _ragged(position: Position, got: str, expected: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"`obj` is ragged at obj{_at(position)} (got {got}, expected {expected})"
    )


def _natural_dtype(numbers: list[Any]) -> str:
    if numbers and all(isinstance(number, bool) for number in numbers):
        return "bool"
    if any(isinstance(number, complex) for number in numbers):
        return "complex128"
    if not numbers or any(isinstance(number, float) for number in numbers):
        return "float64"
    if max(numbers) > 2**63 - 1 and min(numbers) >= 0:
        return "uint64"
    return "int64"


def _from_numbers(numbers: list[Any], shape: Shape, code: DTypeCode | None) -> tuple[Tensor, bool]:
    done = code is not None and codec.can_encode(code)
    if code is None or not done:
        code = dtypes.dtype_code(_natural_dtype(numbers))
    raw = codec.encode(numbers, code)
    out = _native._empty(shape, code, THE_CPU)
    if raw:
        _native.copyto(bytes_of(out, flags=0), _native._from_buffer(raw))
    return out, done


def _item(at: Position, leaf: Any, code: DTypeCode | None, cast: bool) -> Tensor:
    """The Tensor of an array in a sequence; its error says where. With `cast` an array with axes is
    converted to `code`, each column of a table for itself."""
    has_axes = getattr(leaf, "ndim", 0) or any(hasattr(leaf, name) for name in ARROW_METHODS)
    try:
        if code is None or (cast and has_axes):
            return _native.asarray(leaf, dtype=code)
        try:
            return _native.asarray(leaf)
        except UnsupportedError:  # a long double is a number for a caller with a dtype
            if getattr(getattr(leaf, "dtype", None), "char", "") not in ("g", "G"):
                raise
            return _native.asarray(
                leaf, dtype="float64" if leaf.dtype.char == "g" else "complex128"
            )
    except Error as error:
        raise type(error)(f"`obj`{_at(at)}: {error}") from error


def _from_arrays(
    leaves: list[tuple[Position, Any]], shape: Shape, code: DTypeCode | None, cast: bool
) -> tuple[Tensor, bool]:
    """Stack arrays of one shape; `cast` converts arrays of several dtypes to `code`. 0-d arrays count as numbers if dtypes differ or numbers are among them."""
    blocks = [(at, None if is_number(leaf) else _item(at, leaf, code, cast)) for at, leaf in leaves]
    inner: Shape = next(block.shape for _, block in blocks if block is not None)
    for at, block in blocks:
        got: Shape = () if block is None else block.shape
        if got != inner:
            raise _ragged(at, f"shape {got}", f"{inner}, as in the first array")
    codes = {None if block is None else code_of(block) for _, block in blocks}
    if inner == () and code is not None and codes != {code}:
        codes.add(None)  # count as numbers, which have to be values of the dtype
    if len(codes) > 1:
        if inner == ():
            numbers = [
                leaf if block is None else block.item()
                for (_, leaf), (_, block) in zip(leaves, blocks)
            ]
            return _from_numbers(numbers, shape, code)
        if code is None or not cast:
            names = ", ".join(sorted(dtypes.make_name(code) for code in codes if code is not None))
            raise UnsupportedError(
                f"`obj` holds arrays of different dtypes ({names}): pass `dtype=`, or convert them to one "
                "first"
            )
        blocks = [(at, _native.asarray(block, dtype=code)) for at, block in blocks]
    arrays = [(at, block) for at, block in blocks if block is not None]
    common = code_of(arrays[0][1])
    packs = common[1] < 8 and not all(_native._flags(block) & PADDED for _, block in arrays)
    whole = shape + inner
    # Padded, so that each array begins at a whole byte.
    out = empty_padded(whole, common) if common[1] < 8 else _native._empty(whole, common, THE_CPU)
    for at, block in arrays:
        _native.copyto(out[at], block)
    if packs:
        bytewise, out = out, _native._empty(whole, common, THE_CPU)
        _native.copyto(out, bytewise)
    return out, code == common
