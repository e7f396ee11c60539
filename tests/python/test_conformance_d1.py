"""docs/conformance.md: structs, versions, memory. One test for each item that Python can see."""

import ctypes
import gc
import struct

import pytest

import dlx
from dlpack_ctypes import (
    ALIVE,
    IS_COPIED,
    PADDED,
    READ_ONLY,
    DLDataType,
    DLDevice,
    DLManagedTensor,
    DLManagedTensorVersioned,
    DLPackVersion,
    DLTensor,
    ExchangeAPI,
    Export,
    Imported,
    LegacyProducer,
    Producer,
)


def floats(*values):
    return struct.pack(f"={len(values)}f", *values)


def export(tensor, **options):
    """What `tensor` exports, already freed: only the numbers are looked at."""
    got = Imported(tensor.__dlpack__(max_version=(1, 3), **options))
    got.free()
    return got


def test_item_01_struct_sizes_are_those_of_the_standard():
    sizes = {
        DLPackVersion: 8,
        DLDevice: 8,
        DLDataType: 4,
        DLTensor: 48,
        DLManagedTensor: 64,
        DLManagedTensorVersioned: 80,
        ExchangeAPI: 56,
    }
    for kind, size in sizes.items():
        assert ctypes.sizeof(kind) == size, kind.__name__
    assert DLManagedTensorVersioned.flags.offset == 24
    assert DLManagedTensorVersioned.dl_tensor.offset == 32

    got = Imported(dlx.empty((2, 3)).__dlpack__(max_version=(1, 3)))

    assert (got.shape, got.strides, got.dtype, got.device) == ((2, 3), (3, 1), (2, 32, 1), (1, 0))
    got.free()


@pytest.mark.parametrize("major", [0, 2, 3, 2**32 - 1])
def test_item_02_other_major_version_calls_the_deleter_and_reads_nothing(major):
    # ndim and shape would crash whoever reads them.
    producer = Producer(version=(major, 0), ndim=2**30, shape_null=True)

    with pytest.raises(BufferError, match=r"DLPack version \d+\.0 \(expected 1\.x\)"):
        dlx.from_dlpack(producer)

    gc.collect()
    assert producer.deleted == 1


@pytest.mark.parametrize("minor", [0, 1, 3, 4, 99])
def test_item_03_any_minor_version_is_accepted(minor):
    producer = Producer(floats(1, 2, 3, 4, 5, 6), version=(1, minor))

    assert dlx.from_dlpack(producer).tolist() == [[1, 2, 3], [4, 5, 6]]


def test_item_04_deleter_and_flags_stay_where_they_are_in_every_major():
    assert DLManagedTensorVersioned.version.offset == 0
    assert DLManagedTensorVersioned.manager_ctx.offset == 8
    assert DLManagedTensorVersioned.deleter.offset == 16


def test_item_05_both_structs_are_imported_and_exported():
    new, old = Producer(floats(*range(6))), LegacyProducer(floats(*range(6)))

    assert dlx.from_dlpack(new).tolist() == dlx.from_dlpack(old).tolist()
    assert Producer(floats(*range(6))).export().name == b"dltensor_versioned"

    for options, versioned in (({}, False), ({"max_version": (1, 0)}, True)):
        got = Imported(dlx.empty(3).__dlpack__(**options))
        assert got.versioned is versioned
        got.free()


@pytest.mark.parametrize("kind", [Producer, LegacyProducer])
def test_item_06_null_deleter_is_accepted(kind):
    producer = kind(floats(*range(6)), deleter=False)

    tensor = dlx.from_dlpack(producer)

    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    del tensor
    assert producer.deleted == 0
    for made in producer.exports:
        ALIVE.pop(made.address)


def test_item_06_exported_deleter_and_manager_ctx_are_never_null():
    for options in ({}, {"max_version": (1, 3)}, {"max_version": (1, 3), "copy": True}):
        for tensor in (dlx.empty(()), dlx.empty(0), dlx.asarray(b"abc")):
            if tensor.readonly and options == {}:
                continue  # a legacy capsule cannot say read-only: item 59
            got = Imported(tensor.__dlpack__(**options))
            assert got.struct.deleter
            assert got.struct.manager_ctx
            got.free()


