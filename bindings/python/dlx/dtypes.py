"""Data types: the class `dlx.dtype`, and how dlx reads dtype objects of other libraries.

A data type is three numbers (code, bits, lanes), as DLPack defines them. `Tensor.dtype` is a
`numpy.dtype` if NumPy is installed and has the type, so that libraries which dispatch on
`numpy.dtype` work; for other types (bfloat16, FP8 to FP4, int4, lanes …) it is a `dlx.dtype`.
"""

from __future__ import annotations

import operator

from dlx import _native
from dlx._lib import capi
from dlx._lib.classes import loaded, module_of, package_of
from dlx.errors import InvalidArgumentError, UnsupportedError, brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    DTypeCode = tuple[int, int, int]

__all__ = ["dtype"]

# DLDataTypeCode of the DLPack standard.
INT, UINT, FLOAT, OPAQUE, BFLOAT, COMPLEX, BOOL = range(7)
FIRST_FP8, FP4, BCOMPLEX = 7, 17, 18
UINT8 = (UINT, 8, 1)

_KINDS = {INT: "i", UINT: "u", FLOAT: "f", BFLOAT: "f", COMPLEX: "c", BOOL: "b", BCOMPLEX: "c"}
_ARROW_NAMES = {"halffloat": "float16", "float": "float32", "double": "float64"}
_builtin_codes: dict[Any, DTypeCode] = {}  # by numpy.dtype
_hashes: dict[str, int] = {}  # by name
_added_names: dict[str, bool] = {}  # of dtypes added to NumPy: whether dlx has the name
_PYTHON_TYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


class dtype:
    """A data type of DLPack.

    `dtype(x)` reads a name ("float32", "bfloat16", "float8_e4m3fn", "int4", "float32x4"), a
    `numpy.dtype`, a scalar type of NumPy or ml_dtypes, a `torch.dtype`, `bool`, `int` (int64),
    `float` (float64), `complex` (complex128), or any object with `__dlpack_data_type__` or a `dtype`
    attribute.

    Two are equal if code, bits and lanes are; a `dlx.dtype` also equals its `numpy.dtype`, and their
    hashes are equal too. It equals its name, but for a dict by name use `.name`: a `numpy.dtype` does
    not have the hash of its name either. Immutable.

    Attributes:
        name: the name, as `dlx_dtype_name` writes it.
        code: DLPack's type code (DLDataTypeCode).
        bits: bits of one lane.
        lanes: lanes of one element, 1 for a scalar.
        itemsize: bytes of one element on its own, `(bits * lanes + 7) // 8`; packed sub-byte
            elements share bytes in memory.
        kind: "b" bool, "i" signed, "u" unsigned, "f" floating point, "c" complex, "V" other.
        dtype, type: the `numpy.dtype` and its scalar class, if NumPy or ml_dtypes has them.

    Raises:
        TypeError: the object does not name a data type.
        ValueError: an unknown name (`InvalidArgumentError`).
        BufferError: a dtype that DLPack cannot express (`UnsupportedError`).

    Source: DLPack 1.3, DLDataType; array API standard 2025.12, "Data types".
    """

    __slots__ = ("bits", "code", "lanes", "name")

    name: str
    code: int
    bits: int
    lanes: int

    def __init__(self, obj: Any, /) -> None:
        code = dtype_code(obj)
        put = object.__setattr__  # the class's own __setattr__ raises: dtypes are immutable
        put(self, "code", code[0])
        put(self, "bits", code[1])
        put(self, "lanes", code[2])
        put(self, "name", capi.dtype_name(code))

    def __setattr__(self, field: str, value: object) -> None:
        raise AttributeError(f"dlx.dtype is immutable (tried to set {field!r})")

    def __delattr__(self, field: str) -> None:
        raise AttributeError(f"dlx.dtype is immutable (tried to delete {field!r})")

    @property
    def itemsize(self) -> int:
        """Bytes of one element on its own."""
        return (self.bits * self.lanes + 7) // 8

    @property
    def kind(self) -> str:
        """One letter, as in NumPy: "b", "i", "u", "f", "c", or "V" for types without arithmetic."""
        if FIRST_FP8 <= self.code <= FP4:
            return "f"
        return _KINDS.get(self.code, "V")

    @property
    def dtype(self) -> Any:
        """The `numpy.dtype` for this type, so that `numpy.dtype(x)` reads a `dlx.dtype`.

        Raises:
            AttributeError: NumPy lacks the type, and so does ml_dtypes or it is not installed.
        """
        found = numpy_dtype(self.__dlpack_data_type__(), extended=True)
        if found is None:
            raise AttributeError(f"NumPy has no dtype for {self.name}")
        return found

    __numpy_dtype__ = dtype

    @property
    def type(self) -> Any:
        """`numpy.dtype.type` of that `numpy.dtype`; jaxtyping reads its name.

        Raises:
            AttributeError: as `dtype`.
        """
        return self.dtype.type

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dtype):
            return self.name == other.name
        if isinstance(other, str):
            return self.name == other
        return NotImplemented

    def __hash__(self) -> int:
        known = _hashes.get(self.name)
        if known is None:  # kept, because a package may register its dtype with NumPy later
            found = numpy_dtype(self.__dlpack_data_type__(), extended=True)
            known = _hashes.setdefault(self.name, hash(self.name if found is None else found))
        return known

    def __dlpack_data_type__(self) -> DTypeCode:
        """(code, bits, lanes). Source: the protocol by which Apache TVM FFI and Paddle exchange dtypes."""
        return self.code, self.bits, self.lanes

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"dlx.dtype({self.name!r})"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return dtype, (self.name,)


