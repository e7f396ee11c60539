"""The namespace dlx.xp: it has what the standard lists, takes and returns Tensors, and other
libraries compute with Tensors through it."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dlx

numpy = pytest.importorskip("numpy")
NUMPY = tuple(map(int, numpy.__version__.split(".")[:2]))
if NUMPY < (2, 3):
    pytest.importorskip("array_api_compat")

# Array API standard 2025.12: every function, dtype and constant.
NAMES = """
abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh
bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool
broadcast_arrays broadcast_shapes broadcast_to can_cast ceil clip complex128 complex64 concat conj copysign cos cosh
count_nonzero cumulative_prod cumulative_sum diff divide e empty empty_like equal exp expand_dims
expm1 eye finfo flip float32 float64 floor floor_divide from_dlpack full full_like greater
greater_equal hypot iinfo imag inf int16 int32 int64 int8 isdtype isfinite isin isinf isnan less
less_equal linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor
matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply nan negative newaxis
nextafter nonzero not_equal ones ones_like permute_dims pi positive pow prod real reciprocal
remainder repeat reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt square
squeeze stack std subtract sum take take_along_axis tan tanh tensordot tile tril triu trunc uint16
uint32 uint64 uint8 unique_all unique_counts unique_inverse unique_values unstack var vecdot where
zeros zeros_like __array_namespace_info__
""".split()
LINALG = """
cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank
matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
""".split()
FFT = """
fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift
""".split()
NEW_IN_2025 = {"broadcast_shapes", "isin", "linalg.eig", "linalg.eigvals"}


@pytest.fixture
def xp():
    return dlx.empty(1).__array_namespace__()


def test_every_name_of_the_standard_is_there(xp):
    missing = [name for name in NAMES if not hasattr(xp, name)]
    missing += [f"linalg.{name}" for name in LINALG if not hasattr(xp.linalg, name)]
    missing += [f"fft.{name}" for name in FFT if not hasattr(xp.fft, name)]

    assert set(missing) <= (NEW_IN_2025 if xp.__array_api_version__ < "2025.12" else set())
    assert {"zeros", "linalg", "asarray", "__array_namespace_info__"} <= set(dir(xp))
    assert "qr" in dir(xp.linalg)
    for wrong in ("no_such_function", "random", "_core", "ma"):
        with pytest.raises(AttributeError, match=r"dlx\.xp"):
            getattr(xp, wrong)


def test_the_version_that_is_asked_for(xp):
    tensor = dlx.empty(1)
    assert xp is importlib.import_module("dlx.xp")
    compat = pytest.importorskip("array_api_compat.numpy") if NUMPY < (2, 5) else numpy
    version = compat.__array_api_version__  # 2025.12, but for Python 3.10 and older
    assert xp.__array_api_version__ == version
    assert tensor.__array_namespace__(api_version=version) is xp
    assert tensor.__array_namespace__(api_version="2024.12") is xp
    assert tensor.__array_namespace__(api_version="2022.12") is xp
    with pytest.raises(ValueError, match=r"'2019\.01'.*202[45]\.12"):
        tensor.__array_namespace__(api_version="2019.01")


def test_what_the_standard_of_2025_adds(xp):
    if xp.__array_api_version__ < "2025.12":
        pytest.skip("this NumPy follows an older version")
    table, row = dlx.asarray([[2.0, 0.0], [0.0, 3.0]]), dlx.asarray([[1.0, 2.0]])

    assert type(xp.__array_namespace_info__().devices()) is tuple
    assert xp.isin(row, dlx.asarray([2.0, 5.0])).tolist() == [[False, True]]
    assert xp.broadcast_shapes((3, 1), (1, 4)) == (3, 4)
    assert xp.expand_dims(row, axis=(0, 3)).shape == (1, 1, 2, 1)
    if NUMPY >= (2, 0):  # array-api-compat leaves NumPy 1's lists
        assert type(xp.meshgrid(row[0], row[0])) is type(xp.broadcast_arrays(row, table)) is tuple
    assert all(type(part) is dlx.Tensor for part in xp.linalg.eig(table))
    assert sorted(xp.real(xp.linalg.eigvals(table)).tolist()) == [2, 3]


@pytest.mark.parametrize("followed", ["2023.12", None])
def test_older_versions_of_numpy_without_array_api_compat(followed):
    code = f"""
import sys, numpy
sys.modules["array_api_compat"] = None
followed = {followed!r}
for name in ("__array_api_version__", "__array_namespace_info__"):
    if hasattr(numpy, name):
        delattr(numpy, name)
if followed:
    numpy.__array_api_version__, numpy.__array_namespace_info__ = followed, None
import dlx
xp = dlx.empty(1).__array_namespace__()
try:
    print(xp.__array_api_version__)
    dlx.empty(1).__array_namespace__(api_version="2024.12")
except (dlx.UnavailableError, ValueError) as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    if followed:
        assert done.stdout.startswith(f"{followed}\n")
        assert "got '2024.12', expected one of 2021.12, 2022.12, 2023.12)" in done.stdout
    else:
        assert "install NumPy 2.1 or newer, or array-api-compat" in done.stdout