@pytest.mark.parametrize("kind", [Producer, LegacyProducer])
def test_item_07_deleter_runs_once_when_the_last_user_is_gone(kind):
    producer = kind(floats(*range(6)))
    tensor = dlx.from_dlpack(producer)
    view, other = tensor[0], memoryview(tensor)

    del tensor
    assert producer.deleted == 0
    other.release()
    del other
    assert producer.deleted == 0
    del view
    assert producer.deleted == 1


def test_item_08_flags_are_zero_by_default():
    assert export(dlx.empty(4)).flags == 0


def test_item_09_read_only_flag_goes_in_and_out():
    tensor = dlx.from_dlpack(Producer(floats(*range(6)), flags=READ_ONLY))

    assert tensor.readonly
    assert export(tensor).flags & READ_ONLY
    with pytest.raises(dlx.ReadOnlyError):
        tensor[0, 0] = 1


def test_item_09_padded_flag_goes_in_and_out():
    producer = Producer(bytes([1, 2, 15]), (3,), (1, 4, 1), flags=PADDED)

    tensor = dlx.from_dlpack(producer)

    assert tensor.tolist() == [1, 2, 15]
    assert export(tensor).flags == PADDED


def test_item_09_unknown_flags_are_refused_because_they_may_change_the_meaning():
    producer = Producer(flags=1 << 40)

    with pytest.raises(BufferError, match="flag"):
        dlx.from_dlpack(producer)
    gc.collect()
    assert producer.deleted == 1


def test_item_10_copied_export_is_owned_by_the_consumer_alone():
    tensor = dlx.asarray([1.0, 2.0, 3.0])
    got = Imported(tensor.__dlpack__(max_version=(1, 3), copy=True))
    assert got.flags & IS_COPIED
    assert not got.flags & READ_ONLY

    ctypes.c_double.from_address(got.data).value = 9.0

    assert tensor.tolist() == [1.0, 2.0, 3.0]
    got.free()


def test_item_10_is_copied_is_not_inherited_from_an_import():
    tensor = dlx.from_dlpack(Producer(floats(*range(6)), flags=IS_COPIED))

    assert not export(tensor).flags & IS_COPIED


@pytest.mark.parametrize("version", [(1, 0), (1, 1), (1, 2), (1, 3)])
def test_item_11_null_strides_mean_compact_row_major(version):
    producer = Producer(floats(*range(6)), strides=None, version=version)

    tensor = dlx.from_dlpack(producer)

    assert tensor.strides == (3, 1)
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 3)}])
def test_item_11_exported_strides_are_always_filled(options):
    for shape in ((), (0,), (1,), (2, 3), (2, 0, 3)):
        got = Imported(dlx.empty(shape).__dlpack__(**options))
        assert got.strides is not None or shape == ()
        got.free()


@pytest.mark.parametrize("strides", [None, "compact"])
def test_item_12_null_shape_is_accepted_for_a_scalar(strides):
    producer = Producer(floats(7), (), shape_null=True, strides=strides)

    assert dlx.from_dlpack(producer).item() == 7


def test_item_13_alignment_is_no_condition_and_the_export_has_offset_zero():
    producer = Producer(b"\0" + floats(*range(6)), byte_offset=1)

    tensor = dlx.from_dlpack(producer)

    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert export(tensor).data == producer.address + 1


@pytest.mark.parametrize("kind", [Producer, LegacyProducer])
def test_item_14_byte_offset_is_honoured(kind):
    producer = kind(floats(-1, -1, *range(6)), byte_offset=8)

    tensor = dlx.from_dlpack(producer)

    assert tensor.data_ptr == producer.address + 8
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_item_14_exported_byte_offset_is_folded_into_data():
    tensor = dlx.from_dlpack(Producer(floats(-1, *range(6)), byte_offset=4))[1:, 1:]
    got = Imported(tensor.__dlpack__(max_version=(1, 3)))

    assert got.tensor.byte_offset == 0
    assert got.data == tensor.data_ptr
    got.free()


