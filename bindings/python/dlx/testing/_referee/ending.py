"""Objects that stay alive until Python ends, and are freed then."""

from __future__ import annotations

import sys
import types

_MODULE = "dlx_referee_kept"


def keep(*objects: object) -> None:
    """Keep objects in a module of their own: Python frees its modules while it ends."""
    module = sys.modules.setdefault(_MODULE, types.ModuleType(_MODULE))
    kept = vars(module).setdefault("objects", [])
    kept.extend(objects)
