"""scikit-learn's array API dispatch: estimators compute with Tensors and return Tensors."""

from __future__ import annotations

import os

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


def test_strided_and_read_only_data():
    table = numpy.concatenate([X, X], axis=1)
    tensor = dlx.asarray(table)[::2, ::-2].as_readonly()

    result = MinMaxScaler().fit_transform(tensor)
    numpy.testing.assert_allclose(result.numpy(), MinMaxScaler().fit_transform(table[::2, ::-2]))
