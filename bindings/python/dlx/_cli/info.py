"""`python -m dlx info`: the library, its devices, and the installed array libraries."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import dlx
from dlx import _native
from dlx._lib import capi, library
from dlx.errors import DriverError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["compiler_arguments", "installed_libraries", "report"]

# Distribution on PyPI -> name of the library. Only the metadata is read.
_LIBRARIES = {
    "numpy": "NumPy",
    "torch": "PyTorch",
    "pyarrow": "PyArrow",
    "jax": "JAX",
    "tensorflow": "TensorFlow",
    "tensorflow-cpu": "TensorFlow (CPU)",
    "cupy": "CuPy",
    "cupy-cuda12x": "CuPy (CUDA 12)",
    "cupy-cuda13x": "CuPy (CUDA 13)",
    "paddlepaddle": "PaddlePaddle",
    "mlx": "MLX",
    "warp-lang": "Warp",
    "dpnp": "dpnp",
    "apache-tvm-ffi": "TVM FFI",
    "onnxruntime": "ONNX Runtime",
    "ml-dtypes": "ml_dtypes",
    "pandas": "pandas",
    "polars": "Polars",
    "duckdb": "DuckDB",
    "xarray": "xarray",
    "dask": "Dask",
    "awkward": "Awkward Array",
    "scipy": "SciPy",
    "scikit-image": "scikit-image",
    "opencv-python": "OpenCV",
    "pillow": "Pillow",
    "numba": "Numba",
    "nanoarrow": "nanoarrow",
    "cffi": "cffi",
}


def installed_libraries() -> dict[str, str]:
    """Name -> version of the installed array libraries, without importing them."""
    from importlib import metadata

    found = {}
    for distribution, name in _LIBRARIES.items():
        try:
            found[name] = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return found


def _memory(free: int | None, total: int | None) -> str:
    sizes = [f"{count / 2**30:.1f} GiB" for count in (free, total) if count is not None]
    return " free of ".join(sizes) or "memory unknown"


def _device_lines() -> Iterator[tuple[str, str]]:
    from dlx.device import missing_devices

    for device in dlx.devices():
        try:
            properties = capi.device_properties(*device)
        except DriverError as error:  # show the other devices too
            yield device.name, str(error)
            continue
        memory = _memory(properties["memory_free"], properties["memory_total"])
        yield device.name, f"{properties['name']}, {memory}"
        facts = [
            properties["architecture"],
            f"PCI {properties['pci_id']}" if properties["pci_id"] else "",
            properties["uuid"],
            f"driver {properties['driver_version']}" if properties["driver_version"] else "",
            "unified memory" if properties["unified_memory"] and device.type != "cpu" else "",
        ]
        if any(facts):
            yield "", ", ".join(filter(None, facts))
        if properties["no_kernels"]:
            yield "", f"strided copies do without the kernels {properties['no_kernels']}"
    by_reason: dict[str, list[str]] = {}
    for name, reason in missing_devices().items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        yield "none of", ", ".join(names)
        yield "", reason


def _library_lines() -> Iterator[tuple[str, str]]:
    yield "dlx", dlx.__version__
    yield (
        "library",
        os.path.abspath(library.path) if os.path.exists(library.path) else library.path,
    )
    yield "ABI", str(capi.abi_version())
    yield "binding", library.binding
    yield "Python", f"{sys.implementation.name} {sys.version.split()[0]}, {sys.executable}"
    yield "threads", str(dlx.get_num_threads())
    yield "copy engine", _copy_engine()
    yield "negative strides", dlx.get_export_negative_strides()


def _copy_engine() -> str:
    """The copy engine's plan for a transposing copy: the kind of kernel and its instructions."""
    both = dlx.empty((2, 512, 512))
    dst, src = both[0], both[1].T  # handles keep no Tensor alive
    return capi.describe_copy(_native._handle(dst), _native._handle(src))


def report() -> str:
    """The text that `python -m dlx info` prints."""
    sections = {
        "Library": list(_library_lines()),
        "Devices": list(_device_lines()),
        "Array libraries": list(installed_libraries().items()),
    }
    width = max(len(name) for lines in sections.values() for name, _ in lines) + 2
    text = []
    for title, lines in sections.items():
        text.append(title)
        text += [f"  {name:<{width}}{value}" for name, value in lines] or ["  none"]
        text.append("")
    return "\n".join(text[:-1])


def compiler_arguments(*, cflags: bool = True, libs: bool = True) -> str:
    """The compiler arguments for a program or extension in C, quoted for a shell: the headers (unless
    `cflags=False`) and the library (unless `libs=False`).

    Programs and extensions load the library at its current path, unless `import dlx` has loaded one
    with the same soname before.
    """
    package = Path(__file__).resolve().parents[1]
    # A wheel has the headers in the package; the source tree and an installed prefix beside it.
    found = Path(library.path)
    folders = [
        package / "include",
        package.parents[2] / "include",
        found.parent.parent / "include",
    ]
    for folder in folders:
        if (folder / "dlx" / "dlx.h").is_file():
            break
    else:
        raise UnavailableError(
            "config: the headers are not installed; looked for dlx/dlx.h in "
            + ", ".join(map(str, folders))
        )
    link = [f"-l:{found.name}"]
    if found.is_file():
        found = found.resolve()
        link = [str(found), f"-Wl,-rpath,{found.parent}"]
        if "," in str(found.parent):  # -Wl would split the path at a comma
            link[1:] = ["-Xlinker", "-rpath", "-Xlinker", str(found.parent)]
    return shlex.join([f"-I{folder}"] * cflags + link * libs)
