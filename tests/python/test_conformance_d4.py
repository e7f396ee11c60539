"""docs/conformance.md: `__dlpack__`, the producer's side.

Items 45, 46, 48 and 57, about streams, are in test_conformance_streams.py.
"""

import collections
import ctypes
import enum
import re
import struct

import pytest

import dlx
from dlpack_ctypes import IS_COPIED, LEGACY, READ_ONLY, VERSIONED, Imported, Producer, name_of


def exported(tensor, **options):
    got = Imported(tensor.__dlpack__(**{"max_version": (1, 3), **options}))
    got.free()
    return got


def test_item_40_every_keyword_of_the_signature_is_accepted():
    capsule = dlx.empty(3).__dlpack__(stream=None, max_version=(1, 3), dl_device=(1, 0), copy=None)

    assert name_of(capsule) == VERSIONED


def test_item_40_one_positional_stream_is_accepted_from_old_consumers():
    assert name_of(dlx.empty(3).__dlpack__(None)) == LEGACY


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((None, None), {}),
        ((), {"device": None}),
        ((), {"Stream": None}),
        ((None,), {"stream": None}),
    ],
)
def test_item_40_anything_else_is_a_type_error(arguments, keywords):
    with pytest.raises(TypeError):
        dlx.empty(3).__dlpack__(*arguments, **keywords)


@pytest.mark.parametrize("stream", [-1, 0, 1, 2, 1 << 40])
def test_item_41_cpu_takes_no_stream(stream):
    with pytest.raises((BufferError, ValueError), match="stream") as caught:
        dlx.empty(3).__dlpack__(stream=stream, max_version=(1, 3))
    assert not isinstance(caught.value, TypeError)


@pytest.mark.parametrize("stream", [-2, -(1 << 40)])
def test_item_42_streams_below_minus_one_are_refused(stream):
    with pytest.raises((BufferError, ValueError), match="stream"):
        dlx.empty(3).__dlpack__(stream=stream, max_version=(1, 3))


@pytest.mark.parametrize("stream", ["1", 1.0, (1,)])
def test_item_42_streams_are_integers(stream):
    with pytest.raises((TypeError, ValueError), match="stream"):
        dlx.empty(3).__dlpack__(stream=stream)


def test_item_42_minus_one_asks_for_no_order_on_a_device_without_a_backend():
    tensor = dlx.from_dlpack(Producer(device=(14, 0)))

    assert name_of(tensor.__dlpack__(stream=-1, max_version=(1, 3))) == VERSIONED
    with pytest.raises((BufferError, ValueError), match="stream"):
        tensor.__dlpack__(stream=1, max_version=(1, 3))


@pytest.mark.parametrize(("device", "bad"), [((2, 0), [0]), ((10, 0), [1, 2])])
def test_items_43_44_stream_numbers_that_the_device_does_not_have(device, bad):
    tensor = dlx.from_dlpack(Producer(device=device))

    for stream in bad:
        with pytest.raises((BufferError, ValueError), match="stream"):
            tensor.__dlpack__(stream=stream, max_version=(1, 3))


def test_item_47_export_to_the_cpu_takes_no_stream():
    with pytest.raises((BufferError, ValueError)):
        dlx.empty(3).__dlpack__(dl_device=(1, 0), stream=1, max_version=(1, 3))


@pytest.mark.parametrize("asked", [(1, 0), (1, 1), (1, 3), (1, 99), (2, 0), (7, 1)])
def test_item_49_any_version_from_1_0_on_gives_version_1_3(asked):
    got = exported(dlx.empty(3), max_version=asked)

    assert got.versioned
    assert got.version == (1, 3)


@pytest.mark.parametrize("options", [{}, {"max_version": None}])
def test_item_50_no_max_version_gives_a_legacy_capsule(options):
    assert name_of(dlx.empty(3).__dlpack__(**options)) == LEGACY


@pytest.mark.parametrize("asked", [(0, 8), (0, 0)])
def test_item_51_a_consumer_from_before_1_0_gets_a_legacy_capsule(asked):
    assert name_of(dlx.empty(3).__dlpack__(max_version=asked)) == LEGACY


@pytest.mark.parametrize("asked", ["1.3", 1, (1,), (1, 2, 3), (1.0, 3), ("1", "3")])
def test_item_52_max_version_is_a_pair_of_ints(asked):
    with pytest.raises((TypeError, ValueError), match="max_version"):
        dlx.empty(3).__dlpack__(max_version=asked)


@pytest.mark.parametrize("asked", ["cpu", 1, (1,), (1, 0, 0), ("cpu", 0)])
def test_item_53_dl_device_is_a_pair_of_ints(asked):
    with pytest.raises((TypeError, ValueError), match="dl_device"):
        dlx.empty(3).__dlpack__(dl_device=asked, max_version=(1, 3))


@pytest.mark.parametrize(
    "asked", [(2, 0), (3, 0), (13, 0), (14, 0), (10, 3), (99, 0), (12, 0), (1, 1)]
)
def test_items_53_58_unsupported_device_is_a_buffer_error_and_no_type_error(asked):
    with pytest.raises(BufferError) as caught:
        dlx.empty(3).__dlpack__(dl_device=asked, max_version=(1, 3))
    assert not isinstance(caught.value, TypeError)


@pytest.mark.parametrize("asked", [(2**32 + 1, 0), (1, 2**32), (1, -(2**40))])
def test_item_58_numbers_beyond_32_bits_are_no_devices(asked):
    with pytest.raises(BufferError, match=re.escape(str(asked))):
        dlx.empty(3).__dlpack__(dl_device=asked, max_version=(1, 3))


