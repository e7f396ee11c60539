"""Finds libdlx.so and loads it through ctypes or cffi.

Environment:
    DLX_LIBRARY: path of the library; nothing else is tried then.
    DLX_BINDING: "ctypes" (default) or "cffi".
`python -E` and `python -I` ignore both, as they ignore Python's own variables.

Attributes:
    binding: "ctypes" or "cffi".
    path: the file that was loaded, or the name by which the system's loader found it.
    backend: the loaded library, see `Backend`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Backend(Protocol):
        """The interface of both bindings. C pointers are addresses, and NULL is 0.

        "Native" objects are the binding's own (a ctypes array or structure, a cffi cdata). Their
        fields and items are read and set as numbers on either binding; for addresses, text and
        nested structs there is a method.
        """

        @property
        def functions(self) -> Any:
            """The C functions as attributes: integers and bytes in, an integer or bytes out.
            A pointer that comes back as NULL is 0 or None."""

        def array(self, ctype: str, values: Any) -> Any:
            """A native array of the numbers in a list, or of a number of zeros."""

        def array_at(self, ctype: str, address: int, count: int) -> Any:
            """The native array that lies at an address. Keeps nothing alive."""

        def text(self, array: Any) -> bytes:
            """An array of char up to its first zero."""

        def struct(self, name: str) -> Any:
            """A new struct, all zero."""

        def struct_at(self, name: str, address: int) -> Any:
            """The struct that lies at an address. Keeps nothing alive."""

        def size(self, native: Any) -> int:
            """Bytes of a native struct."""

        def address(self, native: Any) -> int:
            """Address of a native array, struct or callback."""

        def nested(self, struct: Any, field: str) -> Any:
            """A struct within a struct, in place. Keeps nothing alive."""

        def get_address(self, struct: Any, field: str) -> int:
            """Value of a field that is a pointer or a callback."""

        def set_address(self, struct: Any, field: str, address: int) -> None:
            """Set a field that is a pointer or a callback."""

        def get_text(self, struct: Any, field: str) -> bytes:
            """Value of a field that is an array of char."""

        def copy(self, to: Any, source: Any) -> None:
            """Copy one native struct over another of the same type."""

        def callback(self, kind: str, function: Callable[..., Any]) -> Any:
            """A C function that calls `function` with integers."""

        def function_at(self, kind: str, address: int) -> Callable[..., Any]:
            """The C function at an address, to be called with integers."""

        def attach(self, object_type: int, namespace: int) -> int:
            """dlx_python_attach(), without releasing the GIL if the binding can."""


ABI_VERSION = 1
# The file's name; on Linux its soname. CMakeLists.txt installs the library under it.
_NAMES = {
    "linux": f"libdlx.so.{ABI_VERSION}",
    "win32": "dlx.dll",
    "darwin": f"libdlx.{ABI_VERSION}.dylib",
}
_NAME = _NAMES.get(sys.platform, _NAMES["linux"])


def _setting(name: str) -> str | None:
    """A variable of the environment, or None if Python runs with -E or -I."""
    return None if sys.flags.ignore_environment else os.environ.get(name)


def _beside(name: str) -> list[str]:
    # The package has one folder, or two if `pip install -e` put the built library elsewhere.
    return [os.path.join(os.path.abspath(folder), name) for folder in sys.modules["dlx"].__path__]


def _candidates() -> list[str]:
    chosen = _setting("DLX_LIBRARY")
    return [chosen] if chosen else [*_beside(_NAME), _NAME]


def _mismatch(said: str) -> str:
    """Lines for a library of another system, processor or C library."""
    from dlx._lib import mismatch

    chosen = _setting("DLX_LIBRARY")
    if chosen:
        return mismatch.explain([chosen], said, "DLX_LIBRARY has to name another file")
    files = [file for name in _NAMES.values() for file in _beside(name)]
    return mismatch.explain(
        files, said, "`pip install --force-reinstall libdlx` gets the one for this machine"
    )


def _binding() -> tuple[str, Callable[[str], Backend]]:
    name = _setting("DLX_BINDING") or "ctypes"
    if name == "ctypes":
        from dlx._lib import binding_ctypes

        return name, binding_ctypes.Library
    if name == "cffi":
        try:
            from dlx._lib import binding_cffi
        except ImportError as error:
            raise ImportError(
                f"dlx: DLX_BINDING is cffi, but cffi cannot be imported ({error}); install it"
                ' (pip install "libdlx[cffi]"), or use DLX_BINDING=ctypes'
            ) from error
        return name, binding_cffi.Library
    raise ImportError(f"dlx: DLX_BINDING must be ctypes or cffi (got {name!r})")


def _load(make: Callable[[str], Backend]) -> tuple[str, Backend]:
    """Load the first candidate that works. Raises ImportError that lists all of them."""
    failures = []
    for candidate in _candidates():
        try:
            library = make(candidate)
            version = library.functions.dlx_abi_version()
        except UnicodeDecodeError as error:
            # The loader's message contains the bytes of a path that is not UTF-8.
            said = error.object.decode("utf-8", "backslashreplace")
            failures.append(f"  {candidate}: {said}")
            continue
        except (OSError, AttributeError, UnicodeEncodeError) as error:
            failures.append(
                f"  {candidate}: {error}"
            )  # UnicodeEncodeError: cffi takes only paths in UTF-8
            continue
        if version == ABI_VERSION:
            return candidate, library
        failures.append(f"  {candidate}: its ABI version is {version}, expected {ABI_VERSION}")
    source = "DLX_LIBRARY names it" if _setting("DLX_LIBRARY") else "DLX_LIBRARY is not set"
    if os.environ.get("DLX_LIBRARY") and sys.flags.ignore_environment:
        source = "DLX_LIBRARY is ignored, because Python runs with -E or -I"
    said = "\n".join(failures)
    raise ImportError(
        f"dlx: cannot load libdlx ({source}). Tried:\n{said}{_mismatch(said)}", name="dlx"
    )


binding, _make = _binding()
path, backend = _load(_make)
attach = backend.attach
