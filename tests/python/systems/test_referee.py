"""The columns of dlx.testing's table, for the libraries of each environment."""

from __future__ import annotations

import os
import sys

import nanobind_extension
import pytest

from referee_columns import check_column


@pytest.mark.parametrize(
    "name",
    ["array_api_strict", "jax", "mlx", "mxnet", "onnxruntime", "paddle", "tensorflow", "warp"],
)
def test_the_column_of_a_system(name):
    check_column(name)


def test_the_column_of_dpnp(monkeypatch):
    driver = os.path.join(sys.prefix, "lib", "libintelocl.so")
    if "OCL_ICD_FILENAMES" not in os.environ:
        monkeypatch.setenv("OCL_ICD_FILENAMES", driver)
    check_column("dpnp")


def test_the_column_of_nanobind(monkeypatch):
    pytest.importorskip("nanobind")
    if problem := nanobind_extension.problem():
        pytest.skip(problem)
    monkeypatch.setenv("DLX_NANOBIND_TEST", nanobind_extension.load().__file__)
    check_column("nanobind", "nanobind_arrays")
