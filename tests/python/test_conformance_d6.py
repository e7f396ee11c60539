"""docs/conformance.md: `from_dlpack`, the consumer's side."""

import gc
import struct

import pytest

import dlx
from dlpack_ctypes import IS_COPIED, READ_ONLY, Imported, LegacyProducer, Producer


def floats(*values):
    return struct.pack(f"={len(values)}f", *values)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((), {}),
        ((1, 2), {}),
        ((), {"x": 1}),
        ((1,), {"dtype": "float32"}),
        ((1,), {"stream": None}),
    ],
)
def test_item_65_signature_is_the_standard_s(arguments, keywords):
    with pytest.raises(TypeError):
        dlx.from_dlpack(*arguments, **keywords)


def test_item_65_device_and_copy_are_keywords():
    tensor = dlx.from_dlpack(Producer(floats(*range(6))), device="cpu", copy=None)

    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("device", [(1, 0), (2, 1), (10, 0)])
def test_item_66_without_a_device_the_data_stays_where_it_is(device):
    assert tuple(dlx.from_dlpack(Producer(device=device)).device) == device


def test_item_67_device_is_queried_and_the_cpu_is_given_no_stream():
    queried = []

    class Asked(Producer):
        def __dlpack_device__(self):
            queried.append(1)
            return (1, 0)

    producer = Asked()
    dlx.from_dlpack(producer)

    assert queried
    assert producer.calls[0]["stream"] is None


@pytest.mark.parametrize("version", [(2, 0), (99, 0), (0, 9)])
def test_item_68_version_is_verified_although_it_was_asked_for(version):
    producer = Producer(version=version)

    with pytest.raises(BufferError, match=r"DLPack version \d+\.\d \(expected 1\.x\)"):
        dlx.from_dlpack(producer)
    assert producer.calls[0]["max_version"][0] == 1


def test_item_69_new_keywords_are_tried_first_and_the_old_signature_is_found_once_per_type():
    signatures = []

    class Old(LegacyProducer):
        def __dlpack__(self, stream=None):
            signatures.append("old")
            return super().__dlpack__(stream)

    first, second = Old(floats(*range(6))), Old(floats(*range(6)))

    assert dlx.from_dlpack(first).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert dlx.from_dlpack(second).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert signatures == ["old", "old"]


def test_item_69_a_real_type_error_of_a_new_producer_is_shown_at_once():
    calls = []

    class Broken(Producer):
        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            calls.append(1)
            raise TypeError("my own reason")

    with pytest.raises(TypeError, match="my own reason"):
        dlx.from_dlpack(Broken())
    assert calls == [1]


def test_item_69_a_real_type_error_of_an_old_producer_is_shown():
    class Broken(LegacyProducer):
        def __dlpack__(self, stream=None):
            raise TypeError("my own reason")

    with pytest.raises(TypeError, match="my own reason"):
        dlx.from_dlpack(Broken())


def test_item_70_copy_true_of_an_old_producer_is_made_by_dlx():
    producer = LegacyProducer(floats(*range(6)))

    tensor = dlx.from_dlpack(producer, copy=True)

    assert tensor.data_ptr != producer.address
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_item_70_copy_false_of_an_old_producer_shares_or_is_refused():
    producer = LegacyProducer(floats(*range(6)))

    try:
        tensor = dlx.from_dlpack(producer, copy=False)
    except dlx.CopyRefusedError:
        return
    assert tensor.data_ptr == producer.address


def test_item_70_copy_true_is_passed_on_and_not_made_twice():
    producer = Producer(floats(*range(6)), flags=IS_COPIED)

    tensor = dlx.from_dlpack(producer, copy=True)

    assert producer.calls[0]["copy"] is True
    assert tensor.data_ptr == producer.address


def test_item_70_copy_true_that_the_producer_ignored_is_made_by_dlx():
    # torch copies without setting the flag; that costs a second copy, but never shares by mistake.
    producer = Producer(floats(*range(6)))

    tensor = dlx.from_dlpack(producer, copy=True)

    assert tensor.data_ptr != producer.address


