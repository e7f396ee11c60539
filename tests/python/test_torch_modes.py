"""torch's conj, neg and requires_grad, asked of its structs or of itself, but never of its modes.

A TorchFunctionMode or TorchDispatchMode sees the calls of torch that a thread makes, and may answer
in torch's place. What dlx asks is not the user's call.
"""

import contextlib
import gc
import os
import random
import subprocess
import sys
import threading

import pytest

import dlx

torch = pytest.importorskip("torch", reason="is the library under test here")

from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

SEED = int(os.environ.get("DLX_TEST_SEED", random.randrange(2**32)))
SEARCHED_AFTER = 20  # imports; the structs are searched in the 16th


class LyingFunctions(TorchFunctionMode):
    """Answers False to everything, and keeps what it was asked."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return False


class LyingDispatch(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return False


class Mine(torch.Tensor):
    pass


def neg(x):
    return torch._neg_view(x)


@pytest.fixture(scope="module", autouse=True)
def searched():
    for _ in range(SEARCHED_AFTER):
        dlx.from_dlpack(torch.ones(3))


@pytest.fixture(params=[LyingFunctions, LyingDispatch])
def lies(request):
    return request.param()


SOURCES = {
    "plain": lambda: torch.tensor([1.0, 2.0]),
    "view": lambda: torch.tensor([0.0, 1.0, 2.0])[1:],
    "neg": lambda: neg(torch.tensor([1.0, 2.0])),
    "neg int": lambda: neg(torch.tensor([1, 2])),
    "conj": lambda: torch.tensor([1 + 2j, 3j]).conj(),
    "neg conj": lambda: neg(torch.tensor([1 + 2j, 3j]).conj()),
    "imag": lambda: torch.tensor([1 + 2j, 3j]).conj().imag,
    "parameter": lambda: torch.nn.Parameter(neg(torch.ones(2)), requires_grad=False),
    "subclass": lambda: torch.tensor([1.0, 2.0]).as_subclass(Mine),
    "neg subclass": lambda: neg(torch.tensor([1.0, 2.0])).as_subclass(Mine),
    "inference": torch.inference_mode()(lambda: torch.ones(2)),
    "empty": lambda: neg(torch.ones(0)),
}
TAKERS = {
    "from_dlpack": dlx.from_dlpack,
    "asarray": dlx.asarray,
    "copied": lambda x: dlx.asarray(x, copy=True),
    "list": lambda x: dlx.asarray([x, x])[0],
    "convert": lambda x: dlx.convert(x, "dlx"),
    "copyto": dlx.copyto,
    "assigned": lambda target, x: target.__setitem__(..., x),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("source", SOURCES)
def test_modes_neither_see_nor_answer(lies, source, taker):
    x = SOURCES[source]()
    expected = x.resolve_conj().resolve_neg().tolist()
    target = dlx.empty(tuple(x.shape), dtype=x.dtype)

    with lies:
        if taker in ("copyto", "assigned"):
            TAKERS[taker](target, x)
        else:
            target = TAKERS[taker](x)

    assert target.tolist() == expected
    assert lies.seen == []


NEGATED = neg(torch.ones(3))


def call():
    with contextlib.suppress(RuntimeError):  # torch expects a tensor from a dispatch mode
        torch.ones(3)


def test_modes_are_back_afterwards(lies):
    other = type(lies)()
    with other, lies:
        dlx.asarray(NEGATED)
        before = len(lies.seen)
        call()
        assert len(lies.seen) == before + 1
    assert other.seen == []
    assert torch.ones(3).tolist() == [1, 1, 1]


def test_a_stack_of_modes_keeps_its_order():
    def stacks():
        return (
            torch.overrides._get_current_function_mode_stack(),
            torch.utils._python_dispatch._get_current_dispatch_mode_stack(),
            torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE),
        )

    fake = torch._subclasses.FakeTensorMode()
    with torch.device("cpu"), LyingFunctions(), LyingDispatch(), fake, LyingDispatch():
        before = stacks()
        assert dlx.asarray(NEGATED).tolist() == [-1, -1, -1]
        assert stacks() == before


@pytest.mark.parametrize("take", [dlx.from_dlpack, dlx.asarray])
def test_gradients_are_refused_inside_modes(lies, take):
    leaf = torch.ones(3, requires_grad=True)
    refused = [leaf, leaf * 2, (leaf * 2)[1:], torch.nn.Parameter(torch.ones(3))]
    refused += [leaf.as_subclass(Mine)]
    with lies:
        for x in refused:
            with pytest.raises(dlx.UnsupportedError, match=r"detach\(\)"):
                take(x)
    assert lies.seen == []


def test_refusals_of_tensors_without_memory_ask_no_mode(lies):
    refused = [torch.empty(3, device="meta"), torch._efficientzerotensor(3)]
    with lies:
        for x in refused:
            for take in (dlx.from_dlpack, dlx.asarray):
                with pytest.raises(dlx.UnsupportedError, match=r"memory"):
                    take(x)
    assert lies.seen == []


def test_storages_ask_no_mode(lies):
    storage = torch.tensor([1.0, 2.0]).untyped_storage()
    with lies:
        found = dlx.asarray(storage)
    assert bytes(found.numpy()) == torch.tensor([1.0, 2.0]).numpy().tobytes()
    assert lies.seen == []


def test_an_error_of_torch_leaves_the_modes_in_place(lies):
    refused = neg(torch.ones(3, dtype=torch.bool))  # torch cannot apply the bit
    with lies:
        with pytest.raises(RuntimeError, match="neg"):
            dlx.asarray(refused)
        call()
    assert len(lies.seen) == 1


def test_modes_are_not_kept():
    mode = LyingFunctions()
    before = sys.getrefcount(mode)
    with mode:
        for _ in range(100):
            dlx.asarray(NEGATED)
    gc.collect()
    assert sys.getrefcount(mode) == before


def test_default_devices_change_nothing():
    x, y = neg(torch.ones(3)), torch.ones(3)
    try:
        for device in ("cpu", "meta"):
            torch.set_default_device(device)
            for _ in range(SEARCHED_AFTER):
                assert dlx.from_dlpack(x).tolist() == [-1, -1, -1]
                assert dlx.from_dlpack(y).data_ptr == y.data_ptr()
            assert torch.empty(1).device.type == device
    finally:
        torch.set_default_device(None)
    with torch.device("meta"):
        assert dlx.asarray(x).tolist() == [-1, -1, -1]
        assert torch.empty(1).device.type == "meta"


def test_negated_integers():
    x = neg(torch.tensor([1, -2, 3]))
    assert dlx.from_dlpack(x).tolist() == [-1, 2, -3]
    with pytest.raises(dlx.CopyRefusedError, match="neg"):
        dlx.from_dlpack(x, copy=False)


def test_real_tensors_beside_fake_ones():
    x, y = neg(torch.ones(3)), torch.ones(3)
    with torch._subclasses.FakeTensorMode():
        for _ in range(SEARCHED_AFTER):
            assert dlx.asarray(x).tolist() == [-1, -1, -1]
            assert dlx.asarray(y).tolist() == [1, 1, 1]
        with pytest.raises(dlx.UnsupportedError, match="FakeTensor"):
            dlx.asarray(torch.ones(3))
        with pytest.raises(dlx.UnsupportedError, match="FakeTensor"):
            dlx.asarray(neg(torch.ones(3)))


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")
def test_transformed_functions():
    captured, seen = torch.ones(3), []

    def look(x):
        seen.append(dlx.asarray(captured).tolist())
        with pytest.raises(dlx.UnsupportedError):
            dlx.asarray(x)
        with pytest.raises(dlx.UnsupportedError):
            dlx.asarray((x * 1j).conj())
        return (x * 2).sum()

    torch.vmap(look)(torch.ones(2, 3))
    torch.func.grad(look)(torch.ones(3))
    torch.func.jvp(look, (torch.ones(3),), (torch.ones(3),))
    torch.func.functionalize(look)(torch.ones(3))
    assert seen == [[1, 1, 1]] * 4


@pytest.mark.filterwarnings("ignore")
def test_inside_a_compiled_function():
    found = []

    @torch.compile(backend="eager")
    def look(x):
        y = torch._neg_view(x + 1)
        found.append(dlx.asarray(y).tolist())
        found.append(dlx.asarray(x).tolist())
        return y * 2

    assert look(torch.ones(2)).tolist() == [-4, -4]
    assert found == [[-2, -2], [1, 1]]


def test_subclasses_answer_for_themselves():
    # Not a mode: the class of the tensor says what its numbers are.
    class Wrapped(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            inside = args[0].inside if isinstance(args[0], Wrapped) else args[0]
            return func(inside, *args[1:], **(kwargs or {}))

    x = torch.zeros(2).as_subclass(Wrapped)
    x.inside = neg(torch.ones(3))
    with LyingFunctions() as lies:
        found = dlx.from_dlpack(x)
    assert found.tolist() == [-1, -1, -1]
    assert lies.seen == []


STEPS = {
    "conj": lambda x: x.conj(),
    "neg": neg,
    "imag": lambda x: x.imag,
    "real": lambda x: x.real,
    "view_as_real": lambda x: torch.view_as_real(x.resolve_conj()),
    "view_as_complex": lambda x: torch.view_as_complex(x.contiguous()),
    "T": lambda x: x.mT,
    "data": lambda x: x.data,
    "slice": lambda x: x[1:],
    "detach": lambda x: x.detach(),
    "grad": lambda x: x.detach().requires_grad_(),
    "times": lambda x: x * 1,
    "bits": lambda x: x.view(torch.int32),
    "freeze": lambda x: torch.nn.Parameter(x.detach(), requires_grad=False),
    "inference": lambda x: torch.inference_mode()(lambda: x.clone())(),
    "int": lambda x: x.detach().abs().to(torch.int32),
    "bare": lambda x: torch._conj(x).resolve_conj(),
}
DTYPES = [torch.complex64, torch.complex128, torch.float32, torch.int32, torch.int64]


def check_chain(choose):
    """One random chain of operations, imported; beside torch's own words about the result."""
    x, names = torch.arange(1, 13).reshape(4, 3).to(choose.choice(DTYPES)), []
    for _ in range(choose.randint(0, 6)):
        name = choose.choice(list(STEPS))
        try:
            x = STEPS[name](x)
        except (RuntimeError, IndexError):
            continue
        names.append(name)
    lazy = x.is_conj() or x.is_neg()
    try:
        found = dlx.from_dlpack(x, copy=choose.choice([None, False]))
    except dlx.UnsupportedError:
        assert x.requires_grad, names
    except dlx.CopyRefusedError:
        assert lazy, names
        assert not x.requires_grad, names
    else:
        assert not x.requires_grad, names
        assert found.tolist() == x.resolve_conj().resolve_neg().tolist(), names
        assert lazy or x.numel() == 0 or found.data_ptr == x.data_ptr(), names


