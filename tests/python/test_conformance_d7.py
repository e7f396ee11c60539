"""docs/conformance.md: the C exchange API of DLPack 1.3, consumed and produced."""

import ctypes
import gc
import struct

import pytest

import dlx
from dlpack_ctypes import (
    ALLOCATOR,
    FROM_OBJECT,
    READ_ONLY,
    STREAM,
    TO_OBJECT,
    DLManagedTensorVersioned,
    DLPackVersion,
    DLTensor,
    ExchangeAPI,
    Imported,
    Producer,
    make_capsule,
    name_of,
    table_of,
)
from interpreter import python_api

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
KEEP = []


def with_table(make, version=(1, 3), older=None):
    """A producer class whose exchange table calls `make(self)` for its Export."""
    calls = []

    @FROM_OBJECT
    def from_object(address, out):
        made = make(ctypes.cast(address, ctypes.py_object).value)
        calls.append(address)
        if made is None:
            return -1
        ctypes.cast(out, ctypes.POINTER(ctypes.c_void_p))[0] = made.address
        return 0

    table = ExchangeAPI()
    table.version = DLPackVersion(*version)
    table.managed_tensor_allocator = ALLOCATOR(lambda *args: -1)
    table.managed_tensor_from_py_object_no_sync = from_object
    table.managed_tensor_to_py_object_no_sync = TO_OBJECT(lambda *args: -1)
    table.current_work_stream = STREAM(lambda *args: 0)
    table.prev_api = older
    KEEP.append((table, from_object))
    capsule = make_capsule(ctypes.addressof(table), b"dlpack_exchange_api")

    class WithTable(Producer):
        __dlpack_c_exchange_api__ = capsule

    WithTable.table_calls = calls
    WithTable.table = table
    return WithTable


python = python_api()


def test_item_78_type_exposes_a_capsule_named_dlpack_exchange_api():
    capsule = dlx.Tensor.__dlpack_c_exchange_api__

    assert name_of(capsule) == b"dlpack_exchange_api"


def test_item_79_table_is_static_and_on_the_type():
    assert "__dlpack_c_exchange_api__" in dlx.Tensor.__dict__
    first, second = dlx.empty(1), dlx.empty(1)
    assert type(first).__dlpack_c_exchange_api__ is type(second).__dlpack_c_exchange_api__


def test_items_80_81_every_function_is_there_in_the_standard_s_order():
    table = table_of(dlx.Tensor)

    for name in (
        "managed_tensor_allocator",
        "managed_tensor_from_py_object_no_sync",
        "managed_tensor_to_py_object_no_sync",
        "dltensor_from_py_object_no_sync",
        "current_work_stream",
    ):
        assert ctypes.cast(getattr(table, name), ctypes.c_void_p).value, name


def test_item_82_produced_table_is_of_version_1_3():
    table = table_of(dlx.Tensor)

    assert (table.version.major, table.version.minor) == (1, 3)
    assert table.prev_api is None


def test_item_82_a_table_of_this_major_is_used():
    cls = with_table(lambda self: self.export())
    producer = cls(struct.pack("=6f", *range(6)))

    tensor = dlx.from_dlpack(producer)

    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert cls.table_calls
    assert producer.calls == []


def test_item_82_a_newer_major_is_left_for_its_prev_api():
    old = with_table(lambda self: self.export())
    new = with_table(lambda self: 1 / 0, version=(2, 0), older=ctypes.addressof(old.table))
    producer = new(struct.pack("=6f", *range(6)))

    assert dlx.from_dlpack(producer).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (len(old.table_calls), len(new.table_calls), producer.calls) == (1, 0, [])


def test_item_82_without_a_table_of_this_major_the_method_is_called():
    cls = with_table(lambda self: 1 / 0, version=(2, 0))
    producer = cls(struct.pack("=6f", *range(6)))

    assert dlx.from_dlpack(producer).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert cls.table_calls == []
    assert len(producer.calls) == 1


def test_item_83_table_stays_at_one_address():
    first = ctypes.addressof(table_of(dlx.Tensor))
    gc.collect()

    assert ctypes.addressof(table_of(dlx.Tensor)) == first


def test_item_84_a_subclass_that_only_inherits_a_table_is_asked_by_method():
    base = with_table(lambda self: self.export())

    class Derived(base):
        pass

    producer = Derived(struct.pack("=6f", *range(6)))

    assert dlx.from_dlpack(producer).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert base.table_calls == []
    assert len(producer.calls) == 1


def test_item_84_table_refuses_an_object_of_another_type():
    table = table_of(dlx.Tensor)
    out = ctypes.POINTER(DLManagedTensorVersioned)()
    stranger = object()

    with pytest.raises((TypeError, dlx.Error, BufferError)):
        table.managed_tensor_from_py_object_no_sync(id(stranger), ctypes.byref(out))


