"""Arrow's structs are released exactly once, on every path, and nothing leaks."""

import gc
import threading
import weakref

import pytest

import dlx
import memory
from arrow_support import OnlyArray, OnlyDeviceArray, OnlyStream, counted, pyarrow
from concurrency import together
from dlx import raw


def test_an_export_keeps_the_memory_and_gives_it_back_once():
    tensor, calls = counted([[1, 2], [3, 4]])
    array = pyarrow.array(tensor)
    part = array[1:].flatten()
    del tensor, array
    gc.collect()
    assert calls == []
    assert part.to_pylist() == [3, 4]
    del part
    gc.collect()
    assert calls == [1]


def test_capsules_that_nobody_consumes_give_it_back_once():
    for method in ("__arrow_c_array__", "__arrow_c_device_array__", "__arrow_c_schema__"):
        tensor, calls = counted([[1, 2], [3, 4]])
        capsules = getattr(tensor, method)()
        del tensor
        assert calls == ([1] if method == "__arrow_c_schema__" else [])
        del capsules
        assert calls == [1]


def test_a_consumed_capsule_gives_nothing_back():
    tensor, calls = counted([1, 2])
    schema, array = tensor.__arrow_c_array__()
    imported = dlx._native._from_arrow(schema, array, None)[0]
    del tensor, schema, array
    assert calls == []
    assert imported.tolist() == [1, 2]
    del imported
    assert calls == [1]


def test_an_import_keeps_the_memory_as_long_as_a_view_lives():
    owner = bytearray(24)
    memory = memoryview(owner)
    source = pyarrow.Array.from_buffers(pyarrow.int64(), 3, [None, pyarrow.py_buffer(memory)])
    gone = weakref.ref(source)
    tensor = dlx.asarray(source)
    view = tensor[1:]
    del source, tensor, memory
    gc.collect()
    assert gone() is None
    with pytest.raises(BufferError):
        owner.append(1)
    del view
    gc.collect()
    owner.append(1)


def test_failed_imports_leave_the_array_to_its_capsule():
    tensor, calls = counted([True, False], "bool")
    number, number_calls = counted([1, 2])
    bad_schema = pyarrow.string().__arrow_c_schema__()
    _, array = number.__arrow_c_array__()
    with pytest.raises(dlx.UnsupportedError):
        dlx._native._from_arrow(bad_schema, array, None)
    with pytest.raises(dlx.CopyRefusedError):
        dlx.asarray(OnlyArray(tensor), copy=False)
    del tensor, number
    assert calls == [1]
    assert number_calls == []
    del array
    assert number_calls == [1]


def test_a_capsule_that_several_threads_open_is_imported_once():
    values = dlx.empty(32_000_000, dtype="bool")  # unpacking them takes a while, without the GIL
    tensor, calls = counted(values, "bool")
    schema, array = tensor.__arrow_c_array__()
    del tensor
    made, refused = [], []

    def work(_):
        try:
            made.append(dlx._native._from_arrow(schema, array, None)[0].shape)
        except dlx.InvalidArgumentError as error:
            refused.append(str(error))

    together(*[work] * 3, rounds=1)
    assert made == [(32_000_000,)]
    assert len(refused) == 2
    assert all("released or moved" in text for text in refused)
    assert calls == [1]


def test_a_capsule_that_several_threads_are_refused_keeps_its_array():
    with_null = pyarrow.array([*range(200_000), None])  # finding it takes a while, without the GIL
    for _ in range(50):
        schema, array = with_null.__arrow_c_array__()

        def work(_, schema=schema, array=array):
            with pytest.raises((dlx.UnsupportedError, dlx.InvalidArgumentError)):
                dlx._native._from_arrow(schema, array, True)

        together(*[work] * 4, rounds=1)
        assert len(pyarrow.Array._import_from_c_capsule(schema, array)) == len(with_null)


@pytest.mark.parametrize("source", [[[1, 2]], [[1], [2]]])
def test_a_stream_is_not_read_twice(source):
    class Cached:
        capsule = pyarrow.chunked_array(source).__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema=None):
            return self.capsule

    try:
        assert dlx.asarray(Cached()).tolist() == [1, 2]
    except dlx.UnsupportedError:
        assert len(source) == 2
    with pytest.raises(dlx.InvalidArgumentError, match="released or moved"):
        dlx.asarray(Cached())


def test_release_on_threads_that_have_no_python():
    # PyArrow frees the parts of a filtered table on its own threads; dlx may not need the GIL there.
    calls = []
    for _ in range(20):
        tensor, made = counted(list(range(1000)))
        calls.append(made)
        held = [pyarrow.array(tensor)]
        del tensor
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()
    dlx._native._drain()
    assert calls == [[1]] * 20


def test_raw_structs_go_round():
    tensor, calls = counted([[1, 2], [3, 4]])
    with raw.from_tensor(tensor) as handle:
        array, schema = raw.dlx_tensor_to_arrow(handle)
        device_array, device_schema = raw.dlx_tensor_to_arrow_device(handle)
    del tensor
    assert (array.length, array.null_count, array.n_buffers) == (2, 0, 1)
    assert (device_array.device_type, device_array.device_id) == (raw.ARROW_DEVICE_CPU, -1)
    copied, back = raw.dlx_tensor_from_arrow(array, schema)
    assert not copied
    assert not array.release
    raw.arrow_release(array)
    raw.arrow_release(schema)
    raw.arrow_release(device_schema)
    assert raw.to_tensor(back).tolist() == [[1, 2], [3, 4]]
    assert calls == []
    raw.arrow_release(device_array.array)
    gc.collect()
    assert calls == [1]


NUMBERS = pyarrow.array(range(64))
LISTS = pyarrow.array([[1, 2], [3, 4]], pyarrow.list_(pyarrow.int32(), 2))
BOOLEANS = pyarrow.array([True] * 64)
TENSOR = dlx.asarray([[1, 2], [3, 4]])
TENSOR_TYPE = pyarrow.fixed_shape_tensor(pyarrow.int64(), [2])
ROUNDS = {
    "numbers": lambda: dlx.asarray(NUMBERS),
    "lists": lambda: dlx.asarray(LISTS),
    "booleans": lambda: dlx.asarray(BOOLEANS),
    "device": lambda: dlx.asarray(OnlyDeviceArray(NUMBERS)),
    "stream": lambda: dlx.asarray(OnlyStream(pyarrow.chunked_array([NUMBERS]))),
    "unconsumed": lambda: TENSOR.__arrow_c_array__(),
    "unconsumed, device": lambda: TENSOR.__arrow_c_device_array__(),
    "schema": lambda: TENSOR.__arrow_c_schema__(),
    "export": lambda: pyarrow.array(TENSOR),
    "tensors": lambda: TENSOR.__arrow_c_array__(TENSOR_TYPE.__arrow_c_schema__()),
    "copied export": lambda: pyarrow.array(TENSOR.T),
    "refused": lambda: memory.failing(dlx.asarray, BOOLEANS, copy=False),
}


@pytest.mark.heavy
@memory.READABLE
@pytest.mark.parametrize("what", ROUNDS)
def test_memory_stays_flat(what):
    memory.stays_flat(ROUNDS[what])
