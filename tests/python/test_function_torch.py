"""dlx.function on tensors of torch: read by torch's own C functions once these are known to be right, and
never past what an import would lose."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import threading

import numpy as np
import pytest

import dlx
from calls import library

torch = pytest.importorskip("torch", reason="is the library under test here")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

SEED = int(os.environ.get("DLX_TEST_SEED", random.randrange(2**32)))
LEARNED_AFTER = 40  # calls: the structs are searched in the 16th import, dtypes learned after it


def describe(words="strided"):
    return dlx.function(library().describe, f"describe(x: any[...] {words}, room: int) -> int")


def seen(function, tensor):
    """Address, shape and strides as the function saw them."""
    room = (ctypes.c_int64 * 20)()
    function(tensor, ctypes.addressof(room))
    ndim = room[1]
    return room[0], [room[2 + 2 * i] for i in range(ndim)], [room[3 + 2 * i] for i in range(ndim)]


@pytest.fixture(autouse=True)
def learned():
    function = describe()
    for dtype in (torch.float32, torch.int8, torch.complex64, torch.bfloat16, torch.bool):
        for _ in range(LEARNED_AFTER):
            seen(function, torch.zeros(2, dtype=dtype))


DOES_NOTHING = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: 0)


class Answers(TorchFunctionMode):
    """Answers False in torch's place."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return False


def test_random_chains_are_seen_as_torch_sees_them_or_refused():
    chosen, function = random.Random(SEED), describe()
    grown = [
        lambda x: x.conj(), torch._neg_view, lambda x: x.T if x.ndim == 2 else x, lambda x: x[::2],
        lambda x: x.detach(), lambda x: x.clone(), lambda x: x.imag if x.is_complex() else x,
        lambda x: torch.view_as_real(x.resolve_conj()) if x.is_complex() and x.ndim < 3 else x,
        lambda x: x.requires_grad_() if x.is_floating_point() and x.is_leaf else x,
        lambda x: torch.nn.Parameter(x, requires_grad=False), lambda x: x.data, lambda x: x.expand(3, *x.shape),
    ]  # fmt: skip
    taken = refused = 0
    for _ in range(1500):
        kind = chosen.choice([torch.complex64, torch.float32, torch.int8, torch.complex128])
        x = torch.ones(4, 3, dtype=kind)
        for _ in range(chosen.randrange(4)):
            if x.ndim < 6:
                x = chosen.choice(grown)(x)
        loses = x.is_conj() or x.is_neg() or x.requires_grad
        try:
            got = seen(function, x)
        except (dlx.CopyRefusedError, dlx.UnsupportedError):
            assert loses, (SEED, x)
            refused += 1
            continue
        assert not loses, (SEED, x)
        taken += 1
        assert got == (x.data_ptr(), list(x.shape), list(x.stride())), SEED
    assert taken > 100
    assert refused > 100


def test_lazy_bits_are_resolved_where_a_copy_is_allowed():
    add = dlx.function(
        library().add, "add(a: float32[n] copy, b: float32[n] copy, out: float32[n] result)"
    )
    minus = torch._neg_view(torch.ones(3))

    assert add(minus, torch.ones(3)).tolist() == [0, 0, 0]


def test_a_gradient_is_refused_unless_the_contract_takes_it_or_nobody_records():
    x, kept = torch.ones(3, requires_grad=True), describe("strided grad")

    with pytest.raises(dlx.UnsupportedError, match="requires grad"):
        seen(describe(), x)
    assert seen(kept, x)[0] == x.data_ptr()
    with torch.no_grad():
        assert seen(describe(), x)[0] == x.data_ptr()
    with pytest.raises(dlx.UnsupportedError, match="requires grad"):
        seen(describe(), x)


def test_a_tensor_has_no_flags_of_an_earlier_argument():
    look, write = (
        dlx.function(library().describe_or_none, f"look(x: float32[n] {words}) -> int")
        for words in ("", "writable")
    )
    x, read_only = torch.ones(3), np.ones(3, np.float32)
    read_only.flags.writeable = False
    write(x)
    for _ in range(5):
        assert (look(read_only), write(x)) == (1, 1)  # one after the other, in the same memory


@pytest.mark.parametrize("words", ["copy", "copy grad"])
def test_a_temporary_of_what_requires_grad(words):
    """As a tensor that fits: for a contract that takes it, or where nobody records."""
    text = f"add(a: float32[n] {words}, b: float32[n], out: float32[n] result)"
    add, x = dlx.function(library().add, text), torch.ones(6, requires_grad=True)[::2]

    with torch.no_grad():
        assert add(x, torch.ones(3)).tolist() == [2, 2, 2]
    if words == "copy grad":
        assert add(x, torch.ones(3)).tolist() == [2, 2, 2]
    else:
        with pytest.raises(dlx.UnsupportedError, match="requires grad"):
            add(x, torch.ones(3))


