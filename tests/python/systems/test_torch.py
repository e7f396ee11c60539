"""PyTorch: every dtype and layout both ways, what would abort the process, and the page's examples."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

torch = arrays.require("torch")

SHARED = {"contiguous", "column-major", "permuted", "rows", "columns", "broadcast", "0-d", "5 axes",
          "length 1, reversed", "half aligned", "element aligned", "unaligned"}  # fmt: skip
NAMES = [*arrays.NUMPY_NAMES, "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
         "float8_e5m2fnuz", "float8_e8m0fnu"]  # fmt: skip


def address(x):
    return x.data_ptr()


def values(x):
    return x.tolist()


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    arrays.check_layout(layout, "torch", SHARED, address, values)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name):
    result = arrays.check_dtype(name, torch, address)

    assert str(result.dtype) == f"torch.{name}"


@pytest.mark.parametrize("name", ["complex32", "float4_e2m1fn_x2"])
def test_dtypes_that_only_torch_has(name):
    source = torch.zeros(4, dtype=torch.uint32).view(getattr(torch, name))
    tensor = dlx.asarray(source)
    result = dlx.convert(tensor, "torch", copy=False)

    assert result.dtype == source.dtype
    assert result.data_ptr() == source.data_ptr()


@pytest.mark.parametrize("name", ["int4", "uint4", "float4_e2m1fn", "float8_e4m3", "float8_e3m4"])
def test_dtypes_that_torch_has_not_are_refused_with_the_way_out(name):
    with pytest.raises(dlx.UnsupportedError, match=r"torch takes no .*dtype="):
        dlx.convert(arrays.numpy_array(name), "torch")


def test_a_tensor_of_torch_is_returned_as_it_is_with_its_graph():
    source = torch.ones(2, requires_grad=True)

    assert dlx.convert(source, "torch") is source
    parameter = torch.nn.Parameter(torch.ones(2))
    assert dlx.convert(parameter, torch) is parameter
    with pytest.raises(dlx.UnsupportedError, match=r"\.detach\(\)"):
        dlx.convert(source, "numpy")


def test_lazy_bits_are_resolved_in_a_copy_or_refused():
    for lazy in (torch.tensor([1 + 2j]).conj(), torch.tensor([1 + 2j]).conj().imag):
        assert dlx.convert(lazy, "numpy").tolist() == lazy.tolist()
        with pytest.raises(dlx.CopyRefusedError):
            dlx.convert(lazy, "numpy", copy=False)


@pytest.mark.parametrize(
    ("make", "way_out"),
    [
        (lambda: torch.eye(2).to_sparse(), "`.to_dense()`"),
        (lambda: torch.eye(2).to_sparse_csr(), "`.to_dense()`"),
        (lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]), "`.unbind()`"),
        (lambda: torch.zeros(4, dtype=torch.bits8), "`.view(torch.uint8)`"),
        (
            lambda: torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False])),
            "`.to_tensor(value)`",
        ),
        (lambda: torch.ones(2, device="meta"), "`torch.empty_like"),
        (lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), "`.int_repr()`"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_has_no_plain_memory_is_refused_with_the_way_out(make, way_out):
    with pytest.raises(dlx.UnsupportedError) as caught:
        dlx.convert(make(), "numpy")
    assert way_out in str(caught.value)


def test_writes_to_read_only_data_do_not_reach_it():
    source = arrays.LAYOUTS["read-only"]()
    result = dlx.convert(source, "torch")
    result += 1

    assert source.tolist() == arrays.aligned(3, 4).tolist()


@pytest.mark.parametrize("policy", ["share", "copy", "error"])
def test_negative_strides_do_not_abort_whatever_the_export_policy(policy):
    arrays.run_alone(
        "import dlx, numpy, torch\n"
        f"dlx.set_export_negative_strides({policy!r})\n"
        "for x in (numpy.arange(4.)[::-1], numpy.ones((1, 3))[::-1], numpy.ones((0, 3))[:, ::-1]):\n"
        "    assert dlx.convert(x, 'torch').tolist() == x.tolist()"
    )


def test_lifetimes():
    def make():
        tensor = torch.arange(8.0)
        return tensor, tensor.untyped_storage()

    with_storage = make()
    assert dlx.asarray(with_storage[0]).tolist() == with_storage[0].tolist()

    released = []
    base = arrays.aligned(4)
    wrapped = dlx.from_pointer(
        base.ctypes.data, (4,), "float32", on_release=lambda: released.append(1)
    )
    result = dlx.convert(wrapped, "torch")
    view = result[1:]
    del wrapped, result
    assert view.tolist() == [1, 2, 3]
    assert not released
    del view
    dlx.asarray([0])
    assert released == [1]


@pytest.mark.heavy
def test_no_leak():
    arrays.check_no_leak(lambda x: dlx.convert(x, "torch", copy=True))
    arrays.check_no_leak(lambda x: dlx.asarray(torch.from_numpy(x) + 1))


# ---- the examples of NumPy's page ---------------------------------------------------------------


def test_example_a_view_of_a_torch_tensor():
    x_torch = torch.arange(5)
    x_np = dlx.convert(x_torch, "numpy")
    assert x_np.tolist() == [0, 1, 2, 3, 4]
    x_torch[1] = 100
    assert x_torch.tolist() == [0, 100, 2, 3, 4]
    assert x_np.tolist() == [0, 100, 2, 3, 4]
    x_np[1] = 1  # unlike the page's, which is read-only
    assert x_torch[1] == 1


def test_example_nested_lists_of_both_libraries():
    data = [[1, 2], [3, 4]]
    x_np, x_tensor = numpy.array(data), torch.tensor(data)

    assert dlx.asarray(x_np).tolist() == dlx.asarray(x_tensor).tolist() == data
    assert type(dlx.convert(x_np, "torch")) is torch.Tensor
    assert type(dlx.convert(x_tensor, "numpy")) is numpy.ndarray


def test_example_read_only_arrays_can_be_exported():
    x_np = numpy.arange(5)
    x_np.flags.writeable = False

    assert dlx.convert(x_np, "torch").tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(dlx.CopyRefusedError, match="read-only"):
        dlx.convert(x_np, "torch", copy=False)


def test_example_data_on_a_gpu_needs_consent():
    """The page's `device='cuda'` example, without a GPU: a tensor that says it is on one."""
    base = arrays.aligned(4)
    tensor = dlx.from_pointer(base.ctypes.data, (4,), "float32", device="cuda:0")

    with pytest.raises((TypeError, BufferError, RuntimeError)):  # as the library pleases
        numpy.from_dlpack(tensor)
    with pytest.raises(dlx.DeviceRefusedError, match="force=True"):
        dlx.convert(tensor, "numpy")