@pytest.mark.parametrize("data", [None, "address"])
def test_item_15_empty_tensors_come_with_or_without_data(data):
    options = {} if data else {"data": "NULL"}
    tensor = dlx.from_dlpack(Producer(shape=(0, 3), **options))

    assert tensor.shape == (0, 3)
    assert tensor.tolist() == []


def test_item_15_empty_tensors_go_out_with_null_data():
    assert export(dlx.empty((0, 3))).data is None


def test_item_16_sizes_are_rounded_to_bytes_and_packed_ones_are_exact():
    assert dlx.empty((3, 5), dtype="float32").nbytes == 60
    assert dlx.empty((3, 5), dtype="int4").nbytes == 8
    assert dlx.empty(9, dtype="uint1").nbytes == 2
    assert dlx.empty(3, dtype="float32x4").nbytes == 48


def test_item_17_foreign_byte_order_is_never_shared():
    numpy = pytest.importorskip("numpy", reason="NumPy has arrays of foreign byte order")
    swapped = numpy.arange(3, dtype=numpy.dtype("f4").newbyteorder())

    with pytest.raises(BufferError, match="astype"):
        dlx.from_dlpack(swapped)
    with pytest.raises(dlx.CopyRefusedError, match="astype"):
        dlx.asarray(swapped, copy=False)
    assert dlx.asarray(swapped).tolist() == swapped.tolist()


def test_item_18_bool_is_code_6_with_8_bits():
    assert export(dlx.empty(2, dtype="bool")).dtype == (6, 8, 1)
    assert dlx.from_dlpack(Producer(b"\1\0", (2,), (6, 8, 1))).tolist() == [True, False]
    with pytest.raises(BufferError):
        dlx.from_dlpack(Producer(shape=(2,), dtype=(6, 1, 1)))


def test_item_19_sub_byte_elements_are_packed_from_the_low_bit_on():
    tensor = dlx.from_dlpack(Producer(bytes([0x21, 0x0F]), (3,), (1, 4, 1)))

    assert tensor.tolist() == [1, 2, 15]
    assert export(tensor).flags == 0


@pytest.mark.parametrize(
    ("dtype", "good"),
    [
        ((15, 6, 1), True),
        ((16, 6, 1), True),
        ((17, 4, 1), True),
        ((15, 8, 1), False),
        ((17, 8, 1), False),
    ],
)
def test_item_20_fp6_and_fp4_have_6_and_4_bits(dtype, good):
    producer = Producer(shape=(8,), dtype=dtype)
    if good:
        assert dlx.from_dlpack(producer).size == 8
    else:
        with pytest.raises(BufferError, match="dtype"):
            dlx.from_dlpack(producer)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ((5, 32, 1), "complex32"),
        ((18, 32, 1), "bcomplex32"),
        ((4, 16, 1), "bfloat16"),
        ((10, 8, 1), "float8_e4m3fn"),
    ],
)
def test_item_21_dtype_codes_have_the_standard_s_meaning(dtype, name):
    assert str(dlx.from_dlpack(Producer(dtype=dtype)).dtype) == name


@pytest.mark.parametrize("code", [19, 99, 255])
def test_item_21_unknown_codes_are_refused(code):
    with pytest.raises(BufferError, match="dtype"):
        dlx.from_dlpack(Producer(dtype=(code, 32, 1)))


def test_item_22_cpu_memory_has_device_id_0():
    assert export(dlx.empty(3)).device == (1, 0)
    assert dlx.from_dlpack(Producer(device=(1, 5))).device == "cpu"


def test_item_23_device_of_an_import_keeps_the_producer_s_number():
    tensor = dlx.from_dlpack(Producer(device=(2, 3)))

    assert tensor.device == dlx.Device("cuda:3")
    assert tensor.__dlpack_device__() == (2, 3)


def test_item_24_ext_dev_is_carried_but_never_interpreted():
    tensor = dlx.from_dlpack(Producer(device=(12, 7)))

    assert tensor.__dlpack_device__() == (12, 7)
    with pytest.raises(dlx.Error):
        tensor.tolist()
    with pytest.raises(BufferError):
        memoryview(tensor)


def test_exports_are_all_freed():
    """The harness itself: nothing of this module is left over."""
    gc.collect()
    assert [made for made in ALIVE.values() if isinstance(made, Export) and made.deleted] == []
