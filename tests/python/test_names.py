"""What dir(dlx), help(dlx) and names that users of other libraries type answer."""

import pydoc
import re

import pytest

import dlx
from dlx._hints import FUNCTIONS
from dlx._tensor.methods import _ELSEWHERE

MODULES = {"device", "dtypes", "errors", "raw", "xp"}


def test_dir_lists_what_users_may_use():
    assert set(dlx.__all__) | {"__version__", "errors"} <= set(dir(dlx))
    assert set(dir(dlx)) <= {*dlx.__all__, "__version__", *MODULES}


def test_help_fits_on_a_few_screens_and_names_everything():
    text = pydoc.plain(pydoc.render_doc(dlx))

    assert len(text.splitlines()) <= 120
    assert not [n for n in dlx.__all__ if not re.search(rf"\b{n}\b", text)]


def test_help_on_a_class_and_a_function_is_complete():
    assert "permute_dims" in pydoc.plain(pydoc.render_doc(dlx.Tensor))
    assert "Raises:" in pydoc.plain(pydoc.render_doc(dlx.share))


def run(hint):
    """Run every call that a hint names, with plain values for its placeholders."""
    numpy = pytest.importorskip("numpy")
    x = numpy.arange(6.0)
    names = {"dlx": dlx, "x": x, "t": dlx.asarray(x), "shape": (2, 3), "number": 3, "dtype": "int8",
             "buffer": bytearray(8), "device": "cpu", "library": "numpy"}  # fmt: skip
    calls = re.findall(r"`(.*?)`", hint)
    assert calls
    for call in calls:
        library = re.search(r"convert\(\w, '(\w+)'\)", call)
        if library:
            pytest.importorskip(library[1])
        try:
            exec(call, names)
        except dlx.UnavailableError:
            assert call == "t.to_device('cuda')"  # no GPU here


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_name_of_another_library_answers_with_the_call_that_does_it(name):
    assert not hasattr(dlx, name)
    with pytest.raises(
        AttributeError, match=f"module 'dlx' has no attribute '{name}': call "
    ) as info:
        getattr(dlx, name)
    run(str(info.value))


@pytest.mark.parametrize("name", sorted(_ELSEWHERE))
def test_a_method_of_another_library_answers_with_the_call_that_does_it(name):
    t = dlx.asarray([1.0, 2.0])
    assert not hasattr(t, name)
    assert not hasattr(dlx.Tensor, name)
    assert name not in dir(t)
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': call ") as info:
        getattr(t, name)
    run(str(info.value))


@pytest.mark.parametrize("name", ["nonsense", "_nonsense", "__wrapped__"])
def test_any_other_name_is_a_plain_attribute_error(name):
    with pytest.raises(AttributeError, match=f"^module 'dlx' has no attribute '{name}'$"):
        getattr(dlx, name)
