"""docs/conformance.md: `__dlpack_device__`."""

import enum

import pytest

import dlx
from dlpack_ctypes import Imported, Producer


@pytest.mark.parametrize(
    "device", [(1, 0), (2, 1), (3, 0), (4, 0), (7, 0), (8, 0), (9, 0), (10, 2), (13, 0), (14, 5)]
)
def test_item_63_device_is_a_pair_of_ints(device):
    got = dlx.from_dlpack(Producer(device=device)).__dlpack_device__()

    assert got == device
    assert type(got) is tuple
    assert all(isinstance(number, int) for number in got)


class DLDeviceType(enum.Enum):  # as the standard annotates it: tuple[Enum, int]
    CPU = 1
    UNKNOWN = "cpu"


def test_item_63_the_type_may_be_a_member_of_an_enum():
    class Library(Producer):
        def __dlpack_device__(self):
            return device, 0

    device = DLDeviceType.CPU
    assert dlx.from_dlpack(Library()).__dlpack_device__() == (1, 0)
    device = DLDeviceType.UNKNOWN
    with pytest.raises(TypeError, match="__dlpack_device__"):
        dlx.from_dlpack(Library())


@pytest.mark.parametrize("device", [(1, 0), (2, 1), (10, 0)])
def test_item_64_capsule_s_device_equals_it(device):
    tensor = dlx.from_dlpack(Producer(device=device))
    got = Imported(tensor.__dlpack__(max_version=(1, 3), stream=None if device[0] == 1 else -1))

    assert got.device == tensor.__dlpack_device__()
    got.free()