def test_creation_gives_tensors_on_the_device_that_is_named(xp):
    device = dlx.empty(1).device
    for made in (
        xp.zeros(3),
        xp.ones((2, 2), dtype=xp.int8, device=device),
        xp.full(3, 7, device="cpu"),
        xp.arange(5),
        xp.linspace(0, 1, 3),
        xp.eye(2),
        xp.asarray([1, 2], dtype=xp.float32),
        xp.asarray(numpy.ones(2), copy=True),
        xp.zeros_like(dlx.empty(2)),
        xp.from_dlpack(numpy.ones(2)),
        *xp.meshgrid(xp.arange(2), xp.arange(3)),
    ):
        assert type(made) is dlx.Tensor
        assert made.device == device
    with pytest.raises((dlx.UnavailableError, dlx.UnsupportedError), match="ext_dev:0"):
        xp.zeros(3, device="ext_dev:0")
    with pytest.raises(ValueError, match="device"):
        xp.zeros(3, device="no_such_device")


def test_dtypes_are_those_of_tensors(xp):
    for name in ("bool", "int8", "uint64", "float32", "complex128"):
        dtype = getattr(xp, name)
        assert dtype == dlx.empty(1, dtype=name).dtype
        assert dtype != None  # noqa: E711  # the standard's own test suite relies on it
        assert xp.isdtype(dtype, dtype)
    tensor = xp.astype(dlx.asarray([1.7]), xp.int32)
    assert tensor.tolist() == [1]
    assert xp.result_type(tensor, xp.float64) == xp.float64
    assert xp.finfo(dlx.empty(1)).bits == 32
    assert xp.iinfo(xp.int8).max == 127


def test_limits_of_dtypes_that_numpy_has_not(xp):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="has their limits")

    assert xp.finfo(dlx.dtype("bfloat16")).bits == 16
    assert xp.finfo(dlx.empty(1, dtype="float8_e4m3fn")).max == 448
    assert xp.finfo(dlx.dtype("bfloat16")).eps == ml_dtypes.finfo("bfloat16").eps
    assert xp.iinfo(dlx.dtype("uint4")).max == 15
    for refused in (
        lambda: xp.finfo(dlx.dtype("uint4")),
        lambda: xp.iinfo(dlx.dtype("bfloat16")),
        lambda: xp.iinfo(dlx.dtype("float32x2")),
        lambda: xp.finfo(xp.int8),
    ):
        with pytest.raises(ValueError, match=r"not inexact|not compatible|Invalid integer"):
            refused()


def test_functions_take_and_return_tensors(xp):
    tensor = dlx.asarray([[2.0, 1.0], [1.0, 3.0]])
    array = tensor.numpy()

    total = xp.sum(tensor)
    assert type(total) is dlx.Tensor
    assert total.shape == ()
    assert xp.linalg.det(tensor).item() == pytest.approx(5)
    for mine, theirs in zip(xp.linalg.svd(tensor), numpy.linalg.svd(array)):
        assert type(mine) is dlx.Tensor
        numpy.testing.assert_allclose(mine.numpy(), theirs)
    assert type(xp.unique_all(tensor)).__name__ == "UniqueAllResult"
    assert type(xp.unique_all(tensor).values) is dlx.Tensor
    numpy.testing.assert_array_equal(xp.fft.fft(tensor).numpy(), numpy.fft.fft(array))
    assert xp.permute_dims(tensor, (1, 0)).data_ptr == tensor.data_ptr
    assert xp.concat([tensor, tensor]).shape == (4, 2)
    assert xp.take(tensor, dlx.asarray([1]), axis=0).tolist() == [[1, 3]]
    assert xp.pi == numpy.pi
    assert xp.newaxis is None


@pytest.mark.skipif(numpy.__version__ < "2", reason="array-api-compat's namespace has no lib")
def test_windows_as_xarray_makes_them(xp):
    tensor = dlx.asarray([1, 2, 3])
    windows = xp.lib.stride_tricks.sliding_window_view(tensor, 2)

    assert type(windows) is dlx.Tensor
    assert windows.tolist() == [[1, 2], [2, 3]]
    assert windows.data_ptr == tensor.data_ptr
    for missing in ("xp.lib.npyio", "xp.testing", "xp.lib.stride_tricks.np"):
        with pytest.raises(AttributeError, match="no attribute"):
            eval(missing, {"xp": xp})


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_both_ways_keeps_the_order_of_equals(xp, descending):
    rng = numpy.random.default_rng(1)
    array = rng.integers(0, 4, (5, 6))
    for axis in (0, 1, -1):
        sign = -1 if descending else 1
        expected = numpy.argsort(sign * array, axis=axis, kind="stable")
        tensor = dlx.asarray(array)
        mine = xp.argsort(tensor, axis=axis, descending=descending)
        numpy.testing.assert_array_equal(mine.numpy(), expected)
        numpy.testing.assert_array_equal(
            xp.sort(tensor, axis=axis, descending=descending, stable=False).numpy(),
            numpy.take_along_axis(array, expected, axis=axis),
        )


