"""The doors of compiled programs to functions in C: `torch_operator` and `jax_function`.

Both infer from the contract, before anything is computed, what a call returns; extents may be symbols
then. The C side is in dlx/torch_operator.h and dlx/xla_ffi.h.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import operator
from typing import NamedTuple

from dlx import _native
from dlx._call import _address
from dlx._lib import capi
from dlx.errors import InvalidArgumentError, brief, from_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Require = Callable[[Any, str], None]


class Parameter(NamedTuple):
    """What a contract says of a parameter."""

    name: str
    kind: str  # array, int, float, bool, str or stream
    flags: tuple[
        bool, bool, bool, bool
    ]  # writable, result, optional, takes tensors that require grad
    dtypes: tuple[str, ...]  # none: any
    like: int  # the index of the array that has its dtype, or -1
    ellipsis: bool  # any axes before those of `extents`
    extents: tuple[int | str | None, ...]
    default: Any

    @property
    def writable(self) -> bool:
        return self.flags[0]

    @property
    def result(self) -> bool:
        return self.flags[1]

    @property
    def optional(self) -> bool:
        return self.flags[2]

    @property
    def takes_grad(self) -> bool:
        return self.flags[3]


class Contract:
    """A contract as Python sees it."""

    def __init__(self, text: str) -> None:
        self.function, parameters = ast.literal_eval(_native._contract(text))
        self.parameters = [Parameter(*each) for each in parameters]
        for i, p in enumerate(self.parameters):
            if p.kind == "float" and p.optional:  # a text, because inf and nan are no literals
                self.parameters[i] = p._replace(default=float(p.default))
        self.inputs = [p for p in self.parameters if not p.result and p.kind != "stream"]
        self.signature = inspect.Signature(
            [
                inspect.Parameter(
                    p.name,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=p.default if p.optional else inspect.Parameter.empty,
                )
                for p in self.inputs
            ]
        )

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a call by name, with defaults. Raises TypeError."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.function}: {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def results(
        self, values: Mapping[str, Any], dtype_of: Callable[[Any], str], require: Require
    ) -> list[tuple[str, tuple[Any, ...]]]:
        """Checks dtypes and shapes; gives (dtype, shape) of each result.

        Args:
            dtype_of: the name of an array's dtype.
            require: called with each condition on extents and what to say if it is false.
        """
        extents: dict[str, Any] = {p.name: values[p.name] for p in self.inputs if p.kind == "int"}
        dtypes: dict[int, str] = {}
        for index, p in enumerate(self.parameters):
            if p.kind == "array" and not p.result and values[p.name] is not None:
                dtypes[index] = dtype_of(values[p.name])
                self._check(p, dtypes, index, tuple(values[p.name].shape), extents, require)
        return [
            (
                p.dtypes[0] if p.like < 0 else dtypes[p.like],
                tuple(extents[n] if isinstance(n, str) else n for n in p.extents),
            )
            for p in self.parameters
            if p.result
        ]

    def _check(
        self,
        p: Parameter,
        dtypes: Mapping[int, str],
        index: int,
        shape: tuple[Any, ...],
        extents: dict[str, Any],
        require: Require,
    ) -> None:
        allowed = p.dtypes if p.like < 0 else (dtypes[p.like],)
        if allowed and dtypes[index] not in allowed:
            wanted = "|".join(allowed)
            self.refuse(f"`{p.name}` must be {wanted} (got {dtypes[index]})")
        count = len(p.extents)
        if len(shape) < count or (len(shape) > count and not p.ellipsis):
            least = "at least " * p.ellipsis
            self.refuse(f"`{p.name}` must have {least}{count} axes (got {len(shape)})")
        for axis, (wanted_extent, extent) in enumerate(
            zip(p.extents, shape[len(shape) - count :]), len(shape) - count
        ):
            if wanted_extent is None:
                continue
            if isinstance(wanted_extent, str):
                expected = extents.setdefault(wanted_extent, extent)
            else:
                expected = wanted_extent
            require(
                extent == expected,
                f"{self.function}: axis {axis} of `{p.name}` must have the extent {wanted_extent} "
                f"that the contract says",
            )

    def refuse(self, why: str) -> None:
        raise from_status(InvalidArgumentError.status, f"{self.function}: {why}")


_torch_operators: dict[str, Any] = {}


def torch_operator(pointer: Any, /) -> Any:
    """Register a function in C as an operator of PyTorch, for torch.compile, torch.export and eager calls.

        blur = dlx.torch_operator(ctypes.CDLL("./libfilter.so").blur_torch)
        torch.compile(lambda x: blur(x, 2), fullgraph=True)(image)

    Args:
        pointer: what `DLX_TORCH_OPERATOR` of dlx/torch_operator.h defined: a function of ctypes or cffi,
            or an address. Its library must stay loaded.

    Returns:
        the operator, as torch.ops has it. A second call returns the same one.

    It works on the CPU, without the GIL. What does not fit the contract is a RuntimeError with dlx's
    message. There is no derivative: the backward pass refuses. Raises UnavailableError (PyTorch below 2.10).
    """
    import torch

    address, _ = _address(pointer)
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_char_p)
    )
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    status = prototype(address)(name, text)
    if status:
        raise from_status(status, capi.last_error())
    full_name = (name.value or b"").decode()
    if full_name not in _torch_operators:
        fake = _torch_fake(Contract((text.value or b"").decode()))
        torch.library.register_fake(full_name, fake, allow_override=True)
        library, _, base = full_name.partition("::")
        _torch_operators[full_name] = getattr(getattr(torch.ops, library), base).default
    return _torch_operators[full_name]


def _torch_fake(contract: Contract) -> Callable[..., Any]:
    """What the operator returns, for tensors without data."""
    import torch

    def require(condition: Any, message: str) -> None:
        torch._check(condition, lambda: message)  # type: ignore[no-untyped-call]

    def fake(*args: Any, **kwargs: Any) -> Any:
        values = contract.bind(args, kwargs)
        for p in contract.inputs:
            x = values[p.name] if p.kind == "array" else None
            if x is not None and x.requires_grad and torch.is_grad_enabled() and not p.takes_grad:
                # As the function itself says it for data.
                raise RuntimeError(
                    f"{contract.function}: `{p.name}` requires grad, and the operator has no derivative: "
                    f"pass {p.name}.detach(), or call it under torch.no_grad()"
                )
        made = [
            torch.empty(shape, dtype=getattr(torch, dtype), device="cpu")
            for dtype, shape in contract.results(values, lambda x: str(x.dtype)[6:], require)
        ]
        return (tuple(made) if len(made) > 1 else made[0]) if made else None

    return fake


def jax_function(pointer: Any, /, *, vmap_method: str | None = "sequential") -> Callable[..., Any]:
    """A function of JAX arrays that calls a function in C through XLA, for jax.jit and eager calls.

        blur = dlx.jax_function(ctypes.CDLL("./libfilter.so").blur_xla)
        jax.jit(lambda x: blur(x, radius=2))(image)

    Numbers and texts are attributes of the call: jit must know them (`static_argnames`). JAX's arrays
    never change, so the call returns the arrays that the function writes, beside its results, in the
    contract's order.

    Args:
        pointer: what `DLX_XLA_HANDLER` of dlx/xla_ffi.h defined: a function of ctypes or cffi, or an
            address. Its library must stay loaded.
        vmap_method: as for jax.ffi.ffi_call; "sequential" calls the function once for each slice.

    It works on the CPU. What does not fit the contract is an InvalidArgumentError when the call is traced,
    or JAX's error with dlx's message when it runs. There is no derivative: jax.grad refuses.
    """
    import jax  # type: ignore[import-not-found, unused-ignore]

    address, keep = _address(pointer)
    handler = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(address)
    contract = Contract((handler(None) or b"").decode())
    if not any(p.result or p.writable for p in contract.parameters):
        contract.refuse("it writes no array, so XLA would never call it")
    target = f"dlx_{contract.function}_{address:x}"
    jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(handler), platform="cpu")

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return _call_jax(contract, target, vmap_method, contract.bind(args, kwargs))
        except InvalidArgumentError as error:
            raise brief(error)  # noqa: B904

    call.__name__ = call.__qualname__ = contract.function
    call.__doc__ = f"{contract.function}{contract.signature}, through XLA"
    call.__signature__ = contract.signature  # type: ignore[attr-defined]
    call._keep = handler, keep  # type: ignore[attr-defined]
    return call


def _attribute(kind: str, value: Any) -> Any:
    """A number or text as XLA takes it. Raises JAX's error for what is not known yet, and TypeError."""
    import numpy

    if kind == "int":
        return numpy.int64(operator.index(value))
    if kind == "float":
        return numpy.float64(float(value))
    if kind == "bool":
        return numpy.bool_(bool(value))
    if not isinstance(value, str):
        raise TypeError(f"a text is expected (got {type(value).__name__})")
    return value