@pytest.mark.parametrize("base", [enum.Enum, enum.IntEnum])
def test_item_53_enum_members_are_device_types_too(base):
    class DLDeviceType(base):
        CPU = 1

    assert exported(dlx.empty(3), dl_device=(DLDeviceType.CPU, 0)).device == (1, 0)


def test_item_53_a_named_tuple_is_a_pair():
    pair = collections.namedtuple("Pair", "device_type device_id")
    assert exported(dlx.empty(3), dl_device=pair(1, 0)).device == (1, 0)


def test_item_54_export_to_the_cpu_is_offered():
    assert exported(dlx.empty(3), dl_device=(1, 0)).device == (1, 0)


def test_item_55_copy_true_copies_false_shares_none_shares():
    tensor = dlx.asarray([1.0, 2.0])

    assert exported(tensor, copy=True).data != tensor.data_ptr
    assert exported(tensor, copy=False).data == tensor.data_ptr
    assert exported(tensor, copy=None).data == tensor.data_ptr


def test_item_55_copy_true_in_a_legacy_capsule_copies_as_well():
    tensor = dlx.asarray([1.0, 2.0])
    got = Imported(tensor.__dlpack__(copy=True))

    assert got.data != tensor.data_ptr
    got.free()


@pytest.mark.parametrize("copy", ["yes", 1.5, object()])
def test_item_55_copy_is_a_bool_or_none(copy):
    with pytest.raises((TypeError, ValueError), match="copy"):
        dlx.empty(3).__dlpack__(copy=copy, max_version=(1, 3))


def test_item_56_is_copied_is_set_when_and_only_when_a_copy_was_made():
    tensor = dlx.asarray([1.0, 2.0])

    assert exported(tensor, copy=True).flags & IS_COPIED
    assert not exported(tensor, copy=False).flags & IS_COPIED
    assert not exported(tensor).flags & IS_COPIED


def test_item_58_export_from_an_unreachable_device_is_a_buffer_error():
    tensor = dlx.from_dlpack(Producer(device=(2, 0)))
    for options in ({"dl_device": (1, 0)}, {"copy": True}):
        with pytest.raises(BufferError) as caught:
            tensor.__dlpack__(max_version=(1, 3), **options)
        assert not isinstance(caught.value, TypeError)


def test_item_59_read_only_data_is_marked():
    tensor = dlx.asarray(b"abc")

    assert exported(tensor).flags & READ_ONLY
    assert not exported(tensor, copy=True).flags & READ_ONLY


def test_item_59_read_only_data_is_refused_in_a_legacy_capsule_with_what_to_do():
    with pytest.raises(BufferError, match=r"max_version .*copy.* dlx\.convert\(\)"):
        dlx.asarray(b"abc").__dlpack__()
    assert name_of(dlx.asarray(b"abc").__dlpack__(copy=True)) == LEGACY


def test_item_60_views_are_exported_without_a_copy():
    tensor = dlx.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for view in (tensor.T, tensor[:, 1:], tensor[1], tensor[:, ::2], tensor.expand_dims(0)):
        got = exported(view)
        assert (got.data, got.shape, got.strides) == (view.data_ptr, view.shape, view.strides)
        assert got.flags == 0


def test_item_60_repeated_elements_are_exported_as_they_are_and_read_only():
    got = exported(dlx.asarray([1.0]).broadcast_to((3,)))

    assert got.strides == (0,)
    assert got.flags == READ_ONLY


@pytest.fixture
def policy():
    yield dlx.set_export_negative_strides
    dlx.set_export_negative_strides("copy")


def reversed_tensor():
    return dlx.asarray([1.0, 2.0, 3.0])[::-1]


def test_negative_strides_are_exported_as_a_marked_copy_by_default():
    tensor = reversed_tensor()
    got = Imported(tensor.__dlpack__(max_version=(1, 3)))

    assert got.strides == (1,)
    assert got.flags & IS_COPIED
    assert struct.unpack("=3d", ctypes.string_at(got.data, 24)) == (3.0, 2.0, 1.0)
    got.free()


def test_negative_strides_are_shared_where_a_copy_is_forbidden():
    tensor = reversed_tensor()
    got = exported(tensor, copy=False)

    assert got.strides == (-1,)
    assert got.data == tensor.data_ptr
    assert not got.flags & IS_COPIED


def test_negative_strides_are_shared_by_policy(policy):
    policy("share")

    assert exported(reversed_tensor()).strides == (-1,)


def test_negative_strides_are_an_error_by_policy(policy):
    policy("error")

    with pytest.raises(BufferError, match="negative"):
        reversed_tensor().__dlpack__(max_version=(1, 3))


def test_negative_strides_are_refused_in_a_legacy_capsule_that_cannot_be_marked():
    with pytest.raises(BufferError, match="negative"):
        reversed_tensor().__dlpack__()


@pytest.mark.parametrize("minor", [0, 1, 2, 3, 4, 99])
def test_item_61_a_minor_version_changes_nothing_that_is_read(minor):
    producer = Producer(struct.pack("=6f", *range(6)), version=(1, minor))

    assert dlx.from_dlpack(producer).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert producer.deleted == 1


@pytest.mark.parametrize("version", [(0, 8), (2, 0), (2, 3), (77, 1)])
def test_item_61_a_major_version_is_another_abi(version):
    producer = Producer(struct.pack("=6f", *range(6)), version=version)

    with pytest.raises(BufferError, match=f"{version[0]}.{version[1]}"):
        dlx.from_dlpack(producer)
    assert producer.deleted == 1


def test_item_62_both_methods_are_there():
    assert callable(dlx.Tensor.__dlpack__)
    assert callable(dlx.Tensor.__dlpack_device__)
