"""The columns of dlx.testing's table, for the libraries of each environment."""

from __future__ import annotations

import pytest

from referee_columns import check_column


@pytest.mark.parametrize(
    "name",
    ["array_api_strict", "jax", "mlx", "mxnet", "onnxruntime", "paddle", "tensorflow", "warp"],
)
def test_the_column_of_a_system(name):
    check_column(name)