def check_chains(seed, count):
    choose = random.Random(seed)
    for _ in range(count):
        if choose.random() < 0.2:
            with choose.choice([torch.device("cpu"), torch.no_grad(), torch.inference_mode()]):
                check_chain(choose)
        else:
            check_chain(choose)


def test_random_chains():
    print(f"DLX_TEST_SEED={SEED}")
    check_chains(SEED, 3000)


def test_threads_with_modes_of_their_own():
    wrong = []

    def work(seed):
        with LyingFunctions() as lies:
            for _ in range(200):
                if dlx.asarray(NEGATED).tolist() != [-1, -1, -1] or lies.seen:
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    check_chains(SEED, 200)
    for thread in threads:
        thread.join()
    assert wrong == []


# How the structs are searched. Each trial needs a process that has not searched yet.

PREPARE = """
import os, sys
import torch
sys.path.insert(0, {folder!r})
import dlx
from dlx._take import torch_internals
from test_torch_modes import LyingDispatch, LyingFunctions, Mine, check_chains

dlx.asarray(torch.ones(3).as_subclass(Mine))
calls, honest, honest_samples = [], torch.Tensor.is_neg, torch_internals.samples

def is_neg(self):  # a method in Python, so that the slow way is seen
    calls.append(1)
    return honest(self)

torch.Tensor.is_neg = is_neg

def asked(x, times=1):
    del calls[:]
    for _ in range(times):
        dlx.from_dlpack(x)
    return len(calls)

def forked(trial, *arguments):
    child = os.fork()
    if child == 0:
        try:
            trial(*arguments)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, (trial, *arguments)
"""