def test_item_71_copy_false_that_the_producer_broke_is_an_error():
    with pytest.raises(dlx.CopyRefusedError) as caught:
        dlx.from_dlpack(Producer(flags=IS_COPIED), copy=False)
    assert isinstance(caught.value, BufferError)
    assert isinstance(caught.value, ValueError)


def test_item_72_another_device_is_refused_by_one_class_for_both_conventions():
    with pytest.raises(BufferError):
        dlx.from_dlpack(Producer(device=(2, 0)), device="cpu", copy=False)
    with pytest.raises((BufferError, RuntimeError)):
        dlx.from_dlpack(Producer(), device="cuda:0")


@pytest.mark.parametrize(
    "error",
    [KeyError("a"), RuntimeError("b"), BufferError("c"), MemoryError(), KeyboardInterrupt()],
)
def test_item_73_exceptions_of_the_producer_pass_unchanged(error):
    class Broken(Producer):
        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            raise error

    with pytest.raises(type(error)) as caught:
        dlx.from_dlpack(Broken())
    assert caught.value is error


def test_item_73_exceptions_of_the_device_query_pass_unchanged():
    class Broken(Producer):
        def __dlpack_device__(self):
            raise LookupError("no idea")

    with pytest.raises(LookupError, match="no idea"):
        dlx.from_dlpack(Broken())


@pytest.mark.parametrize("thing", [object(), 3, "text", [1, 2], None, b"bytes"])
def test_item_74_an_object_without_the_methods_is_an_attribute_error(thing):
    with pytest.raises(AttributeError, match="__dlpack"):
        dlx.from_dlpack(thing)


def test_item_75_read_only_data_gives_a_read_only_tensor():
    tensor = dlx.from_dlpack(Producer(flags=READ_ONLY))

    assert tensor.readonly
    assert tensor.T.readonly
    assert tensor[0].readonly
    with pytest.raises((BufferError, ValueError)):
        tensor[0, 0] = 1
    assert memoryview(tensor).readonly


@pytest.mark.parametrize(
    "bad",
    [
        {"ndim": -1},
        {"ndim": 2**31 - 1},
        {"shape_null": True},
        {"shape": (-1, 2)},
        {"shape": (2**62, 2**62), "bytes": 64},
        {"shape": (3,), "strides": (2**62,)},
        {"dtype": (2, 32, 0)},
        {"dtype": (2, 0, 1)},
        {"dtype": (2, 33, 1)},
        {"dtype": (99, 8, 1)},
        {"data": "NULL"},
        {"device": (0, 0)},
        {"device": (-3, 0)},
        {"device": (1, -1)},
        {"byte_offset": 2**64 - 1},
    ],
)
def test_item_76_malformed_tensors_are_refused(bad):
    producer = Producer(**bad)

    with pytest.raises((BufferError, ValueError)) as caught:
        dlx.from_dlpack(producer)

    assert str(caught.value)
    gc.collect()
    assert producer.deleted <= 1


def test_item_76_lanes_are_kept():
    tensor = dlx.from_dlpack(Producer(floats(*range(8)), (2,), (2, 32, 4)))

    assert str(tensor.dtype) == "float32x4"
    assert tensor.itemsize == 16
    assert tensor.tolist() == [(0, 1, 2, 3), (4, 5, 6, 7)]


STANDARD = {
    "bool": (6, 8, 1), "int8": (0, 8, 1), "int16": (0, 16, 1), "int32": (0, 32, 1),
    "int64": (0, 64, 1), "uint8": (1, 8, 1), "uint16": (1, 16, 1), "uint32": (1, 32, 1),
    "uint64": (1, 64, 1), "float32": (2, 32, 1), "float64": (2, 64, 1), "complex64": (5, 64, 1),
    "complex128": (5, 128, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", STANDARD)
def test_item_77_every_dtype_of_the_standard_goes_in_and_out(name):
    tensor = dlx.from_dlpack(Producer(bytes(96), (2, 3), STANDARD[name]))
    got = Imported(tensor.__dlpack__(max_version=(1, 3)))

    assert got.dtype == STANDARD[name]
    assert str(tensor.dtype) == name
    assert tensor.tolist() == [[0, 0, 0], [0, 0, 0]]
    got.free()