def make_name(code: DTypeCode) -> str:
    """The name of (code, bits, lanes)."""
    return capi.dtype_name(code)


def make_dtype(code: int, bits: int, lanes: int) -> Any:
    """The public object for a data type: a `numpy.dtype` if NumPy has it, else a `dlx.dtype`.

    The native code calls it once per data type. It imports NumPy.
    """
    found = numpy_dtype((code, bits, lanes), extended=False)
    return dtype(capi.dtype_name((code, bits, lanes))) if found is None else found


def numpy_dtype(code: DTypeCode, *, extended: bool) -> Any:
    """The `numpy.dtype` for (code, bits, lanes), or None.

    `extended` adds the types that other packages registered with NumPy for DLPack, and those of
    ml_dtypes if it is installed. Its sub-byte types (int4 …) take one byte per element, so they
    describe padded data only.
    """
    typestr = capi.dtype_typestr(code)
    try:
        import numpy
    except ImportError:
        return None
    if typestr is not None:
        return numpy.dtype(typestr)
    if not extended or code[2] != 1:
        return None
    registered = _registered_dtype(code)
    if registered is not None:
        return registered
    try:
        import ml_dtypes
    except ImportError:
        return None
    scalar = getattr(ml_dtypes, capi.dtype_name(code), None)
    return None if scalar is None else numpy.dtype(scalar)


def dtype_code(obj: Any, /) -> DTypeCode:
    """(code, bits, lanes) of any object that the class `dtype` reads."""
    try:
        return _code_of(obj, 4)
    except Exception as error:
        raise brief(error)  # noqa: B904


def _code_of(obj: Any, attributes: int) -> DTypeCode:
    """`dtype_code`. Follows at most so many `dtype` attributes: a mock has one on every object."""
    if isinstance(obj, str):
        return _code_of_name(obj)
    if type(obj) is tuple and len(obj) == 3 and all(type(number) is int for number in obj):
        return obj  # DLPack's three numbers, from native code
    if isinstance(obj, type):
        return _code_of_type(obj)
    if hasattr(type(obj), "__dlpack_data_type__"):
        return _code_of_protocol(obj)
    library = package_of(type(obj))
    if library == "torch" and type(obj).__name__ == "dtype":
        return _code_of_torch(obj)
    if library == "pyarrow":
        name = str(getattr(obj, "type", obj))  # for an array, a field …
        return _code_of_name(_ARROW_NAMES.get(name, name))
    numpy = loaded("numpy")
    if numpy is not None and isinstance(obj, numpy.dtype):
        return _code_of_numpy(obj)
    inner = getattr(obj, "dtype", None)
    if inner is None and library == "tensorflow":
        inner = getattr(obj, "as_numpy_dtype", None)
    if inner is None and library != "builtins" and str(obj).startswith(library + "."):
        inner = str(obj).rpartition(".")[2]  # "mlx.core.float32", "paddle.float32" …
    if inner is None or inner is obj or attributes == 0:
        raise TypeError(
            f"`dtype` is not a data type (got {type(obj).__name__}, expected a name such as "
            '"float32", or the dtype object of an array library)'
        )
    return _code_of(inner, attributes - 1)


def _code_of_protocol(obj: Any) -> DTypeCode:
    """The answer of `__dlpack_data_type__`, if it is three numbers."""
    answer = obj.__dlpack_data_type__()
    try:
        code, bits, lanes = map(operator.index, answer)
    except (TypeError, ValueError):
        raise TypeError(
            f"`dtype`: `__dlpack_data_type__` of {type(obj).__name__} did not return three integers "
            f"(got {answer!r:.60}, expected (code, bits, lanes))"
        ) from None
    return code, bits, lanes


