"""The archive for C and C++ beside each platform's wheel: headers, both libraries, CMake package, dlx.pc."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

COMPONENT = "Unspecified"  # CMake's name for what is no part of the wheel


def pack(tree: Path, folder: Path, name: str, epoch: int) -> Path:
    """Installs the build tree and packs it into FOLDER/NAME.tar.gz, for Windows NAME.zip, with the same
    bytes for the same files."""
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
        if "windows" in name:
            return _zip(folder / f"{name}.zip", root.parent, files, epoch)
        return _tar(folder / f"{name}.tar.gz", root.parent, files, epoch)


def _zip(out: Path, base: Path, files: list[Path], epoch: int) -> Path:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(str(file.relative_to(base)), time.gmtime(epoch)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, file.read_bytes())
    return out


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
    out.write_bytes(gzip.compress(data.getvalue(), mtime=0))
    return out
