"""astropy.units, and its masked classes: a unit or a mask is not dropped in silence."""

from __future__ import annotations

import re

import arrays
import numpy
import pytest

import dlx

units = arrays.require("astropy.units")


def quantity():
    return units.Quantity(arrays.aligned(3), "m", copy=False)


@pytest.mark.parametrize(
    "take",
    [
        dlx.asarray,
        dlx.from_dlpack,
        lambda x: dlx.convert(x, "numpy"),
        lambda x: dlx.asarray(x, copy=True, force=True),
        lambda x: dlx.asarray(x[0]),
        lambda x: dlx.asarray(x[::-1]),
    ],
)
def test_a_unit_is_refused_with_the_way_out(take):
    with pytest.raises(dlx.UnsupportedError, match=r"in m would lose its unit: export `\.value`"):
        take(quantity())


def test_the_ways_out_that_the_message_names():
    length = quantity()

    assert dlx.asarray(length.value).data_ptr == length.value.ctypes.data
    assert dlx.asarray(length.to(units.km).value).tolist() == (length.value / 1000).tolist()


def test_a_pure_number_loses_nothing():
    ratio = quantity() / quantity().max()

    assert dlx.asarray(ratio.decompose()).tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("name", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(
    "layout", ["contiguous", "column-major", "reversed", "0-d", "empty", "read-only"]
)
def test_values_of_every_layout_are_shared(name, layout):
    source = arrays.LAYOUTS[layout]().astype(name, copy=False)
    value = units.Quantity(source, "s", copy=False).value
    tensor = dlx.asarray(value)

    assert tensor.tolist() == source.tolist()
    if isinstance(value, numpy.ndarray) and value.size:
        assert tensor.data_ptr == value.ctypes.data


def test_a_quantity_over_a_tensor():
    tensor = dlx.asarray(arrays.aligned(3))
    length = units.Quantity(tensor.numpy(), units.m, copy=False)
    length[0] = 5 * units.m

    assert tensor.tolist() == [5, 1, 2]


def test_masked_quantities_and_arrays():
    from astropy.utils.masked import Masked

    with pytest.raises(dlx.UnsupportedError, match="mask"):
        dlx.asarray(Masked(arrays.aligned(3), mask=[True, False, False]))
    with pytest.raises(dlx.UnsupportedError, match=r"mask|unit"):
        dlx.asarray(Masked(quantity(), mask=[True, False, False]))
    assert dlx.asarray(Masked(arrays.aligned(3), mask=False)).tolist() == [0, 1, 2]


def test_columns_of_a_table():
    from astropy.table import MaskedColumn, QTable, Table

    table = Table({"a": [1.0, 2.0]})
    assert dlx.asarray(table["a"]).tolist() == [1, 2]
    with pytest.raises(dlx.UnsupportedError, match="unit"):
        dlx.asarray(QTable({"a": quantity()})["a"])
    with pytest.raises(dlx.UnsupportedError, match="mask"):
        dlx.asarray(MaskedColumn([1.0, 2.0], mask=[True, False]))
    with pytest.raises(dlx.UnsupportedError, match="unit"):
        dlx.asarray(Table({"a": quantity()}, units={"a": "m"})["a"])


def test_tables_keep_the_masks_and_units_of_their_columns():
    from astropy.table import MaskedColumn, QTable, Table

    plain = Table({"a": [1, 2], "b": [3, 4]})
    assert dlx.asarray(plain).tolist() == [[1, 3], [2, 4]]
    assert dlx.asarray(plain[1]).tolist() == [2, 4]
    units = QTable({"a": [1.0, 2.0], "b": quantity()[:2]})
    masks = Table({"a": [1, 2], "b": MaskedColumn([3, 4], mask=[True, False])})
    for table, word in ((units, "unit"), (masks, "mask")):
        for x in (table, table[0], [table, table]):
            with pytest.raises(dlx.UnsupportedError, match=rf"column 'b'.*lose its {word}"):
                dlx.asarray(x)
        with pytest.raises(dlx.UnsupportedError, match=word):
            dlx.convert(table, "numpy")
    assert dlx.asarray(masks[1]).tolist() == [2, 4]


def test_arithmetic_with_a_tensor_keeps_the_unit_or_refuses():
    tensor = dlx.asarray(numpy.array([1.0, 2.0, 3.0]))
    quantity = numpy.ones(3) * units.m

    assert (tensor * units.m).unit == units.m
    for call in (lambda: tensor * quantity, lambda: quantity * tensor):
        with pytest.raises(TypeError):  # astropy's own decision; never a result without the unit
            call()
    assert (tensor.numpy() * quantity).unit == units.m


def test_data_with_a_unit_names_ways_that_its_class_has():
    nddata = pytest.importorskip("astropy.nddata", reason="has the class under test")
    data = nddata.NDDataArray(numpy.ones(3), unit="km")
    with pytest.raises(dlx.UnsupportedError, match=r"`.data`.*`.convert_unit_to\(unit\).data`"):
        dlx.asarray(data)
    assert dlx.asarray(data.data).tolist() == [1, 1, 1]
    assert dlx.asarray(data.convert_unit_to("m").data).tolist() == [1000, 1000, 1000]


def test_every_way_that_a_message_names_is_there():
    modeling = pytest.importorskip("astropy.modeling", reason="has a class under test")
    nddata = pytest.importorskip("astropy.nddata", reason="has classes under test")
    table = pytest.importorskip("astropy.table", reason="has a class under test")
    from astropy.utils.masked import Masked

    numbers, mask = numpy.arange(3.0), numpy.array([False, True, False])
    for source in (
        quantity(),
        Masked(numbers, mask=mask),
        Masked(quantity(), mask=mask),
        table.Column(numbers, unit="m"),
        table.MaskedColumn(numbers, mask=mask),
        nddata.NDData(numbers, unit="m"),
        nddata.NDData(numbers, mask=mask),
        nddata.NDDataArray(numbers, mask=mask),
        nddata.CCDData(numbers, unit="m"),
        nddata.StdDevUncertainty(numbers, unit="m"),
        modeling.Parameter("width", default=quantity()),
    ):
        with pytest.raises(dlx.UnsupportedError, match=r"mask|unit") as caught:
            dlx.asarray(source)
        ways = re.findall(r"`\.(.*?)`", str(caught.value))
        assert ways
        for way in ways:
            names = {
                "source": source,
                "unit": units.m,
                "value": -1 * (getattr(source, "unit", None) or 1),
            }
            part = eval(f"source.{way}", names)
            if getattr(part, "unit", None) is None:  # else the next message says what to call
                assert dlx.asarray(part).shape == (3,)


def test_functions_of_xp_do_not_drop_a_unit():
    from dlx import xp

    tensor = dlx.asarray(numpy.arange(3.0))
    for call in (
        lambda: xp.full((2,), 1 * units.m),
        lambda: xp.where(tensor > 1, tensor, quantity()),
        lambda: xp.concat([tensor, quantity()]),
    ):
        with pytest.raises(TypeError, match="Quantity is not an operand"):
            call()