TRIALS = """
def not_asked_any_more():
    # After the search, once for each word of dispatch keys.
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        return
    assert asked(torch.ones(3), 15) == 15
    asked(torch.ones(3))
    assert asked(torch.ones(3), 9) == 1
    assert asked(torch.ones(3)[1:]) == 0
    assert asked(torch.ones(2, dtype=torch.int8)) == 0
    assert asked(torch.nn.Parameter(torch.ones(3), requires_grad=False)) == 0
    with torch.inference_mode():
        assert asked(torch.ones(3), 9) == 1
    assert asked(torch._neg_view(torch.ones(3)), 9) == 9

def inside_modes():
    with torch.inference_mode():
        x, n = torch.ones(3), torch._neg_view(torch.ones(3))
        with torch.device("meta"), LyingFunctions() as f, LyingDispatch() as d:
            for _ in range(20):
                assert dlx.asarray(n).tolist() == [-1, -1, -1]
                assert dlx.asarray(x).tolist() == [1, 1, 1]
            assert f.seen == d.seen == []
            assert asked(x) == 0
    assert dlx.asarray(n).tolist() == [-1, -1, -1]
    check_chains(1, 300)

def repeated_after_a_failure():
    tries = []
    def samples():
        tries.append(1)
        if len(tries) == 1: raise RuntimeError("not now")
        return honest_samples()
    torch_internals.samples = samples
    asked(torch.ones(3), 255)
    assert len(tries) == 1
    asked(torch.ones(3), 3)
    assert len(tries) == 2
    assert asked(torch.ones(3)) == 0

def interrupted():
    def samples(): raise KeyboardInterrupt
    torch_internals.samples = samples
    try:
        for _ in range(16): dlx.asarray(torch.ones(3))
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError
    assert dlx.asarray(torch.ones(3)).tolist() == [1, 1, 1]

# What becomes of (tensor, address, keys, properties), or of the whole answer, where the search must
# find nothing.
lies = {
    "other keys": lambda x, a, k, p: (x, a, k ^ 1, p),
    "no keys": lambda x, a, k, p: (x, a, 0, p),
    "other address": lambda x, a, k, p: (x, a + 8, k, p),
    "NULL": lambda x, a, k, p: (x, 0, k, p),
    "no neg": lambda x, a, k, p: (x, a, k, p & ~1),
    "all neg": lambda x, a, k, p: (x, a, k, p | 1),
    "no conj": lambda x, a, k, p: (x, a, k, p & ~2),
    "neg and conj": lambda x, a, k, p: (x, a, k, p | p << 1 & 2 | p >> 1 & 1),
    "no gradient": lambda x, a, k, p: (x, a, k, p & ~4),
    "all gradient": lambda x, a, k, p: (x, a, k, p | 4),
    "no number": lambda x, a, k, p: (x, a, None, p),
    "too short": lambda x, a, k, p: (x, a, k),
    "another class": lambda x, a, k, p: (x.as_subclass(Mine), a, k, p),
}
answers = {
    "nothing": lambda a, b, c: (a, b, ()),
    "no tuples": lambda a, b, c: (a, b, (1, 2)),
    "one sample": lambda a, b, c: (a, b, c[:1]),
    "too many": lambda a, b, c: (a, b, c * 9),
    "other classes": lambda a, b, c: (Mine, Mine, c),
    "None": lambda a, b, c: None,
    "an error": lambda a, b, c: 1 / 0,
}

def not_trusted(name):
    def samples():
        a, b, c = honest_samples()
        if name in lies:
            return a, b, tuple(lies[name](*sample) for sample in c)
        return answers[name](a, b, c)
    torch_internals.samples = samples
    check_chains(1, 100)
    assert asked(torch.ones(3), 9) == 9

for trial in (not_asked_any_more, inside_modes, repeated_after_a_failure, interrupted):
    forked(trial)
for name in (*lies, *answers):
    forked(not_trusted, name)
"""


def test_how_the_structs_are_searched():
    code = PREPARE.format(folder=os.path.dirname(__file__)) + TRIALS
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=300, check=False, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
