"""`repr` of a Tensor and its HTML in notebooks: some values, shape, dtype and device.

Never raises for a tensor whose data cannot be read, and reads only the values that it shows.
"""

from __future__ import annotations

import math

from dlx._access import code_of
from dlx._lib import capi
from dlx._lib.constants import CPU
from dlx.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dlx._native import Tensor

_WHOLE = 20  # an axis up to this length is shown whole, if all axes are
_EDGE = 3  # elements shown at each end of a longer axis
_LIMIT = 200  # elements shown in total; if there are more, the ends shrink
_DEEPEST = 64  # axes shown as brackets; Python's recursion limit is a few times higher
_DOTS = "..."


def render(tensor: Tensor) -> str:
    """The text of `repr(tensor)` and `str(tensor)`."""
    values = _values(tensor)
    separator = ",\n       " if "\n" in values else ", "
    return f"Tensor({values}{separator}{', '.join(_facts(tensor))})"


def render_html(tensor: Tensor) -> str:
    """The HTML for a notebook, with the values of one or two axes in a table."""
    from html import escape

    facts = f"<code>dlx.Tensor</code> {escape(', '.join(_facts(tensor)))}"
    values = _values(tensor)
    if values.startswith("<") or not 0 < tensor.ndim <= 2 or not tensor.size:
        return f"<div>{facts}<pre>{escape(values)}</pre></div>"
    nested = _format(_collect(tensor, _edge(tensor.shape) or 1))
    rows = nested if tensor.ndim == 2 else [nested]
    width = max(len(row) for row in rows if row is not _DOTS)
    lines = (row if row is not _DOTS else [_DOTS] * width for row in rows)
    cells = (
        "".join(f'<td style="text-align: right">{escape(item.strip())}</td>' for item in line)
        for line in lines
    )
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    return f"<div>{facts}<table><tbody>{body}</tbody></table></div>"


def _facts(tensor: Tensor) -> list[str]:
    facts = [
        f"shape={tensor.shape}",
        f"dtype={capi.dtype_name(code_of(tensor))}",
        f"device={tensor.device}",
    ]
    if not tensor.is_contiguous():
        facts.append(f"strides={tensor.strides}")
    if tensor.readonly:
        facts.append("read-only")
    return facts


def _edge(shape: tuple[int, ...]) -> int | None:
    """How many elements to show at each end of an axis; None if even one is too many."""
    edges = (_EDGE, 1) if any(extent > _WHOLE for extent in shape) else (_WHOLE // 2, _EDGE, 1)
    return next((edge for edge in edges if _shown(shape, edge) <= _LIMIT), None)


def _values(tensor: Tensor) -> str:
    """The values in nested brackets, or the reason why they are not shown in <>."""
    if tensor.device.device_type != CPU:
        return f"<values on {tensor.device}>"
    if tensor.size == 0:
        return "[]"
    if tensor.data_ptr == 0:
        return "<no data>"
    edge = _edge(tensor.shape)
    if edge is None or tensor.ndim > _DEEPEST:
        return f"<{tensor.size} values>"
    try:
        nested = _collect(tensor, edge)
    except Error as error:
        return f"<no values: {error}>"
    texts = _format(nested)
    return _brackets(texts, len("Tensor("))


def _shown(shape: tuple[int, ...], edge: int) -> int:
    count = 1
    for extent in shape:
        count *= min(extent, 2 * edge)
    return count


def _collect(tensor: Tensor, edge: int, axis: int = 0) -> Any:
    """Nested lists of values, with `...` for omitted ones. All axes are shortened before a value is
    read, because rows of packed elements may begin inside a byte and cannot be Tensors."""
    if axis == tensor.ndim:
        return tensor.tolist()
    extent = tensor.shape[axis]
    if extent <= 2 * edge:
        return _collect(tensor, edge, axis + 1)
    _, bits, lanes = code_of(tensor)
    whole_bytes = 8 // math.gcd(bits * lanes, 8)  # this many elements
    start = (extent - edge) // whole_bytes * whole_bytes
    before = (slice(None),) * axis
    first, last = (*before, slice(edge)), (*before, slice(start, None))
    head, tail = (_collect(tensor[key], edge, axis + 1) for key in (first, last))
    return _joined(head, tail, edge, axis)


def _joined(head: Any, tail: Any, edge: int, depth: int) -> Any:
    """Both ends of an axis at a depth, with the dots between them."""
    if head is _DOTS:
        return _DOTS
    if depth == 0:
        return [*head, _DOTS, *tail[-edge:]]
    return [_joined(first, last, edge, depth - 1) for first, last in zip(head, tail)]


def _format(value: Any) -> Any:
    """The nested values as texts, all padded to the widest."""
    texts: list[str] = []

    def convert(item: Any) -> Any:
        if isinstance(item, list):
            return [convert(part) for part in item]
        texts.append(item if item is _DOTS else _number(item))
        return texts[-1]

    converted = convert(value)
    width = max(len(text) for text in texts if text is not _DOTS)

    def pad(item: Any) -> Any:
        if isinstance(item, list):
            return [pad(part) for part in item]
        return item if item is _DOTS else item.rjust(width)

    return pad(converted)


def _number(value: Any) -> str:
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 1e6
        return f"{value:.1f}" if whole else f"{value:.6g}"
    if isinstance(value, complex):
        return f"{value.real:.6g}{value.imag:+.6g}j"
    if isinstance(value, tuple):
        return f"({', '.join(_number(part) for part in value)})"
    return str(value)


def _brackets(nested: Any, indent: int) -> str:
    if not isinstance(nested, list):
        return str(nested)
    if not any(isinstance(item, list) for item in nested):
        return f"[{', '.join(nested)}]"
    inner = [_brackets(item, indent + 1) for item in nested]
    deep = any("\n" in item for item in inner)
    gap = ",\n" + ("\n" if deep else "") + " " * (indent + 1)
    return f"[{gap.join(inner)}]"
