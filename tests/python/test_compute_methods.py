"""The methods that code for duck arrays calls: those of an ndarray, with Tensors for results."""

import importlib.util

import pytest

import dlx

numpy = pytest.importorskip("numpy")

SOURCE = numpy.arange(12.0).reshape(3, 4)[::-1]
CALLS = {
    "all": [(), {"axis": 1, "keepdims": True}],
    "any": [(), {"axis": 0}],
    "argmax": [(), (1,)],
    "argmin": [(), {"axis": 0}],
    "argsort": [(), (0,)],
    "clip": [(2, 7), (3,), {"min": 3}, {"max": 3}, (None, 3)],
    "conj": [()],
    "conjugate": [()],
    "cumprod": [(0,)],
    "cumsum": [(), {"axis": 1}],
    "max": [(), (0,)],
    "mean": [(), {"axis": (0, 1)}],
    "min": [(), (1,)],
    "prod": [(), {"axis": 0, "dtype": "float32"}],
    "ravel": [(), ("F",)],
    "round": [(), (1,)],
    "std": [(), {"ddof": 1}],
    "sum": [(), (0,), {"axis": 1, "where": SOURCE > 2}],
    "swapaxes": [(0, 1), (-1, 0)],
    "take": [([0, 5],), {"indices": [2, 0], "axis": 1}],
    "var": [(), {"axis": 0}],
}


@pytest.mark.parametrize("name", CALLS)
def test_methods_are_numpy_s(name):
    tensor = dlx.asarray(SOURCE)
    for call in CALLS[name]:
        args, kwargs = ((), call) if isinstance(call, dict) else (call, {})
        result = getattr(tensor, name)(*args, **kwargs)
        expected = getattr(SOURCE, name)(*args, **kwargs)
        assert type(result) is dlx.Tensor
        assert result.dtype == expected.dtype
        assert result.tolist() == expected.tolist()
    assert getattr(dlx.Tensor, name).__doc__.startswith(f"`numpy.{name}`")


@pytest.mark.parametrize("axes", [(), (None,), (1, 0, 2), ((2, 0, 1),), ([-1, 0, 1],), (0, -1, 1)])
def test_transpose_is_a_view_as_numpy_s(axes):
    array = numpy.arange(24).reshape(2, 3, 4)
    view = dlx.asarray(array).transpose(*axes)

    assert view.data_ptr == array.ctypes.data
    numpy.testing.assert_array_equal(view.numpy(), array.transpose(*axes))


def test_transpose_without_axes_and_with_wrong_ones():
    assert dlx.asarray(3).transpose().shape == ()
    for wrong in ((0,), (0, 0), (2, 1), "ab", (0.5, 1)):
        with pytest.raises((ValueError, TypeError, IndexError)):
            dlx.asarray(SOURCE).transpose(*wrong)


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_flatten_copies_as_numpy_s_does(order):
    for array in (SOURCE, SOURCE.T, SOURCE[::-1].T, numpy.array(5), numpy.empty((0, 3))):
        tensor = dlx.asarray(array)
        flat = tensor.flatten(order)

        assert flat.tolist() == array.flatten(order).tolist()
        assert (flat.dtype, flat.shape) == (tensor.dtype, (array.size,))
        assert flat.data_ptr != tensor.data_ptr or not flat.size
        assert not flat.readonly
    with pytest.raises(ValueError, match="order"):
        dlx.asarray(SOURCE).flatten("B")
    assert dlx.asarray(SOURCE).swapaxes(0, 1).data_ptr == SOURCE.ctypes.data


def test_reshape_takes_the_extents_one_by_one_too():
    tensor = dlx.asarray(SOURCE)

    for extents in ((4, 3), (2, -1, 2), (-1, 1), (numpy.int64(6), dlx.asarray(2))):
        numpy.testing.assert_array_equal(
            tensor.reshape(*extents).numpy(), SOURCE.reshape(tuple(map(int, extents)))
        )
    assert tensor.reshape(4, 3, copy=True).data_ptr != tensor.data_ptr
    with pytest.raises(dlx.CopyRefusedError):
        tensor.T.reshape(2, 6, copy=False)
    for wrong in ((5, 5), (-1, -1), (4, "a"), ((4,), 3), (4, 3.0)):
        with pytest.raises((ValueError, TypeError)):
            tensor.reshape(*wrong)
    for keywords in ({"order": "F"}, {"shape": 3}, {"copy": 2}, {"copy": True, "order": "F"}):
        with pytest.raises(TypeError):
            tensor.reshape(4, 3, **keywords)


def test_out_and_views():
    tensor = dlx.asarray(numpy.arange(6.0))
    out = dlx.empty((), dtype="float64")

    assert tensor.sum(out=out) is out
    assert out.item() == 15
    assert tensor.ravel().data_ptr == tensor.data_ptr
    with pytest.raises(dlx.ReadOnlyError):
        tensor.sum(out=out.as_readonly())
    with pytest.raises(TypeError):
        dlx.Tensor.sum(3)


