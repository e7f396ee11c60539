"""Many threads at once: on free-threaded builds of CPython truly so, elsewhere by short turns."""

import array
import importlib.machinery
import subprocess
import sys
import types

import pytest

import dlx
from concurrency import together

THREADS = 4

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(autouse=True)
def short_turns():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Producer:
    def __init__(self, value):
        self.tensor = dlx.asarray(array.array("q", [value] * 3))

    def __dlpack__(self, **keywords):
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


class LegacyProducer(Producer):
    def __dlpack__(self):
        return self.tensor.__dlpack__()


def test_classes_come_and_go_while_others_are_looked_up():
    kept = [type(f"Kept{i}", (Producer,), {})(i) for i in range(300)]

    def use(i):
        assert dlx.from_dlpack(kept[i % 300]).tolist() == [i % 300] * 3

    def make(i):
        base = LegacyProducer if i % 2 else Producer
        assert dlx.from_dlpack(type("Gone", (base,), {})(i)).tolist() == [i] * 3

    together(use, make, use, make)


def test_lists_are_read_while_others_change_them():
    numbers = [[1.0, 2.0] for _ in range(50)]

    def change(i):
        numbers[i % 40] = [float(i), float(i)]
        row = numbers[(i + 7) % 40]
        row.clear()
        row.extend((float(i), 2.0**i if i < 1000 else 0.0))
        if i % 10 == 0:
            numbers.append(numbers.pop())  # shorter for a moment

    def read(_):
        try:
            tensor = dlx.asarray(numbers)
        except (ValueError, TypeError):  # just then, a row was empty
            return
        assert tensor.ndim == 2
        assert tensor.dtype == "float64"

    together(change, read, change, read)


def test_interfaces_are_read_while_others_change_them():
    memory = [dlx.asarray(array.array("q", range(6))) for _ in range(2)]
    fields = dict(memory[0].__array_interface__)

    class Interface:
        __array_interface__ = fields

    def change(i):
        fields["data"] = (memory[i % 2].data_ptr, True)
        fields["shape"] = (2, 3) if i % 2 else (3, 2)
        fields["strides"] = None

    def read(_):
        assert sum(dlx.asarray(Interface()).numpy().ravel().tolist()) == 15

    pytest.importorskip("numpy", reason="sums the numbers")
    together(change, read, change, read)


def test_capsules_of_arrow_are_read_by_many_and_not_lost():
    """A refused import leaves the array in its capsule, whoever looks at that meanwhile."""
    pair = dlx.asarray([True, False] * 40_000).__arrow_c_array__()

    class Column:
        def __arrow_c_array__(self, requested_schema=None):
            return pair

    def refuse(_):
        # The bits need a copy; or another thread has the array just now.
        with pytest.raises((dlx.CopyRefusedError, dlx.InvalidArgumentError)):
            dlx.asarray(Column(), copy=False)

    together(*[refuse] * THREADS)
    assert dlx.asarray(Column()).shape == (80_000,)


def test_a_library_that_another_thread_imports_is_not_there_yet(monkeypatch):
    spec = importlib.machinery.ModuleSpec("numpy", None)
    spec._initializing = True  # as the import system has it until the module is complete
    loading = types.ModuleType("numpy")
    loading.__spec__ = spec
    monkeypatch.setitem(sys.modules, "numpy", loading)
    new = type("New", (Producer,), {})(3)  # its class has to be looked at
    assert dlx.from_dlpack(new).tolist() == [3] * 3
    assert dlx.asarray([dlx.asarray(new)] * 2).tolist() == [[3] * 3] * 2
    assert dlx.asarray([1, 2], dtype=float, device="cpu").tolist() == [1.0, 2.0]


def test_memory_goes_back_once_whoever_is_last():
    for _ in range(60):
        freed = []
        memory = array.array("q", range(8))
        tensor = dlx.from_pointer(
            memory.buffer_info()[0],
            8,
            "int64",
            owner=memory,
            on_release=lambda freed=freed: freed.append(1),
        )
        views = [tensor[i : i + 4] for i in range(THREADS)]
        del tensor

        def drop(_, views=views):
            view = views.pop()
            capsule = view[::2].__dlpack__(max_version=(1, 3))
            memoryview(view)[0]
            del view, capsule

        together(*[drop] * THREADS, rounds=1)
        dlx.empty(1)
        assert freed == [1]


def test_attributes_are_the_same_objects_for_all():
    names = ["int8", "uint16", "float32", "complex64", "bfloat16", "float8_e4m3fn", "bool"]
    tensors = [dlx.empty((2, 3), dtype=name) for name in names]

    def look(i):
        tensor = tensors[i % len(tensors)]
        assert tensor.dtype == names[i % len(names)]
        assert str(tensor.device) == "cpu"
        assert tensor[1].shape == (3,)
        assert tensor.mT.strides == (1, 3)

    together(*[look] * THREADS)


def test_numbers_of_numpy_and_conversions():
    numpy = pytest.importorskip("numpy", reason="has these numbers")
    tensor = dlx.asarray(array.array("d", range(12))).reshape((3, 4))

    def convert(i):
        assert dlx.asarray([numpy.float32(i), numpy.float32(1)]).tolist() == [i, 1]
        assert dlx.asarray([numpy.int64(i), 1]).dtype == "int64"
        assert dlx.convert(tensor, "numpy")[2, 3] == 11
        assert numpy.asarray(dlx.asarray(numpy.full((2, 2), i))).sum() == 4 * i

    together(*[convert] * THREADS)


def test_counts_are_changed_with_the_gil_only():
    # The result is None, which before 3.12 is counted like any object.
    here, there = dlx.empty(33_000, dtype="uint8"), dlx.empty(33_000, dtype="uint8")
    nothing, changes = [None] * 1000, []

    def copy(_):
        before = sys.getrefcount(None)
        for _ in range(200_000):
            dlx.copyto(there, here)
        changes.append(sys.getrefcount(None) - before)

    def count(_):
        while not changes:
            for _ in nothing:
                pass

    sys.setswitchinterval(1e-5)
    together(copy, count, count, rounds=1)
    assert abs(changes[0]) < 20  # the others have some at any time


ATTACH = """
import numpy, dlx
from dlx import _native, errors
from dlx._lib import library

class Errors(dict):
    def __getitem__(self, key):  # what another thread may do meanwhile
        note(numpy.array, None, (numpy.float32, numpy.int8))
        return super().__getitem__(key)

note = _native._namespace["_note_numpy"]
hooks = {**_native._namespace, "errors": Errors(errors.CLASSES)}
assert library.attach(id(object), id(hooks)) == 0
assert dlx.asarray([numpy.float32(1), numpy.int8(2)]).tolist() == [1, 2]
"""


def test_attaching_again_forgets_nothing_of_numpy():
    pytest.importorskip("numpy", reason="is what is noted")
    done = subprocess.run([sys.executable, "-c", ATTACH], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_tensors_of_torch():
    torch = pytest.importorskip("torch", reason="has these tensors")
    plain, negated = torch.arange(6.0), torch.ones(3, dtype=torch.complex64).conj().imag

    def convert(_):
        assert torch.equal(dlx.convert(dlx.asarray(plain), "torch"), plain)
        assert dlx.asarray(negated).tolist() == [0.0] * 3
        assert dlx.asarray(plain.reshape(2, 3).T).shape == (3, 2)

    together(*[convert] * THREADS, rounds=100)
