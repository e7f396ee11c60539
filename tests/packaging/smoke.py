"""What each interpreter must do with the wheel and its standard library alone."""

from __future__ import annotations

import array
import gc
import sys

import dlx


def main() -> None:
    numbers = array.array("f", range(12))
    tensor = dlx.asarray(numbers)
    assert tensor.shape == (12,), tensor.shape
    assert tensor.data_ptr == numbers.buffer_info()[0], "array.array was copied"

    grid = tensor.reshape((3, 4))
    column = grid[:, 1]
    assert column.tolist() == [1.0, 5.0, 9.0], column.tolist()
    assert column.strides == (4,), column.strides

    numbers[5] = 50.0
    assert column.tolist() == [1.0, 50.0, 9.0], "the view does not show what was written"
    packed = column.contiguous()
    assert bytes(memoryview(packed)) == array.array("f", [1, 50, 9]).tobytes()

    again = dlx.from_dlpack(grid.permute_dims((1, 0)))
    assert again.data_ptr == tensor.data_ptr
    assert again.shape == (4, 3)
    capsule = again.__dlpack__(max_version=(1, 3))
    assert "dltensor_versioned" in repr(capsule)
    del capsule, tensor, grid, column, again
    gc.collect()

    try:
        dlx.from_dlpack(object())
    except (TypeError, AttributeError):
        pass
    else:
        raise AssertionError("dlx accepted an object without DLPack")
    loaded = {"numpy", "torch", "cffi", "inspect", "dataclasses"} & set(sys.modules)
    assert not loaded, f"import dlx loads {loaded}"
    print(f"dlx {dlx.__version__} works on Python {sys.version.split()[0]}")


main()
