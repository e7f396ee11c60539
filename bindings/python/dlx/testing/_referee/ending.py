"""Objects that stay alive until Python ends, and are freed then."""

from __future__ import annotations

import ctypes
import sys
import types

_MODULE = "dlx_referee_kept"


def keep(*objects: object) -> None:
    """Keep objects in a module of their own: Python frees its modules while it ends."""
    module = sys.modules.setdefault(_MODULE, types.ModuleType(_MODULE))
    kept = vars(module).setdefault("objects", [])
    kept.extend(objects)


def bytes_for_good(content: bytes) -> int:
    """The address of a copy that is never freed."""
    room = ctypes.create_string_buffer(content, len(content))
    keep(room)
    return ctypes.addressof(room)
