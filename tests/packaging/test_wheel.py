"""One py3-none wheel works on every CPython, has no dependencies, and contains the right files."""

from __future__ import annotations

import configparser
import email
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from scikit_build_core.settings.skbuild_read_settings import SettingsReader

from packaging_support import HERE, ROOT, run

pytestmark = pytest.mark.heavy

PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
SYSTEM_LIBRARIES = {"libc", "libm", "libdl", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64"}


def version() -> str:
    header = (ROOT / "include/dlx/dlx.h").read_text()
    return ".".join(re.findall(r"#define DLX_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))


def find_python(wanted: str) -> str | None:
    """Return a CPython of that version from PATH or pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{wanted}"), *sorted(pyenv.glob(f"{wanted}.*/bin/python"))]
    script = "import sys; print('%s %d.%d' % (sys.implementation.name, *sys.version_info[:2]))"
    for python in filter(None, candidates):
        done = subprocess.run([python, "-c", script], capture_output=True, text=True)
        if done.stdout.strip() == f"cpython {wanted}":
            return str(python)
    return None


def test_name_and_metadata(wheel):
    assert re.fullmatch(rf"libdlx-{re.escape(version())}-py3-none-\w*linux\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        [name] = [n for n in archive.namelist() if n.endswith("/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))

    assert metadata["Name"] == "libdlx"
    assert metadata["Version"] == version()
    assert metadata["Requires-Python"] == ">=3.9"
    needed = metadata.get_all("Requires-Dist") or []
    assert all("extra ==" in line for line in needed), needed


def test_holds_the_package_one_library_and_the_headers(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert [n for n in names if ".so" in n] == ["dlx/libdlx.so.1"]
    package = ROOT / "bindings/python/dlx"
    missing = {f"dlx/{p.relative_to(package)}" for p in package.rglob("*.py")} - set(names)
    assert not missing
    assert {"dlx/py.typed", "dlx/include/dlx/dlx.h", "dlx/include/dlx/dlpack.h"} <= set(names)
    assert not [n for n in names if n.endswith(("BUILD", ".cc", ".map", ".txt", ".cmake"))
                and "dist-info" not in n]  # fmt: skip


def entry_points(wheel):
    with zipfile.ZipFile(wheel) as archive:
        [name] = [n for n in archive.namelist() if n.endswith("/entry_points.txt")]
        points = configparser.ConfigParser()
        points.read_string(archive.read(name).decode())
    return points


def test_tells_dask_how_large_a_tensor_is(wheel):
    points = entry_points(wheel)

    assert dict(points["dask.sizeof"]) == {"dlx": "dlx._compute.for_dask:register_sizeof"}


def test_tells_pyinstaller_of_the_library(wheel, unpacked):
    points = entry_points(wheel)
    assert dict(points["pyinstaller40"]) == {"hook-dirs": "dlx._pyinstaller:hook_directories"}

    script = """
import runpy
from dlx._pyinstaller import hook_directories
[folder] = hook_directories()
print(runpy.run_path(folder + "/hook-dlx.py")["binaries"])
"""
    said = run(sys.executable, "-c", script, env={"PYTHONPATH": str(unpacked)})
    assert said.strip() == str([(str(unpacked / "dlx/libdlx.so.1"), "dlx")])


def test_gives_pytest_its_plugin(wheel, unpacked, tmp_path):
    assert dict(entry_points(wheel)["pytest11"]) == {"dlx_check": "dlx_pytest"}

    (tmp_path / "mine.py").write_text(
        "import numpy\ndef make():\n    return numpy.zeros((2, 3), 'f4')\n"
    )
    said = run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--dlx-check", "mine:make",
        cwd=tmp_path, env={"PYTHONPATH": f"{unpacked}{os.pathsep}{tmp_path}"},
    )  # fmt: skip
    assert re.search(r"\d\d passed, \d+ skipped", said)


def test_library_needs_only_the_system_and_is_small(unpacked):
    library = unpacked / "dlx/libdlx.so.1"
    dynamic = run("readelf", "-d", library)

    needed = {n.split(".so")[0] for n in re.findall(r"NEEDED.*\[(.*)\]", dynamic)}
    assert needed <= SYSTEM_LIBRARIES
    assert "[libdlx.so.1]" in dynamic
    assert "NODELETE" in dynamic
    assert ".symtab" not in run("readelf", "-SW", library)
    assert library.stat().st_size <= 1536 << 10  # as in tests/abi/exports.sh


@pytest.mark.parametrize("wanted", PYTHONS)
def test_smoke(unpacked, wanted):
    python = find_python(wanted)
    if python is None:
        pytest.skip(f"no CPython {wanted} on PATH or among pyenv's")

    said = run(python, "-s", HERE / "smoke.py", env={"PYTHONPATH": str(unpacked)})

    assert f"dlx {version()} works on Python {wanted}." in said


def test_pip_installs_it_into_an_empty_environment(wheel, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "--no-index", wheel)

    assert f"dlx {version()} works" in run(python, HERE / "smoke.py", cwd=tmp_path)


def test_editable_install_finds_the_library(wheel, wheel_tree, tmp_path):
    run(sys.executable, HERE / "build.py", tmp_path, wheel_tree, "editable")
    [editable] = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "--no-index", editable)

    assert f"dlx {version()} works" in run(python, HERE / "smoke.py", cwd=tmp_path)
    package = run(python, "-c", "import dlx; print(dlx.__file__)", cwd=tmp_path)
    assert Path(package.strip()).parent == ROOT / "bindings/python/dlx"


def test_source_distribution_builds_the_same_wheel(wheel, tmp_path):
    [sdist] = wheel.parent.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path)
    [source] = tmp_path.iterdir()
    pages = {p.relative_to(ROOT) for p in (ROOT / "docs").rglob("*") if p.is_file()}
    assert pages <= {p.relative_to(source) for p in source.rglob("*")}
    run(sys.executable, source / "tests/packaging/build.py", tmp_path / "dist")
    [again] = (tmp_path / "dist").glob("*.whl")

    assert again.name == wheel.name
    with zipfile.ZipFile(again) as ours, zipfile.ZipFile(wheel) as theirs:
        assert sorted(ours.namelist()) == sorted(theirs.namelist())


def test_source_distributions_do_not_walk_through_ignored_folders():
    """Those of the tests are large, and wine's link to the root of the file system."""
    settings = SettingsReader.from_file(ROOT / "pyproject.toml").settings
    assert settings.sdist.inclusion_mode == "default"  # "classic" before 0.12


def test_c_program_finds_the_library_of_the_wheel(unpacked, tmp_path):
    [source] = re.findall(r"^```c\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    (tmp_path / "program.c").write_text(source)
    said = run(sys.executable, "-m", "dlx", "config", env={"PYTHONPATH": str(unpacked)})
    run("gcc", tmp_path / "program.c", *shlex.split(said), "-o", tmp_path / "program")

    assert run(tmp_path / "program", env={"LD_LIBRARY_PATH": ""}) == "2 5\n"


def test_c_extension_uses_the_library_of_the_wheel(unpacked, tmp_path):
    """It is built with the wheel's headers and library. At run time, `import dlx` has loaded the library."""
    extension = tmp_path / "consumer.so"
    said = run(sys.executable, "-m", "dlx", "config", env={"PYTHONPATH": str(unpacked)})
    assert str(unpacked / "dlx") in said
    run("gcc", "-shared", "-fPIC", HERE / "consumer.c", *shlex.split(said), "-o", extension)

    script = f"import dlx, ctypes; raise SystemExit(ctypes.CDLL({str(extension)!r}).consume())"
    run(sys.executable, "-c", script, env={"PYTHONPATH": str(unpacked)}, cwd=tmp_path)
