"""Packed elements of less than a byte: conversions, copies and arrays of NumPy, beside NumPy's own bits."""

from __future__ import annotations

import contextlib
import random
import re
import time

import numpy
import pytest

import dlx
from dlpack_ctypes import PADDED, Producer

ml_dtypes = pytest.importorskip("ml_dtypes", reason="adds the padded dtypes to NumPy")
INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in range(1, 8)]
FLOATS = {"float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}
NAMES = [*INTEGERS, *FLOATS]


def bits_of(name):
    return FLOATS[name] if name in FLOATS else int(name.removeprefix("u").removeprefix("int"))


def patterns_in(raw, bits, count):
    """The patterns of packed elements, by numpy.unpackbits."""
    flat = numpy.unpackbits(numpy.frombuffer(raw, "u1"), bitorder="little")[: count * bits]
    return flat.reshape(count, bits) @ (1 << numpy.arange(bits))


def values_of(patterns, name):
    """What the patterns mean: float64 for floats, by ml_dtypes; int64 for integers."""
    if name in FLOATS:
        return patterns.astype("u1").view(getattr(ml_dtypes, name)).astype("float64")
    half = 1 << (bits_of(name) - 1)
    return patterns if name.startswith("u") else (patterns ^ half) - half


def packed(name, count, rng=None, writable=True):
    """A packed tensor of random bits, and its values."""
    rng = rng or numpy.random.default_rng(3)
    bits = bits_of(name)
    count = -(-count // 8) * 8
    raw = rng.integers(0, 256, count * bits // 8, dtype="u1").tobytes()
    tensor = dlx.asarray(bytearray(raw) if writable else raw).view(name)
    return tensor, values_of(patterns_in(raw, bits, count), name)


@pytest.mark.parametrize("name", NAMES)
def test_all_values_convert_into_every_wider_dtype(name):
    tensor, values = packed(name, 2000)
    signed = name.startswith("int")
    targets = ["float32", "float64", "complex64", "bfloat16", "int16", "int64", "bool"]
    for target in (*targets, "int8", *(() if signed or name in FLOATS else ("uint8", "uint64"))):
        result = dlx.asarray(tensor, dtype=target)
        assert str(result.dtype) == target
        expected = values.astype(getattr(ml_dtypes, target, target)).astype("complex128")
        assert numpy.array_equal(result.numpy().astype("complex128"), expected), target
        assert result.data_ptr != tensor.data_ptr
    assert str(tensor.dtype) == name


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_become_narrower_by_the_rule_of_astype(name):
    bits = bits_of(name)
    wide = numpy.arange(-300, 300)
    lowest = wide & ((1 << bits) - 1)
    for source in ("int64", "int16", "float32", "float64"):
        result = dlx.asarray(wide.astype(source), dtype=name)
        assert str(result.dtype) == name
        assert numpy.array_equal(
            dlx.asarray(result, dtype="int64").numpy(), values_of(lowest, name)
        )
    for source in ("int8", "uint8"):
        small = wide.astype(source)
        assert dlx.asarray(small, dtype=name).tolist() == values_of(lowest, name).tolist()
        there = dlx.empty(wide.shape, dtype=name)
        dlx.copyto(there, small)
        assert there.tolist() == values_of(lowest, name).tolist()
    if hasattr(ml_dtypes, name):
        theirs = wide.astype(getattr(ml_dtypes, name)).astype("int64")
        assert numpy.array_equal(values_of(lowest, name), theirs)


@pytest.mark.parametrize("name", NAMES)
def test_packed_and_padded_are_copied_into_each_other(name):
    tensor, values = packed(name, 331)
    if not hasattr(ml_dtypes, name):
        padded = dlx.asarray(dlx.asarray(tensor, dtype="int64"), dtype=name)
    else:
        padded = dlx.asarray(numpy.zeros(values.shape, getattr(ml_dtypes, name)))
        dlx.copyto(padded, tensor)
        assert numpy.array_equal(padded.numpy().astype("float64"), values)
    assert padded.tolist() == tensor.tolist() == values.tolist()
    again = dlx.empty(values.shape, dtype=name)
    dlx.copyto(again, padded)
    assert again.tobytes() == tensor.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_random_layouts(name):
    """Slices, steps, reversals, permutations and repetitions, where a packed view may begin."""
    seed = time.time_ns() % 2**32
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(30):
        shape = tuple(rng.randint(1, 24) for _ in range(rng.randint(1, 4)))
        tensor, values = packed(
            name, int(numpy.prod(shape)), numpy.random.default_rng(rng.getrandbits(32))
        )
        tensor = tensor[: int(numpy.prod(shape))].reshape(shape)
        values = values[: tensor.size].reshape(shape)
        for axis in range(len(shape)):
            step = rng.choice((1, 1, 1, 2, -1, -3))
            first = rng.choice((None, None, 8, -1))
            key = (slice(None),) * axis + (slice(first, None, step),)
            with contextlib.suppress(dlx.UnsupportedError):  # it would begin inside a byte
                tensor, values = tensor[key], values[key]
        axes = rng.sample(range(len(shape)), len(shape))
        tensor, values = tensor.permute_dims(tuple(axes)), values.transpose(axes)
        wide = "float32" if name in FLOATS else "uint8" if name.startswith("u") else "int8"
        assert numpy.array_equal(dlx.asarray(tensor, dtype=wide).numpy(), values)
        assert dlx.asarray(tensor, dtype="float64").tolist() == values.tolist()
        if hasattr(ml_dtypes, name):
            assert numpy.array_equal(numpy.asarray(tensor).astype("float64"), values)
        there = dlx.asarray(numpy.zeros((2, *values.shape)), dtype=wide)
        dlx.copyto(there, tensor)  # repeats it
        assert numpy.array_equal(there.numpy(), numpy.broadcast_to(values, there.shape))
        back = dlx.empty(values.shape[::-1], dtype=name).permute_dims(
            tuple(range(values.ndim))[::-1]
        )
        dlx.copyto(back, tensor)
        assert back.tolist() == values.tolist()


@pytest.mark.parametrize("name", ["int4", "uint2", "uint1", "float4_e2m1fn", "float6_e3m2fn"])
def test_numpy_gets_a_copy_with_a_byte_for_each(name):
    tensor, values = packed(name, 30)
    assert numpy.asarray(tensor, dtype="float32").tolist() == values.tolist()
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"this ml_dtypes has no {name}")
    for array in (dlx.convert(tensor, "numpy"), numpy.asarray(tensor), numpy.array(tensor)):
        assert array.dtype == getattr(ml_dtypes, name)
        assert numpy.array_equal(array.astype("float64"), values)
        array[:] = 0
        assert tensor.tolist() == values.tolist()
    assert tensor.astype("float64").numpy().tolist() == values.tolist()
    with pytest.raises(dlx.CopyRefusedError, match="in a byte each"):
        dlx.convert(tensor, "numpy", copy=False)
    with pytest.raises(dlx.CopyRefusedError, match="in a byte each"):
        tensor.__array__(copy=False)
    with pytest.raises(dlx.CopyRefusedError, match=f"{name} to float32"):
        dlx.asarray(tensor, dtype="float32", copy=False)
    assert dlx.explain(tensor, "numpy").outcome == "copied"


def test_the_example_of_the_report():
    p = dlx.asarray(bytearray(b"\x21\x43")).view("uint4")
    assert dlx.asarray(p, dtype="uint8").tolist() == [1, 2, 3, 4]
    there = dlx.empty(4, dtype="uint8")
    dlx.copyto(there, p)
    assert there.tolist() == [1, 2, 3, 4]
    assert dlx.convert(p, "numpy").tolist() == [1, 2, 3, 4]
    assert dlx.convert(p, "numpy", dtype="uint8").dtype == "uint8"
    torch = pytest.importorskip("torch")
    assert torch.equal(dlx.convert(p, "torch", dtype="uint8"), torch.tensor([1, 2, 3, 4]))


def test_assignment_reads_and_writes_packed_data():
    tensor, values = packed("uint4", 16)
    bytes_ = dlx.empty(16, dtype="uint8")
    bytes_[:] = tensor
    assert bytes_.tolist() == values.tolist()
    tensor[8:12] = numpy.array([1, 2, 3, 4], "uint16")
    values[8:12] = [1, 2, 3, 4]
    mask = numpy.arange(16) % 3 == 0
    tensor[mask] = numpy.full(6, 9, "uint8")
    values[mask] = 9
    assert tensor.tolist() == values.tolist()
    with pytest.raises(dlx.InvalidArgumentError, match="does not fit"):
        tensor[:] = numpy.full(16, 1.5)
    with pytest.raises(dlx.InvalidArgumentError, match="does not fit"):
        tensor[:] = dlx.asarray(bytearray(8)).view("int4")
    assert tensor.tolist() == values.tolist()


@pytest.mark.parametrize("name", ["int3", "uint6", "uint4", "float4_e2m1fn", "float4_e2m1fnx2"])
@pytest.mark.parametrize("padded", [False, True])
def test_refusals_name_a_call_that_works(name, padded):
    x = dlx.asarray(bytearray(range(1, 13))).view(name)
    if padded:
        if name not in ("uint4", "float4_e2m1fn"):
            return
        x = dlx.asarray(numpy.asarray(x))
    tries = {
        "pyarrow": lambda: dlx.convert(x, "pyarrow"),
        "torch": lambda: dlx.convert(x, "torch"),
        "numpy": lambda: x.numpy(),
        "plus": lambda: x + 1,
        "float16": lambda: dlx.asarray(x, dtype="float16x5"),
    }
    for what, attempt in tries.items():
        try:
            attempt()
        except dlx.UnsupportedError as error:
            message = str(error)
        except ImportError:
            continue
        else:
            continue
        calls = re.findall(r"`([^`]+)`", message)
        assert calls, message
        result = eval(calls[0], {"dlx": dlx, "x": x})
        flat = result if isinstance(result, list) else result.tolist()
        assert len(flat) in (len(x.tolist()), 2 * len(x.tolist())), what


def test_lanes_convert_side_by_side():
    x = dlx.asarray(bytearray(b"\x21\x43")).view("float4_e2m1fnx2")
    assert dlx.asarray(x, dtype="float32x2").tolist() == [(0.5, 1.0), (1.5, 2.0)]
    there = dlx.empty(2, dtype="uint8x2")
    dlx.copyto(there, dlx.asarray(bytearray(b"\x21\x43")).view("uint4x2"))
    assert there.tolist() == [(1, 2), (3, 4)]


def test_bad_arguments_are_named():
    p = dlx.asarray(bytearray(b"\x21\x43")).view("uint4")
    with pytest.raises(dlx.InvalidArgumentError, match=r"dlx\.asarray\(src, dtype='float64'\)"):
        dlx.copyto(dlx.empty(4, dtype="float64"), p)
    with pytest.raises(dlx.InvalidArgumentError, match="does not fit"):
        dlx.copyto(dlx.empty(3, dtype="uint8"), p)
    with pytest.raises(dlx.ReadOnlyError):
        dlx.copyto(dlx.asarray(b"1234"), p)
    with pytest.raises(dlx.ReadOnlyError):
        dlx.copyto(dlx.asarray(b"12").view("uint4"), numpy.zeros(4, "uint8"))
    with pytest.raises(dlx.UnsupportedError, match="int128"):
        dlx.asarray(p, dtype="int128")
    with pytest.raises(dlx.UnsupportedError, match=r"dlx\.asarray\(x, dtype='uint8'\)"):
        p[1:]
    with pytest.raises(dlx.UnsupportedError, match=r"dlx\.asarray\(x, dtype='uint8'\)"):
        dlx.asarray(numpy.zeros(2, ml_dtypes.uint4)).view("uint2")
    nothing = dlx.from_pointer(0, (0, 3), "uint4")
    assert dlx.asarray(nothing, dtype="float32").shape == (0, 3)
    one = p.view("uint4")[2:3].reshape(())
    assert dlx.asarray(one, dtype="int32").item() == 3


def test_data_in_the_same_memory_is_read_first():
    memory = numpy.arange(1, 65, dtype="uint8")
    low = dlx.asarray(memory)[:32].view("uint4")
    dlx.copyto(dlx.asarray(memory), low)  # every byte of the source is overwritten
    expected = numpy.arange(1, 33, dtype="uint8")
    assert memory[::2].tolist() == (expected & 15).tolist()
    assert memory[1::2].tolist() == (expected >> 4).tolist()


def test_large_data_in_threads():
    tensor, values = packed("int6", 3_000_000)
    assert numpy.array_equal(dlx.asarray(tensor, dtype="int8").numpy(), values)
    square = tensor[: 1536 * 1536].reshape((1536, 1536)).permute_dims((1, 0))
    result = dlx.asarray(square, dtype="int32").numpy()
    assert numpy.array_equal(result, values[: 1536 * 1536].reshape(1536, 1536).T)
    again = dlx.empty(tensor.shape, dtype="int6")
    dlx.copyto(again, dlx.asarray(values.astype("int8")))
    assert again.tobytes() == tensor.tobytes()


def test_bytes_and_float32_need_no_numpy(monkeypatch):
    for module in ("numpy", "ml_dtypes"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    p = dlx.asarray(bytearray(b"\x21\x43")).view("uint4")
    assert dlx.asarray(p, dtype="uint8").tolist() == [1, 2, 3, 4]
    assert dlx.asarray(p, dtype="uint2").tolist() == [1, 2, 3, 0]
    assert dlx.asarray(p.view("float4_e2m1fn"), dtype="float32").tolist() == [0.5, 1.0, 1.5, 2.0]
    with pytest.raises(dlx.UnavailableError, match="uint4 to float64 needs NumPy"):
        dlx.asarray(p, dtype="float64")


@pytest.mark.parametrize("name", NAMES)
def test_bits_beside_a_padded_element_do_not_count(name):
    bits = bits_of(name)
    code = dlx.dtype(name).__dlpack_data_type__()
    producer = Producer(bytes(range(256)), (256,), code, flags=PADDED)
    patterns = numpy.arange(256) & ((1 << bits) - 1)
    assert dlx.asarray(producer).tolist() == values_of(patterns, name).tolist()
