"""array-api-compat, by which libraries find an array's namespace: it takes Tensors as they are."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx
import dlx.xp

compat = arrays.require("array_api_compat")


def test_array_api_compat_finds_the_namespace():
    tensor = dlx.asarray([[1.0, 2.0]])

    assert compat.array_namespace(tensor) is dlx.xp
    assert compat.array_namespace(tensor, tensor + 1) is dlx.xp
    assert compat.is_array_api_obj(tensor)
    assert compat.device(tensor) == dlx.Device("cpu")
    assert compat.size(tensor) == 2
    assert compat.to_device(tensor, "cpu").data_ptr == tensor.data_ptr


def test_its_helpers():
    tensor = dlx.asarray([[1.0, 2.0]])

    assert compat.is_writeable_array(tensor)
    assert not compat.is_lazy_array(tensor)
    assert not compat.is_numpy_array(tensor)
    with pytest.raises(TypeError):
        compat.array_namespace(tensor, object())


def test_an_algorithm_of_the_standard():
    def softmax(x):
        xp = compat.array_namespace(x)
        shifted = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
        return shifted / xp.sum(shifted, axis=-1, keepdims=True)

    source = numpy.random.default_rng(1).normal(size=(3, 4))
    result = softmax(dlx.asarray(source))
    assert type(result) is dlx.Tensor
    numpy.testing.assert_allclose(result.numpy(), softmax(source))


def test_the_namespace_follows_the_standard_on_this_numpy():
    # NumPy 1 does so by means of this library.
    xp = dlx.asarray([1.0]).__array_namespace__(api_version="2024.12")
    table = dlx.asarray([[3.0, 1.0], [2.0, 2.0]])

    assert xp.concat([table, table]).shape == (4, 2)
    assert xp.permute_dims(table, (1, 0)).tolist() == [[3, 2], [1, 2]]
    assert xp.unique_values(table).tolist() == [1, 2, 3]
    assert xp.acos(xp.ones(2)).tolist() == [0, 0]
    assert type(xp.linalg.vector_norm(table)) is dlx.Tensor