def test_a_class_of_torch_is_what_comes_or_an_error():
    source = arrays.aligned(3)
    parameter = torch.nn.Parameter(torch.ones(2))

    for _ in range(3):
        assert type(dlx.convert(source, torch.Tensor)) is torch.Tensor
        for to in (torch.nn.Parameter, torch.Size):
            with pytest.raises(dlx.UnsupportedError, match=rf"{to.__name__}.*torch\.Tensor"):
                dlx.convert(source, to)
            with pytest.raises((dlx.UnsupportedError, TypeError)):
                dlx.convert(torch.ones(2), to)
        assert dlx.convert(parameter, torch.nn.Parameter) is parameter


def test_classes_that_look_at_the_value_are_asked_each_time():
    floats, integers = torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.int32)
    parameter = torch.ones(2).requires_grad_()
    parameter._is_param = True  # makes isinstance(parameter, Parameter) true, whatever its class

    for _ in range(3):
        assert dlx.convert(floats, torch.FloatTensor) is floats
        with pytest.raises(dlx.UnsupportedError, match="FloatTensor"):
            dlx.convert(integers, torch.FloatTensor)
        assert dlx.convert(parameter, torch.nn.Parameter) is parameter
        with pytest.raises(dlx.UnsupportedError, match="Parameter"):
            dlx.convert(integers, torch.nn.Parameter)
