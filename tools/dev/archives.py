"""The archive for C and C++ beside each platform's wheel: headers, both libraries, CMake package, dlx.pc."""

from __future__ import annotations

import io
import lzma
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path

SUFFIX = ".tar.xz"
COMPONENT = "Unspecified"  # CMake's name for what is no part of the wheel


def pack(tree: Path, folder: Path, name: str, epoch: int) -> Path:
    """Installs the build tree and packs it into FOLDER/NAME.tar.xz, with the same bytes for the same files.
    xz finds what the two libraries have in common, which takes half the space of gzip or zip."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / name
        command: list[str | Path] = [
            "cmake",
            "--install",
            tree,
            "--prefix",
            root,
            "--component",
            COMPONENT,
        ]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        files = sorted(path for path in root.rglob("*") if path.is_symlink() or path.is_file())
        return _tar(folder / f"{name}{SUFFIX}", root.parent, files, epoch)


def _tar(out: Path, base: Path, files: list[Path], epoch: int) -> Path:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for file in files:
            entry = tarfile.TarInfo(str(file.relative_to(base)))
            entry.mtime = epoch
            if file.is_symlink():
                entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(file)
                archive.addfile(entry)
                continue
            entry.mode = 0o755 if os.access(file, os.X_OK) else 0o644
            entry.size = file.stat().st_size
            with file.open("rb") as content:
                archive.addfile(entry, content)
    out.write_bytes(lzma.compress(data.getvalue()))
    return out