def test_item_85_current_work_stream_of_the_cpu_is_null():
    out = ctypes.c_void_p(123)

    assert table_of(dlx.Tensor).current_work_stream(1, 0, ctypes.byref(out)) == 0
    assert out.value is None


def test_item_86_borrowed_dltensor_is_the_tensor_s_own():
    tensor = dlx.asarray([[1.0, 2.0], [3.0, 4.0]])
    out = DLTensor()

    assert table_of(dlx.Tensor).dltensor_from_py_object_no_sync(id(tensor), ctypes.byref(out)) == 0
    assert out.data == tensor.data_ptr
    assert tuple(out.shape[:2]) == (2, 2)
    assert tuple(out.strides[:2]) == (2, 1)
    assert out.byte_offset == 0


def test_item_86_borrowing_refuses_what_cannot_be_marked():
    table, out = table_of(dlx.Tensor), DLTensor()
    backwards = dlx.asarray([1.0, 2.0])[::-1]

    with pytest.raises(BufferError):
        table.dltensor_from_py_object_no_sync(id(backwards), ctypes.byref(out))


def test_item_87_to_py_object_takes_the_tensor_over():
    table = table_of(dlx.Tensor)
    producer = Producer(struct.pack("=6f", *range(6)))
    made = producer.export()
    out = ctypes.c_void_p()
    struct_pointer = ctypes.cast(made.address, ctypes.POINTER(DLManagedTensorVersioned))

    assert table.managed_tensor_to_py_object_no_sync(struct_pointer, ctypes.byref(out)) == 0

    tensor = ctypes.cast(out, ctypes.py_object).value
    python.Py_DecRef.argtypes = [ctypes.py_object]
    python.Py_DecRef(tensor)  # the reference that the function gave
    assert type(tensor) is dlx.Tensor
    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert producer.deleted == 0
    del tensor
    assert producer.deleted == 1


def test_item_88_failure_without_an_exception_is_a_buffer_error():
    # The other half, a table that does set one, is torch's: test_interop_torch.py.
    cls = with_table(lambda self: None)

    with pytest.raises(BufferError, match="without a reason"):
        dlx.from_dlpack(cls())


def test_item_88_export_through_the_table_keeps_flags():
    table = table_of(dlx.Tensor)
    out = ctypes.POINTER(DLManagedTensorVersioned)()
    tensor = dlx.asarray(b"abc")

    assert table.managed_tensor_from_py_object_no_sync(id(tensor), ctypes.byref(out)) == 0
    made = out.contents
    assert (made.flags, made.version.major, made.version.minor) == (READ_ONLY, 1, 3)
    assert made.dl_tensor.data == tensor.data_ptr
    DELETER(made.deleter)(ctypes.addressof(made))


@pytest.mark.parametrize("flags", [0, READ_ONLY])
def test_item_89_table_and_method_give_the_same_tensor(flags):
    data = struct.pack("=6f", *range(6))
    cls = with_table(lambda self: self.export())

    fast, slow = cls(data, flags=flags), Producer(data, flags=flags)
    by_table, by_method = dlx.from_dlpack(fast), dlx.from_dlpack(slow)

    assert (len(cls.table_calls), len(fast.calls), len(slow.calls)) == (1, 0, 1)
    for name in ("shape", "strides", "dtype", "device", "readonly"):
        assert getattr(by_table, name) == getattr(by_method, name)
    assert by_table.tolist() == by_method.tolist()
    del by_table, by_method
    assert (fast.deleted, slow.deleted) == (1, 1)


def test_item_90_a_ctypes_consumer_that_keeps_the_gil_takes_a_capsule():
    released = []
    memory = (ctypes.c_float * 6)(*range(6))
    tensor = dlx.from_pointer(
        ctypes.addressof(memory),
        (2, 3),
        "float32",
        owner=memory,
        on_release=lambda: released.append(1),
    )

    got = Imported(tensor.__dlpack__(max_version=(1, 3)))  # by ctypes.PyDLL, as its functions are
    del tensor

    assert (got.shape, got.strides, got.data) == ((2, 3), (3, 1), ctypes.addressof(memory))
    assert released == []
    got.free()
    assert released == [1]


def test_item_91_an_integer_table_of_old_builds_is_ignored():
    class Old(Producer):
        __c_dlpack_exchange_api__ = 12345
        __dlpack_c_exchange_api__ = 12345

    producer = Old(struct.pack("=6f", *range(6)))

    assert dlx.from_dlpack(producer).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_item_91_a_capsule_of_another_name_is_ignored():
    class Odd(Producer):
        __dlpack_c_exchange_api__ = make_capsule(16, b"something_else")

    producer = Odd(struct.pack("=6f", *range(6)))

    assert dlx.from_dlpack(producer).tolist() == [[0, 1, 2], [3, 4, 5]]