def requested_code(obj: Any, /) -> tuple[int, int, int, bool]:
    """For the native code: `dtype_code`, and whether the native code may keep the answer."""
    try:
        code = _code_of(obj, 4)
    except Exception as error:
        raise brief(error)  # noqa: B904
    numpy = loaded("numpy")
    if isinstance(obj, type):
        final = obj in _PYTHON_TYPES or package_of(obj) == "numpy"
    elif numpy is not None and isinstance(obj, numpy.dtype):
        final = obj is numpy.dtype(obj.type)  # not merely equal: there may be any number of those
    else:
        final = module_of(type(obj)) == "torch" and type(obj).__name__ == "dtype"
    return (*code, final)


def _code_of_name(name: str) -> DTypeCode:
    """Of a name that dlx has, or of a typestr such as "<f4"."""
    try:
        return capi.dtype_parse(name)
    except InvalidArgumentError:
        if name[:1] not in ("<", ">", "|", "="):
            raise InvalidArgumentError(
                f"`dtype` is not the name of a data type (got {name!r:.60}, expected "
                f"{_meant_by_numpy(name)})"
            ) from None
    return capi.dtype_parse_typestr(name)


def _meant_by_numpy(name: str) -> str:
    """For a message: the name that dlx has for a dtype name of NumPy, or examples of names."""
    numpy = loaded("numpy")
    if numpy is not None and name[:1] != "a":  # an old name for bytes, which NumPy warns about
        try:
            meant = numpy.dtype(name)
        except Exception:  # TypeError, SyntaxError …
            meant = None
        if meant is not None and meant.kind in "biufc" and meant.char not in "gG":
            return f'"{meant.name}", as NumPy means it'
    return 'one such as "float32", "bfloat16" or "uint8x4"'


def _code_of_type(obj: type) -> DTypeCode:
    """A class: one of Python's numbers, or a scalar type of NumPy, ml_dtypes, JAX or Warp."""
    name = _PYTHON_TYPES.get(obj)
    if name is not None:
        return capi.dtype_parse(name)
    numpy = loaded("numpy")
    if numpy is not None and issubclass(obj, numpy.generic):
        return _code_of_numpy(numpy.dtype(obj))
    library = package_of(obj)
    if library in ("ml_dtypes", "warp"):
        return _code_of_name(obj.__name__)
    inner = getattr(obj, "dtype", None)
    if library == "jax" and isinstance(inner, numpy.dtype if numpy is not None else ()):
        return _code_of_numpy(inner)
    raise TypeError(
        f"`dtype` is a class that is not a data type (got {module_of(obj)}.{obj.__qualname__}, "
        "expected bool, int, float, complex or a scalar type of NumPy)"
    )


def _code_of_torch(obj: Any) -> DTypeCode:
    name = str(obj).partition(".")[2]
    if name == "float4_e2m1fn_x2":  # two lanes in one byte; dlx spells it differently
        name = "float4_e2m1fnx2"
    try:
        return capi.dtype_parse(name)
    except InvalidArgumentError:
        way = (
            "quantised tensors export their integers with `.int_repr()`"
            if name.startswith("q")
            else "view the tensor as another type first"
        )
        raise UnsupportedError(
            f"`dtype` is a type of PyTorch that DLPack cannot express (got {obj}): {way}"
        ) from None


def _code_of_numpy(obj: Any) -> DTypeCode:
    """Of a numpy.dtype. Raises UnsupportedError that says what to call if DLPack lacks the type."""
    code = _builtin_codes.get(obj)
    if code is not None:
        return code
    try:
        problem = _explain_own_dtype(obj)
        if problem is not None:
            raise UnsupportedError(f"`dtype`: {problem}")
        code = capi.dtype_parse(obj.name)
        if obj.isbuiltin == 1:  # cached: the names are constant, and NumPy computes them in Python
            _builtin_codes[obj] = code
        return code
    except (InvalidArgumentError, UnsupportedError):
        registered = _registered_code(obj)
        if registered is None:
            raise
        return registered


def is_of_ml_dtypes(obj: Any) -> bool:
    """Whether a numpy.dtype was added to NumPy, by ml_dtypes or another package, under a name that
    dlx has, and is in the machine's byte order."""
    return _has_added_name(obj) and bool(obj.isnative or obj.itemsize == 1)


def _has_added_name(obj: Any) -> bool:
    if obj.isbuiltin != 2:
        return False
    known = _added_names.get(obj.name)
    if known is None:
        try:
            known = bool(capi.dtype_parse(obj.name))
        except InvalidArgumentError:
            known = False
        _added_names[obj.name] = known
    return known


def _has_registry() -> bool:
    """Whether packages can register dtypes with NumPy for DLPack, as from NumPy 2.5 on."""
    numpy = loaded("numpy")
    return hasattr(getattr(numpy, "dtypes", None), "register_dlpack_dtype")


def _registered_code(obj: Any) -> DTypeCode | None:
    """The data type registered with NumPy for this numpy.dtype, or None; found by an export."""
    if not _has_registry():
        return None
    import numpy

    try:
        capsule = numpy.empty(0, obj).__dlpack__(max_version=(1, 0))
    except BufferError:
        return None
    return dtype_code(_native.from_dlpack(capsule).dtype)


