"""Computing, masks, pickling and the way from an ndarray back leave nothing behind."""

import operator
import pickle

import pytest

import dlx
import memory
from memory import failing, stays_flat

numpy = pytest.importorskip("numpy")
pytestmark = [pytest.mark.heavy, memory.READABLE]

T = dlx.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
OUT = dlx.empty((2, 3), dtype="float64")
READ_ONLY = T.as_readonly()
MASK = T > 2
XP = T.__array_namespace__()

STEPS = {
    "operators": lambda: -(T + 1) @ T.mT > 2,
    "in place": lambda: operator.iadd(OUT, 1.0),
    "out": lambda: numpy.exp(T, out=OUT),
    "functions": lambda: numpy.concatenate([T, numpy.sum(T, axis=0, keepdims=True)]),
    "named tuples": lambda: XP.unique_all(T),
    "masks": lambda: (T[MASK], T[[0, 1], [1, 2]], T.__setitem__(MASK, T[MASK])),
    "to and fro": lambda: dlx.asarray(T.numpy()[1:]),
    "deferring": lambda: (T == None, T.__add__("x"), 3 in T),  # noqa: E711
    "pickling": lambda: pickle.loads(pickle.dumps(T.mT, protocol=5)),
    "refused": lambda: (
        failing(operator.iadd, READ_ONLY, 1),
        failing(operator.add, T, "x"),
        failing(numpy.add, T, [1, 2]),
        failing(T.__getitem__, [7]),
        failing(T.__array_namespace__, api_version="1"),
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_memory_stays_flat(name):
    stays_flat(STEPS[name], 30_000)
