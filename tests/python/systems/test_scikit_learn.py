"""scikit-learn's array API dispatch: estimators compute with Tensors and return Tensors."""

from __future__ import annotations

import os
import subprocess
import sys

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it when it is imported

import arrays
import numpy
import pytest

import dlx

sklearn = arrays.require("sklearn")
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score  # noqa: E402
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler  # noqa: E402

RNG = numpy.random.default_rng(0)
X, Y = RNG.normal(size=(60, 5)), RNG.normal(size=60)


@pytest.fixture(autouse=True)
def dispatch():
    with sklearn.config_context(array_api_dispatch=True):
        yield


def pca():
    return PCA(n_components=2, svd_solver="full")


FITS = {
    "PCA.components_": lambda x, y: pca().fit(x).components_,
    "PCA.transform": lambda x, y: pca().fit(x).transform(x),
    "Ridge.coef_": lambda x, y: Ridge(solver="svd").fit(x, y).coef_,
    "Ridge.predict": lambda x, y: Ridge(solver="svd").fit(x, y).predict(x),
    "MinMaxScaler": lambda x, y: MinMaxScaler().fit_transform(x),
    "MaxAbsScaler": lambda x, y: MaxAbsScaler().fit_transform(x),
}


@pytest.mark.parametrize("name", FITS)
def test_estimators(name):
    result = FITS[name](dlx.asarray(X), dlx.asarray(Y))

    assert type(result) is dlx.Tensor
    numpy.testing.assert_allclose(result.numpy(), FITS[name](X, Y))


def test_metrics():
    y, guess = dlx.asarray(Y), dlx.asarray(Y + 0.25)

    assert float(mean_absolute_error(y, guess)) == pytest.approx(0.25)
    assert float(r2_score(y, guess)) == pytest.approx(r2_score(Y, Y + 0.25))
    labels = dlx.asarray([0, 1, 1, 0])
    assert float(accuracy_score(labels, dlx.asarray([0, 1, 0, 0]))) == 0.75


TABLES = [name for name in arrays.LAYOUTS if name not in ("0-d", "empty", "permuted", "5 axes")]


DLX_FOR_ALL = """
import sklearn.utils._array_api as api
api.yield_namespace_device_dtype_combinations = lambda *args, **kwargs: iter([("dlx.xp", None, None)])
"""


@pytest.mark.parametrize("suite", ["preprocessing.tests.test_label", "utils.tests.test_multiclass",
                                   "utils.tests.test_validation", "metrics.tests.test_common"])  # fmt: skip
def test_its_own_tests_pass_with_the_namespace_of_dlx(suite, tmp_path):
    (tmp_path / "dlx_for_all.py").write_text(DLX_FOR_ALL)
    path = os.pathsep.join([str(tmp_path), os.path.dirname(os.path.dirname(dlx.__file__))])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "dlx_for_all", "-k",
         "dlx", "--pyargs", f"sklearn.{suite}"],
        capture_output=True, text=True, cwd=tmp_path, timeout=600,
        env={**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", TABLES)
def test_every_layout_of_a_table(layout, dtype):
    source = arrays.LAYOUTS[layout](dtype=dtype)
    before = source.copy()
    result = MaxAbsScaler().fit_transform(dlx.asarray(source))

    assert (type(result), str(result.dtype)) == (dlx.Tensor, dtype)
    numpy.testing.assert_allclose(result.numpy(), MaxAbsScaler().fit_transform(before))
    numpy.testing.assert_array_equal(source, before)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint8", "uint64", "float16"])
def test_other_dtypes_become_floats_as_those_of_arrays_do(dtype):
    source = arrays.aligned(3, 4, dtype=dtype)
    result, expected = (MaxAbsScaler().fit_transform(x) for x in (dlx.asarray(source), source))

    assert result.dtype == expected.dtype
    numpy.testing.assert_allclose(result.numpy(), expected)


def test_strided_and_read_only_data():
    table = numpy.concatenate([X, X], axis=1)
    tensor = dlx.asarray(table)[::2, ::-2].as_readonly()

    result = MinMaxScaler().fit_transform(tensor)
    numpy.testing.assert_allclose(result.numpy(), MinMaxScaler().fit_transform(table[::2, ::-2]))
