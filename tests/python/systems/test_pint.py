"""pint: a unit is not dropped in silence."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

pint = arrays.require("pint")
registry = pint.UnitRegistry()


def quantity(source=None):
    return registry.Quantity(arrays.aligned(3) if source is None else source, "meter")


@pytest.mark.filterwarnings("error::pint.UnitStrippedWarning")
@pytest.mark.parametrize(
    "take",
    [
        dlx.asarray,
        dlx.from_dlpack,
        lambda x: dlx.convert(x, "numpy"),
        lambda x: dlx.asarray(x, copy=True, force=True),
        lambda x: dlx.asarray(x[0]),
    ],
)
def test_a_unit_is_refused_with_the_way_out(take):
    with pytest.raises(dlx.UnsupportedError, match=r"in meter would lose its unit.*`\.magnitude`"):
        take(quantity())


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_magnitudes_of_every_layout_are_shared(layout):
    source = arrays.LAYOUTS[layout]()
    magnitude = quantity(source).magnitude
    tensor = dlx.asarray(magnitude)

    assert tensor.tolist() == source.tolist()
    if source.size:
        assert tensor.data_ptr == source.ctypes.data


@pytest.mark.parametrize("name", arrays.NUMPY_NAMES)
def test_pure_numbers_of_every_dtype_lose_nothing(name):
    source = arrays.numpy_array(name)
    tensor = dlx.asarray(registry.Quantity(source, "dimensionless"))

    assert tensor.tolist() == source.tolist()
    assert str(tensor.dtype) == name


def test_the_numbers_are_not_printed(monkeypatch):
    # As pint's error about an attribute that is not there does, in milliseconds.
    def missing(self, name):
        raise AssertionError(f"asked for {name!r}")

    monkeypatch.setattr(type(quantity()), "__getattr__", missing)

    assert dlx.asarray(registry.Quantity(arrays.aligned(3), "")).shape == (3,)
    with pytest.raises(dlx.UnsupportedError):
        dlx.asarray(quantity())


def test_a_quantity_over_a_tensor():
    tensor = dlx.asarray(arrays.aligned(3))
    length = registry.Quantity(tensor.numpy(), "meter")
    length[0] = 5 * registry.meter

    assert tensor.tolist() == [5, 1, 2]
    assert dlx.asarray(length.to("kilometer").magnitude).shape == (3,)


def test_converting_first_is_a_way_out():
    result = dlx.asarray(registry.Quantity([1.0, 2.0], "kilometer").to("meter").magnitude)

    assert result.tolist() == [1000, 2000]


def test_arithmetic_with_a_tensor_keeps_the_unit():
    tensor = dlx.asarray(numpy.array([1.0, 2.0, 3.0]))
    quantity = pint.UnitRegistry().Quantity(numpy.ones(3), "meter")

    for result in (tensor * quantity, quantity * tensor):
        assert str(result.units) == "meter"
        assert list(result.magnitude) == [1, 2, 3]


def test_what_a_pure_number_holds_is_guarded():
    masked = registry.Quantity(numpy.ma.masked_equal(arrays.aligned(3), 1), "")
    for take in (dlx.asarray, dlx.from_dlpack, lambda x: dlx.convert(x, "numpy")):
        with pytest.raises(dlx.UnsupportedError, match=r"1 masked entries.*\.filled"):
            take(masked)
    sparse = pytest.importorskip("sparse", reason="makes the magnitude sparse")
    with pytest.raises(dlx.UnsupportedError, match=r"`\.todense\(\)`"):
        dlx.asarray(registry.Quantity(sparse.COO(arrays.aligned(3)), ""))


@pytest.mark.filterwarnings("error::pint.UnitStrippedWarning")
def test_a_pure_number_is_its_magnitude():
    source = arrays.aligned(3)
    tensor = dlx.asarray(registry.Quantity(source, ""), copy=False)

    assert tensor.data_ptr == source.ctypes.data
    assert dlx.asarray(registry.Quantity(2.5, "")).item() == 2.5
