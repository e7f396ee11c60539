"""PyInstaller's hook for dlx: adds the library, which import statements do not show."""

from __future__ import annotations

import glob
import importlib.util
import os

_spec = importlib.util.find_spec("dlx")
_folders = (_spec and _spec.submodule_search_locations) or ()
binaries = [
    (library, "dlx")
    for folder in _folders
    for library in glob.glob(os.path.join(glob.escape(folder), "libdlx.so.*"))
]