@pytest.mark.parametrize(
    "values",
    [[5, -3, 700, 5, 2, -3], [2.5, numpy.inf, -1.0, 2.5], [True, False, True], [2j, 1, 2j]],
)
def test_unique_values_are_in_order_as_consumers_count_on(xp, values):
    array = numpy.array([values] * 40)

    found = xp.unique_values(dlx.asarray(array))

    assert type(found) is dlx.Tensor
    numpy.testing.assert_array_equal(found.numpy(), numpy.unique(array), strict=True)


@pytest.mark.parametrize("bounds", [(3,), (None, 4), (2.5, 4), (), (None, None)])
def test_clip_takes_either_bound_by_its_place(xp, bounds):
    array = numpy.array([[1.0, 5.0], [3.0, 4.0]])
    low, high = (*bounds, None, None)[:2]
    expected = numpy.minimum(
        numpy.maximum(array, -numpy.inf if low is None else low),
        numpy.inf if high is None else high,
    )
    tensor = dlx.asarray(array)

    for result in (xp.clip(tensor, *bounds), xp.clip(tensor, min=low, max=high)):
        assert type(result) is dlx.Tensor
        assert result.data_ptr != tensor.data_ptr
        numpy.testing.assert_array_equal(result.numpy(), expected)
    out = dlx.empty((2, 2), dtype="float64")
    assert xp.clip(tensor, 2, 3, out=out) is out


def test_inspection(xp):
    info = xp.__array_namespace_info__()

    assert info.default_device() == "cpu"
    assert dlx.Device("cpu") in info.devices()
    assert info.capabilities()["boolean indexing"] is True
    assert info.dtypes(kind="bool") == {"bool": xp.bool}
    assert info.dtypes(device=info.default_device())["float32"] == xp.float32
    assert info.default_dtypes(device="cpu")["real floating"] == xp.float64


def test_the_example_of_the_documentation(capsys):
    page = Path(__file__).parents[2] / "docs" / "computing.md"
    (source,) = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    exec(compile(source, str(page), "exec"), {})
    promised = re.findall(r"# prints: (.*)$", source, re.M)
    assert len(promised) == 4
    assert capsys.readouterr().out.splitlines() == promised


def test_without_numpy_the_error_names_it():
    code = """
import sys
sys.modules["numpy"] = None
import dlx
t = dlx.asarray([1.0])
assert (t == None) is False and (None in t) is False
assert (t == "text") is False and (t != object()) is True
for call in (lambda: t + 1, lambda: -t, lambda: t == 1, lambda: t == t, lambda: t[[0]], t.__array_namespace__):
    try:
        call()
    except dlx.UnavailableError as error:
        print("NumPy" in str(error))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["True"] * 6


def test_isdtype_of_what_numpy_has_not(xp):
    for name, kind in (
        ("bfloat16", "real floating"),
        ("int4", "signed integer"),
        ("uint4", "integral"),
    ):
        assert xp.isdtype(dlx.dtype(name), kind)
        assert xp.isdtype(dlx.dtype(name), ("bool", "numeric"))
        assert not xp.isdtype(dlx.dtype(name), ("bool", "complex floating"))
        assert xp.isdtype(dlx.dtype(name), dlx.dtype(name))
    with pytest.raises(dlx.InvalidArgumentError, match="`kind` is not a kind of dtype"):
        xp.isdtype(dlx.dtype("int4"), "float")


def test_isdtype_of_one_dtype_in_the_words_of_both(xp):
    mine, other = dlx.dtype("float32"), dlx.dtype("bfloat16")

    for same in (mine, xp.float32, numpy.dtype("float32")):
        assert xp.isdtype(mine, same)
        assert xp.isdtype(same, mine)
        assert xp.isdtype(same, (other, mine))
        assert xp.isdtype(mine, ("bool", same))
        for kind in (xp.float64, other, (other, xp.int8), "integral"):
            assert not xp.isdtype(same, kind)
    with pytest.raises(TypeError):
        xp.isdtype(mine, 5)


def test_lists_are_sorted_both_ways(xp):
    for function in (xp.sort, xp.argsort):
        for descending in (False, True):
            array = function(dlx.asarray([3, 1, 2]), descending=descending)
            assert function([3, 1, 2], descending=descending).tolist() == array.tolist()


def test_private_names_are_missing_whatever_numpy_can(xp, monkeypatch):
    monkeypatch.setattr(xp, "_standard", lambda: 1 / 0)

    assert not hasattr(xp, "__warningregistry__")


def test_there_is_one_cpu(xp):
    assert xp.zeros(2, device="cpu").tolist() == [0, 0]
    with pytest.raises(dlx.UnavailableError, match="cpu:1"):
        xp.zeros(2, device="cpu:1")


def test_dtype_and_ndarray_are_classes(xp):
    assert isinstance(xp.empty(2), xp.ndarray)
    assert isinstance(xp.empty(2).dtype, xp.dtype)
    assert xp.empty(2, dtype=xp.dtype("float32")).dtype == xp.float32