_questions: dict[DTypeCode, Any] = {}  # Tensors without elements, for NumPy to import


def _registered_dtype(code: DTypeCode) -> Any:
    """The numpy.dtype registered with NumPy for this data type, or None; found by an import."""
    if not _has_registry():
        return None
    import numpy

    question = _questions.get(code)
    if question is None:
        question = _questions[code] = _native._empty(0, code, "cpu")
    try:
        return numpy.from_dlpack(question).dtype
    except BufferError:
        return None


_numpy_is_noted = False


def note_numpy() -> bool:
    """Give the native code NumPy's functions and classes, if NumPy is imported.

    Returns:
        whether the native code did not have them before.
    """
    global _numpy_is_noted
    numpy = loaded("numpy")
    if _numpy_is_noted or numpy is None:
        return False
    numbers = [numpy.dtype(letter).type for letter in "?bhilqBHILQefdFD"]
    core = loaded("numpy._core._multiarray_umath") or loaded("numpy.core._multiarray_umath")
    _native._note_numpy(numpy.array, getattr(core, "_ARRAY_API", None), tuple(numbers))
    _numpy_is_noted = True
    return True


def explain_numpy_dtype(obj: Any, array: Any = None) -> str | None:
    """Why DLPack cannot carry this numpy.dtype and what to call instead; None if it can.

    Args:
        array: what has the dtype. Its items decide what helps an array of Python objects.
    """
    problem = _explain_own_dtype(obj, array)
    return None if problem is None or _registered_code(obj) is not None else problem


def _explain_own_dtype(obj: Any, array: Any = None) -> str | None:
    """`explain_numpy_dtype` without the dtypes registered with NumPy."""
    if is_of_ml_dtypes(obj):
        return None
    if obj.kind == "O":
        from dlx._lib.objects import way_of_objects

        return f"an object array holds Python objects, not numbers: {way_of_objects(array)}"
    # A method would not do: wrappers of arrays, such as a DataArray of xarray, have other ones.
    call = "`numpy.asarray(x){}`".format
    if obj.itemsize == 0 and obj.kind == "V":
        return f"elements of 0 bytes hold no data (got {obj})"
    if obj.names is not None:
        known = package_of(type(array)) == "numpy"
        return explain_structured(obj, "x" if known else "numpy.asarray(x)")
    if obj.kind in "SU":
        way = "`numpy.frombuffer(numpy.asarray(x).tobytes(), 'uint8')`"
        return f"strings have no DLPack form (got {obj}): encode them as numbers, e.g. {way}"
    if obj.kind == "T":
        return f"strings have no DLPack form (got {obj}): encode them as numbers first"
    if obj.kind in "Mm":
        way = call(".astype('int64')")
        return f"dates and time spans have no DLPack form (got {obj}): use {way}, and keep the unit beside it"
    if not _has_added_name(obj) and (obj.isbuiltin == 2 or obj.kind not in "biufcV"):
        way = call(".astype('float64')")
        return f"DLPack lacks this type (got {obj}): use {way} or another dtype that fits"
    if not obj.isnative:
        same = obj.newbyteorder("=")
        way = call(f".astype({same.name if obj.isbuiltin == 2 else same.str!r})")
        return f"DLPack has only the machine's byte order (got {obj.str!r}): use {way}"
    if obj.kind == "V":
        way = "`numpy.frombuffer(numpy.asarray(x).tobytes(), 'uint8')`"
        return f"raw bytes have no DLPack form (got {obj}): use {way} or another dtype"
    if obj.itemsize > (16 if obj.kind == "c" else 8):
        way = call(f".astype('{'complex128' if obj.kind == 'c' else 'float64'}')")
        return f"DLPack lacks this type (got {obj}): use {way}"
    return None


def explain_structured(obj: Any, name: str) -> str:
    """Why DLPack cannot carry a structured numpy.dtype, and what to call with an array called `name`."""
    if not obj.names:
        return f"a structured dtype without fields holds no data (got {obj})"
    first = obj.names[0]
    text = f"a structured dtype has no DLPack form (got {obj}): take one field, `{name}[{first!r}]`"
    if all(kind in "biufc" for kind in _kinds(obj)):
        text += (
            f", or copy all by `numpy.lib.recfunctions.structured_to_unstructured({name})`, after "
            "`import numpy.lib.recfunctions`"
        )
    return text


def _kinds(obj: Any) -> Iterator[str]:
    """The kinds of all fields, also of nested ones."""
    if obj.subdtype is not None:
        yield from _kinds(obj.base)
    elif obj.names is None:
        yield obj.kind
    else:
        for name in obj.names:
            yield from _kinds(obj.fields[name][0])
