"""Nothing that Python code can do to dlx's objects may crash the process."""

import subprocess
import sys

import pytest

import dlx
from dlx import raw


def make():
    return dlx.asarray([[1.0, 2.0], [3.0, 4.0]])


def test_tensor_cannot_be_called():
    for arguments in ((), (1,), ([1, 2],)):
        with pytest.raises(TypeError, match=r"asarray|from_dlpack|cannot"):
            dlx.Tensor(*arguments)


def test_object_new_cannot_make_one():
    for new in (object.__new__, dlx.Tensor.__new__):
        with pytest.raises(TypeError):
            new(dlx.Tensor)


def test_it_has_no_subclasses():
    with pytest.raises(TypeError):
        type("U", (dlx.Tensor,), {})
    with pytest.raises(TypeError):
        type("U", (dlx.Tensor, list), {})


def test_class_of_an_instance_cannot_be_changed():
    class Other:
        pass

    for target, cls in ((make(), Other), (make(), object), (Other(), dlx.Tensor)):
        with pytest.raises(TypeError):
            target.__class__ = cls


METHODS = sorted(
    name
    for name, value in vars(dlx.Tensor).items()
    if callable(value) and name not in ("__new__", "__copy__")  # of the class; returns its argument
)


@pytest.mark.parametrize("name", METHODS)
def test_methods_check_the_type_of_self(name):
    method = getattr(dlx.Tensor, name)
    for stranger in (object(), 3, None, [1, 2]):
        with pytest.raises((TypeError, AttributeError, ValueError)):
            method(stranger)


@pytest.mark.parametrize(
    "name",
    [
        "shape",
        "strides",
        "dtype",
        "device",
        "ndim",
        "size",
        "nbytes",
        "itemsize",
        "readonly",
        "data_ptr",
    ],
)
def test_getters_check_the_type_of_self(name):
    getter = dlx.Tensor.__dict__[name]
    for stranger in (object(), 3, "x"):
        with pytest.raises(TypeError):
            getter.__get__(stranger, type(stranger))


JUNK = [
    None,
    3,
    -1,
    2**70,
    1.5,
    "x",
    b"x",
    object(),
    (),
    [],
    [None],
    {},
    ...,
    slice(None),
    int,
    float("nan"),
]
CALLS = {
    "contiguous": lambda t, x: t.contiguous(x),
    "is_contiguous": lambda t, x: t.is_contiguous(x),
    "permute_dims": lambda t, x: t.permute_dims(x),
    "reshape": lambda t, x: t.reshape(x),
    "reshape copy": lambda t, x: t.reshape(4, copy=x),
    "squeeze": lambda t, x: t.squeeze(x),
    "expand_dims": lambda t, x: t.expand_dims(x),
    "broadcast_to": lambda t, x: t.broadcast_to(x),
    "view": lambda t, x: t.view(x),
    "getitem": lambda t, x: t[x],
    "getitem pair": lambda t, x: t[x, x],
    "getitem slice": lambda t, x: t[x:x:x],
    "setitem": lambda t, x: t.__setitem__(0, x),
    "setitem key": lambda t, x: t.__setitem__(x, 0.0),
    "to_device": lambda t, x: t.to_device(x),
    "to_device stream": lambda t, x: t.to_device("cpu", stream=x),
    "__dlpack__ stream": lambda t, x: t.__dlpack__(stream=x),
    "__dlpack__ version": lambda t, x: t.__dlpack__(max_version=x),
    "__dlpack__ version pair": lambda t, x: t.__dlpack__(max_version=(x, x)),
    "__dlpack__ device": lambda t, x: t.__dlpack__(dl_device=x),
    "__dlpack__ device pair": lambda t, x: t.__dlpack__(dl_device=(x, x)),
    "__dlpack__ copy": lambda t, x: t.__dlpack__(copy=x),
    "from_dlpack": lambda t, x: dlx.from_dlpack(x),
    "from_dlpack device": lambda t, x: dlx.from_dlpack(t, device=x),
    "from_dlpack copy": lambda t, x: dlx.from_dlpack(t, copy=x),
    "asarray": lambda t, x: dlx.asarray(x),
    "asarray dtype": lambda t, x: dlx.asarray(t, dtype=x),
    "asarray device": lambda t, x: dlx.asarray(t, device=x),
    "asarray copy": lambda t, x: dlx.asarray(t, copy=x),
    "asarray force": lambda t, x: dlx.asarray(t, force=x),
    "copyto dst": lambda t, x: dlx.copyto(x, t),
    "copyto src": lambda t, x: dlx.copyto(t, x),
    "copyto stream": lambda t, x: dlx.copyto(t, t, stream=x),
    "from_pointer": lambda t, x: dlx.from_pointer(x, x, x),
    "from_pointer shape": lambda t, x: dlx.from_pointer(t.data_ptr, x, "float64"),
    "from_pointer strides": lambda t, x: dlx.from_pointer(t.data_ptr, (1, 1), "int8", strides=x),
    "empty": lambda t, x: dlx.empty(x),
    "Device": lambda t, x: dlx.Device(x),
    "dtype": lambda t, x: dlx.dtype(x),
    "device_of": lambda t, x: dlx.device_of(x),
    "threads": lambda t, x: dlx.set_num_threads(x),
    "policy": lambda t, x: dlx.set_export_negative_strides(x),
}