def test_a_lying_mode_changes_nothing():
    function = describe()

    with Answers():
        for _x in (torch._neg_view(torch.Tensor([1])), torch.Tensor([1])):
            pass
    minus, plain = torch._neg_view(torch.ones(1)), torch.ones(1)
    with Answers():
        with pytest.raises(dlx.CopyRefusedError):
            seen(function, minus)
        assert seen(function, plain)[1] == [1]


def test_tensors_without_memory_are_refused():
    emptied = torch.ones(3)
    emptied.untyped_storage().resize_(0)
    with FakeTensorMode():
        fake = torch.ones(3)
    for x in (emptied, fake, torch.ones(3, device="meta"), torch.ones(3).to_sparse()):
        with pytest.raises((ValueError, TypeError, BufferError, RuntimeError)):
            seen(describe(), x)


def test_results_under_a_mode_and_in_inference():
    add = dlx.function(library().add, "add(a: float32[n], b: float32[n], out: float32[n] result)")
    x = torch.ones(3)

    with torch.device("meta"):
        assert add(x, x).tolist() == [2, 2, 2]
    with torch.inference_mode():
        assert add(x, x).is_inference()


class Meta(TorchDispatchMode):
    """Makes every tensor one without memory."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **{**(kwargs or {}), "device": "meta"})


@pytest.mark.parametrize("calls", [1, LEARNED_AFTER])
@pytest.mark.parametrize("result", ["float32[n]", "float32[n, 2] F"])
def test_no_mode_sees_or_makes_results(calls, result):
    """By the exchange table, and by a conversion."""
    function = dlx.function(DOES_NOTHING, f"f(x: float32[n], out: {result} result)")
    x = torch.ones(4)
    for mode in (Meta(), FakeTensorMode(allow_non_fake_inputs=True), Answers()):
        with mode:
            made = [function(x) for _ in range(calls)] + [dlx.empty_like(x)]
            with mode:
                made.append(function(x))
            inside = torch.utils._python_dispatch._get_current_dispatch_mode_stack()
        assert {type(one) for one in made} == {torch.Tensor}
        assert {one.device.type for one in made} == {"cpu"}
        assert getattr(mode, "seen", []) == []
        assert inside == ([] if isinstance(mode, Answers) else [mode])


def test_results_by_the_functions_of_torch_itself():

    cpu = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib/libtorch_cpu.so"))
    if not hasattr(cpu, "torch_tensor_to_pyobject"):
        pytest.skip(f"torch {torch.__version__} cannot do it; 2.14 can")
    add = dlx.function(library().add, "add(a: float32[n], b: float32[n], out: float32[n] result)")
    x = torch.ones(3)
    for _ in range(LEARNED_AFTER):
        add(x, x)

    result = add(x, x)
    assert type(result) is torch.Tensor
    assert (result.tolist(), result.stride(), result.is_leaf) == ([2, 2, 2], (1,), True)
    assert result.untyped_storage().resizable()
    columns = dlx.empty_like(x, shape=(2, 3))
    assert (columns.shape, columns.stride(), columns.dtype) == ((2, 3), (3, 1), torch.float32)
    assert dlx.empty_like(x, shape=(), dtype="int16").dtype == torch.int16  # by the exchange table
    assert dlx.empty_like(x, shape=(0, 4)).shape == (0, 4)
    with torch.device("meta"):
        assert add(x, x).tolist() == [2, 2, 2]
    with torch.inference_mode():
        assert add(x, x).is_inference()
    with FakeTensorMode():
        real = add(x, x)
    assert real.tolist() == [2, 2, 2]
    with pytest.raises(MemoryError):
        dlx.empty_like(x, shape=(2**45,))


def test_a_tensor_that_is_resized_meanwhile_is_seen_whole():
    function, x, stop = describe(), torch.ones(4, 4), threading.Event()

    def resize():
        while not stop.is_set():
            x.resize_(2, 8)
            x.resize_(4, 4)

    thread = threading.Thread(target=resize)
    thread.start()
    for _ in range(2000):
        shape = seen(function, x)[1]
        assert np.prod(shape) == 16
    stop.set()
    thread.join()


def test_memory_of_a_tensor_is_not_kept():
    function, freed = describe(), []

    class Watched:
        def __init__(self, x):
            self.__array_interface__ = x.__array_interface__
            self.x = x

        def __del__(self):
            freed.append(True)

    x = torch.from_numpy(np.asarray(Watched(np.ones(3, np.float32))))
    seen(function, x)
    del x
    gc.collect()
    assert freed == [True]
