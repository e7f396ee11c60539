"""What Python tells about devices."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from fake_driver import Memory

import dlx


def test_devices_lists_every_one():
    names = [device.name for device in dlx.devices()]
    assert names[:3] == ["cpu", "cuda:0", "cuda:1"]
    assert [name for name in names if name.startswith("rocm")] == ["rocm:0", "rocm:1"]
    assert len(set(names)) == len(names)  # pinned and managed memory is no device of its own


def test_what_a_device_says_about_itself():
    device = dlx.Device("cuda:1")
    assert device.description == "Fake GPU 1"
    assert device.architecture == "sm_80"
    assert device.memory_total == 8 << 30
    assert device.pci_id == "0000:3c:00.0"
    assert device.uuid.startswith("GPU-")
    assert device.driver_version.count(".") == 1
    assert device.unified_memory is True
    assert device.count == 2
    dlx.empty(1, device=device)
    assert 0 < device.memory_free <= device.memory_total
    assert dlx.Device("rocm:0").architecture.startswith("gfx")
    assert dlx.Device("cpu").count == 1
    assert dlx.Device("vulkan").count == 0
    with pytest.raises(dlx.UnavailableError):
        _ = dlx.Device("cuda:2").architecture
    device.synchronize()


def test_what_is_not_used_yet_is_not_started():
    """Asking for the free memory would make a context, so it is unknown until somebody has one."""
    code = "import dlx; d = dlx.Device('cuda:0'); print(d.memory_free, d.description)"
    assert run(code) == "None Fake GPU 0\n"


@pytest.mark.parametrize("device", [0, 1])
def test_where_pointers_are(device):
    memory, managed = Memory(device), Memory(device, managed=True)
    assert dlx.device_of(memory.address) == f"cuda:{device}"
    assert dlx.device_of(memory.address + 15) == f"cuda:{device}"
    assert dlx.device_of(managed.address) == "cuda_managed:0"
    assert dlx.device_of(dlx.empty(3, device="cuda_host").data_ptr) == "cuda_host:0"
    assert dlx.device_of(dlx.empty(3, device=f"rocm:{device}").data_ptr) == f"rocm:{device}"
    assert dlx.device_of(dlx.empty(3).data_ptr) == "cpu"
    memory.close()
    managed.close()


def test_asking_about_a_pointer_initialises_no_driver():
    code = (
        "import dlx, ctypes, os\n"
        "t = dlx.asarray([1, 2]); print(dlx.device_of(t.data_ptr), repr(t))\n"
        "fake = ctypes.CDLL(os.environ['DLX_CUDA_PATH'])\n"
        "fake.fake_calls.restype = ctypes.c_int64\n"
        "print(fake.fake_calls(b'cuInit'))"
    )
    assert run(code).endswith("\n0\n")


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def info(**environment):
    return run("from dlx._cli import info; print(info.report())", **environment)


def test_info_shows_every_device():
    text = info()
    for line in (
        "cuda:0",
        "cuda:1",
        "rocm:1",
        "Fake GPU 0",
        "sm_80",
        "0000:3b:00.0",
        "driver 12.4",
    ):
        assert line in text, text


def test_info_goes_on_after_a_bad_device():
    code = (
        "import ctypes, os\n"
        "fake = ctypes.CDLL(os.environ['DLX_CUDA_PATH'])\n"
        "fake.fake_fail_calls_of(b'cuDeviceGetName', 999)\n"
        "from dlx._cli import info; print(info.report())"
    )
    text = run(code)
    assert len(re.findall(r"cuda:\d +\S+: cuDeviceGetName failed: CUDA_ERROR_UNKNOWN", text)) == 2
    assert "rocm:1" in text
    assert "Array libraries" in text


def test_info_says_why_there_are_no_kernels():
    code = (
        "import ctypes, os, dlx\n"
        "fake = ctypes.CDLL(os.environ['DLX_CUDA_PATH'])\n"
        "from dlx._cli import info\n"
        "assert 'without the kernels' not in info.report()\n"
        "fake.fake_fail_calls_of(b'cuModuleLoadData', 209)\n"
        "t = dlx.empty((64, 64), device='cuda:1').permute_dims((1, 0)).contiguous()\n"
        "t.synchronize()\n"
        "print(info.report())"
    )
    text = run(code)
    missing = (
        "strided copies do without the kernels turn, tiles, elements: cuModuleLoadData failed: "
    )
    assert text.count(missing) == 1
    assert text.index(missing) > text.index("cuda:1")


def test_info_says_why_there_is_none_and_where_it_looked():
    text = info(DLX_CUDA_PATH="/nowhere/libcuda.so", DLX_HIP_PATH="/nowhere/libamdhip64.so")
    assert "/nowhere/libcuda.so" in text
    assert "/nowhere/libamdhip64.so" in text
    assert "cuda:0" not in text
    reasons = run(
        "from dlx.device import missing_devices; print(missing_devices()['cuda'])",
        DLX_CUDA_PATH="/nowhere/libcuda.so",
    )
    assert "/nowhere/libcuda.so" in reasons


def test_a_forked_child_is_told():
    code = (
        "import dlx, os\n"
        "t = dlx.empty(3, device='cuda:0')\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try:\n"
        "        t.to_device('cpu')\n"
        "    except dlx.Error as error:\n"
        "        print(type(error).__name__, error, flush=True)\n"
        "    del t\n"
        "    os._exit(0)\n"
        "print(os.waitpid(pid, 0)[1])\n"
    )
    text = run(code)
    assert "fork" in text
    assert text.endswith("\n0\n")


def test_what_is_no_address():
    for pointer in (0, -1, 2**64, 2**64 + 4096):  # ctypes would keep the lower 64 bits
        with pytest.raises(ValueError, match=r"`pointer` is NULL|`ptr` is not"):
            dlx.device_of(pointer)
    for pointer in (None, 1.5, "1"):
        with pytest.raises(TypeError, match="`ptr`"):
            dlx.device_of(pointer)