def outcome(call, *arguments):
    """The exception of a call, or None."""
    try:
        call(*arguments)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", CALLS)
def test_junk_arguments_are_errors_and_never_internal_ones(name):
    tensor = make()
    threads = dlx.get_num_threads()
    for junk in JUNK:
        error = outcome(CALLS[name], tensor, junk)
        assert not isinstance(error, (dlx.InternalError, SystemError)), junk
        assert error is None or str(error), f"{name}({junk!r}) gave an error without a message"
    dlx.set_num_threads(threads)
    assert tensor.shape == (2, 2)


ONE_INT = {
    **CALLS,
    "address": lambda t, x: dlx.from_pointer(x, (1,), "int8"),
    "Device type": lambda t, x: dlx.Device((x, 0)),
    "Device id": lambda t, x: dlx.Device((1, x)),
    "dtype bits": lambda t, x: dlx.dtype((2, x, 1)),
    "attach": lambda t, x: dlx.attach(x),
    "raw": lambda t, x: raw.dlx_set_num_threads(x),
}


@pytest.mark.parametrize("name", ONE_INT)
def test_ints_that_python_does_not_write_out_are_described(name):
    error = outcome(ONE_INT[name], make(), 10**5000)

    assert error is None or (len(str(error)) < 500 and "digits" not in str(error))


@pytest.mark.parametrize("policy", [[], None, "Copy", 1])
def test_a_policy_that_there_is_not(policy):
    with pytest.raises(ValueError, match="`policy` is unknown"):
        dlx.set_export_negative_strides(policy)


def test_objects_that_lie():
    class Liar:
        def __index__(self):
            raise KeyError("index")

        def __len__(self):
            raise KeyError("len")

        def __getitem__(self, index):
            raise KeyError("item")

    for call in (
        lambda: make()[Liar()],
        lambda: make().reshape(Liar()),
        lambda: dlx.asarray(Liar()),
    ):
        with pytest.raises((KeyError, TypeError)):
            call()


@pytest.mark.parametrize(
    "answer", [None, 3, (), (1,), (1, 0, 0), ("cpu", 0), (1.0, 0), [1, 0], (2**40, 0)]
)
def test_dlpack_device_that_returns_nonsense(answer):
    class Liar:
        def __dlpack_device__(self):
            return answer

        def __dlpack__(self, **keywords):
            return dlx.empty(3).__dlpack__(**keywords)

    with pytest.raises((TypeError, ValueError, BufferError, OverflowError)) as caught:
        dlx.from_dlpack(Liar())
    assert str(caught.value)


def test_index_methods_that_change_the_world_meanwhile():
    # The tensor's last other reference goes away while its own method runs.
    holder = [dlx.asarray([1, 2, 3])]

    class Evil:
        def __index__(self):
            holder.clear()
            return 1

    assert holder[0][Evil()].item() == 2


def test_private_functions_check_their_arguments_too():
    from dlx import _native

    for name in ("_wrap", "_from_buffer", "_empty", "_handle", "_adopt", "_flags"):
        function = getattr(_native, name)
        for arguments in ((), (1,), (None,), ("x",), (None,) * 8, (object(),) * 3):
            if name == "_adopt" and arguments == (1,):
                continue  # an address is an address
            with pytest.raises((TypeError, ValueError, BufferError)):
                function(*arguments)


def test_shared_pythonapi_object_is_left_alone():
    code = """
import ctypes
before = {n: f.argtypes for n, f in vars(ctypes.pythonapi).items() if hasattr(f, "argtypes")}
import dlx, dlx.raw
dlx.asarray([1]).to_device("cpu")
after = {n: f.argtypes for n, f in vars(ctypes.pythonapi).items() if hasattr(f, "argtypes")}
assert before == after, (before, after)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_type_attributes_that_are_replaced_do_not_crash():
    class Odd:
        __dlpack_c_exchange_api__ = None
        __dlpack__ = None
        __dlpack_device__ = 3

    with pytest.raises((TypeError, AttributeError)):
        dlx.from_dlpack(Odd())


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda t: t[0].T, r"T: needs two axes \(got 1\)"),
        (lambda t: t[0].mT, r"mT: needs at least two axes \(got 1\)"),
        (lambda t: t.contiguous("Z"), r'`order` must be "C" or "F" \(got "Z"\)'),
        (lambda t: t.permute_dims((0,)), r"permute_dims: `axes` must name each axis once"),
        (lambda t: t.squeeze(0), r"squeeze: `axis` names an axis of extent 2 \(got axis 0,"),
        (lambda t: dlx.empty((1,) * 4097), r"empty: `shape` has too many numbers"),
    ],
)
def test_values_that_cannot_be_are_errors_of_dlx(use, words):
    with pytest.raises(dlx.InvalidArgumentError, match=words):
        use(make())
