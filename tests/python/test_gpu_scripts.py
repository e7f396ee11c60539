"""What tests/python/gpu and benchmarks/bench_gpu.py call of torch, CuPy, numba and JAX exists, and takes
those arguments: seen without a GPU, on which alone these scripts run."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = [*sorted((ROOT / "tests/python/gpu").glob("*.py")), ROOT / "benchmarks/bench_gpu.py"]
# The names that the scripts have the modules by.
MODULES = {"torch": "torch", "cupy": "cupy", "numba_cuda": "numba.cuda", "jax": "jax"}
# Of a build for the CPU alone.
ONLY_WITH_CUDA = {"torch.cuda._sleep"}


def chain_of(node):
    """["torch", "cuda", "Stream"] for `torch.cuda.Stream`; None for what begins otherwise."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in MODULES or not names:
        return None
    return [node.id, *reversed(names)]


def uses():
    """(chain, call or None) for every attribute of a library that a script names, once each."""
    found = {}
    for script in SCRIPTS:
        tree = ast.parse(script.read_text("utf-8"))
        inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            chain = chain_of(node) if id(node) not in inner else None
            if chain is not None:
                call = calls.get(id(node))
                found[".".join(chain), "" if call is None else ast.unparse(call)] = chain, call
    return found


USES = uses()


def resolve(chain):
    """The attribute, and whether the chain ends in it: what follows an instance cannot be known."""
    module = pytest.importorskip(MODULES[chain[0]])
    if chain[0] == "torch" and ".".join(chain) in ONLY_WITH_CUDA and module.version.cuda is None:
        pytest.skip("PyTorch for the CPU has it not")
    value = module
    for name in chain[1:]:
        if inspect.ismodule(value) and not hasattr(value, name):
            with contextlib.suppress(ImportError):
                importlib.import_module(f"{value.__name__}.{name}")
        if not inspect.ismodule(value) and not inspect.isclass(value):
            return value, False
        value = getattr(value, name)
    return value, True


@pytest.mark.parametrize("use", USES, ids=lambda use: use[1] or use[0])
def test_what_the_scripts_use_exists(use):
    chain, call = USES[use]
    value, whole = resolve(chain)
    if call is None or not whole:
        return
    assert callable(value)
    if any(isinstance(a, ast.Starred) for a in call.args) or None in [
        keyword.arg for keyword in call.keywords
    ]:
        return
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # written in C, and says nothing
        return
    signature.bind(*call.args, **{keyword.arg: keyword.value for keyword in call.keywords})


def test_the_scripts_use_something():
    assert len(USES) > 40