def _call_jax(
    contract: Contract, target: str, vmap_method: str | None, values: dict[str, Any]
) -> Any:
    import jax
    import numpy

    arrays, attributes, shapes, aliases = [], {}, [], {}
    for p in contract.inputs:
        value = values[p.name]
        if p.kind != "array":
            attributes[p.name] = _attribute(p.kind, value)
        elif value is None:
            attributes[p.name] = numpy.bool_(True)  # left out
        else:
            values[p.name] = jax.numpy.asarray(value)
            arrays.append(values[p.name])

    def require(condition: Any, message: str) -> None:
        if not condition:
            raise from_status(InvalidArgumentError.status, message)

    inferred = iter(contract.results(values, lambda x: str(x.dtype), require))
    index = 0
    for p in contract.parameters:
        given = p.kind == "array" and not p.result and values[p.name] is not None
        if p.result:
            dtype, shape = next(inferred)
            shapes.append(jax.ShapeDtypeStruct(shape, dtype))
        elif given and p.writable:
            aliases[index] = len(shapes)
            shapes.append(jax.ShapeDtypeStruct(values[p.name].shape, values[p.name].dtype))
        index += given
    call = jax.ffi.ffi_call(
        target, shapes, vmap_method=vmap_method, input_output_aliases=aliases or None
    )
    results = call(*arrays, **attributes)
    return results[0] if len(results) == 1 else tuple(results)