def test_parts_of_complex_numbers_are_views():
    tensor = dlx.asarray([[1 + 2j, 3 - 4j]])

    assert tensor.real.tolist() == [[1, 3]]
    assert tensor.imag.tolist() == [[2, -4]]
    assert tensor.imag.data_ptr == tensor.data_ptr + 8
    assert tensor.conj().tolist() == [[1 - 2j, 3 + 4j]]
    assert dlx.asarray([1.0, 2.0]).imag.tolist() == [0, 0]
    assert dlx.Tensor.real.__doc__.startswith("`numpy.real`")


def test_searchsorted():
    tensor = dlx.asarray([1, 3, 5])

    assert tensor.searchsorted(dlx.asarray([0, 3, 9]), side="right").tolist() == [0, 2, 3]


def test_nonzero():
    rows, columns = dlx.asarray(SOURCE).nonzero()

    assert type(rows) is type(columns) is dlx.Tensor
    assert [rows.tolist(), columns.tolist()] == [index.tolist() for index in SOURCE.nonzero()]


def test_clip_takes_out_and_names_as_before():
    tensor = dlx.asarray(SOURCE)
    out = dlx.empty(SOURCE.shape, dtype="float64")

    for result in (tensor.clip(2, 7, out), tensor.clip(2, max=7, out=out)):
        assert result is out
        assert out.tolist() == SOURCE.clip(2, 7).tolist()
    assert tensor.clip(a_min=2, a_max=7).tolist() == SOURCE.clip(2, 7).tolist()
    with pytest.raises(TypeError, match=r"^clip\(\) got multiple values for argument 'min'"):
        tensor.clip(2, min=2)


def test_astype():
    tensor = dlx.asarray(numpy.arange(6.0))

    assert tensor.astype("int16").tolist() == [0, 1, 2, 3, 4, 5]
    assert tensor.astype(dtype="int16", order="A").tolist() == [0, 1, 2, 3, 4, 5]  # as zarr does
    assert tensor.astype(numpy.float32).dtype == "float32"
    assert tensor.astype("f4").dtype == tensor.astype("single").dtype == "float32"  # NumPy's names
    assert tensor.astype("float64", copy=False).data_ptr == tensor.data_ptr
    assert tensor.astype("float64").data_ptr != tensor.data_ptr
    with pytest.raises(TypeError, match="safe"):
        tensor.astype("int8", casting="safe")
    pytest.importorskip("ml_dtypes", reason="brings bfloat16 to NumPy")
    assert tensor.astype(dlx.dtype("bfloat16")).dtype == dlx.dtype("bfloat16")
    with pytest.raises(dlx.UnsupportedError, match=r"has float4_e2m1fnx2$"):
        tensor.astype(dlx.dtype("float4_e2m1fnx2"))


class TheirDtype:
    def __init__(self, *code):
        self.code = code

    def __dlpack_data_type__(self):
        return self.code


def test_dtypes_of_other_libraries_are_numpy_s_wherever_numpy_computes():
    """asarray, empty, view and convert read them too."""
    from dlx import xp

    kinds = [TheirDtype(2, 32, 1)]
    if importlib.util.find_spec("torch"):
        kinds.append(importlib.import_module("torch").float32)
    tensor = dlx.asarray([1, 2])
    for kind in kinds:
        for result in (
            tensor.astype(kind),
            tensor.astype(dtype=kind),
            tensor.sum(dtype=kind),
            numpy.sum(tensor, dtype=kind),
            numpy.add(tensor, tensor, dtype=kind),
            xp.zeros(2, dtype=kind),
            xp.astype(tensor, kind),
        ):
            assert type(result) is dlx.Tensor
            assert result.dtype == "float32"
        assert xp.isdtype(kind, "real floating")
        assert xp.isdtype(xp.float32, kind)
        assert xp.finfo(kind).bits == 32


@pytest.mark.parametrize("kind", ["int3", dlx.dtype("int3"), TheirDtype(0, 3, 1)])
def test_a_dtype_that_numpy_lacks_names_the_call(kind):
    tensor = dlx.asarray([1, 2])
    with pytest.raises(dlx.UnsupportedError, match=r"has int3.*`dlx\.asarray\(x, dtype='int3'\)`"):
        tensor.astype(kind)
    assert dlx.asarray(tensor, dtype="int3").tolist() == [1, 2]
    with pytest.raises(TypeError, match="foo"):
        tensor.astype("foo")


def test_fill_sets_every_element():
    array = numpy.zeros((2, 3), "int8")
    tensor = dlx.asarray(array)[:, ::2]
    assert tensor.fill(7) is None
    assert array.tolist() == [[7, 0, 7], [7, 0, 7]]
    with pytest.raises(dlx.InvalidArgumentError, match=r"1\.5 is not a value of int8"):
        tensor.fill(1.5)
    with pytest.raises(dlx.ReadOnlyError):
        tensor.as_readonly().fill(1)
