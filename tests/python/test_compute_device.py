"""Computing on other devices: which library is asked, and with what.

There may be no GPU: PyTorch on the CPU stands in for it. The Tensors say "cuda:0" and lie in host
memory, and the library's two conversions, the only places that touch the data, are replaced.
"""

import operator
import sys

import pytest

import dlx
from dlx import _native

numpy = pytest.importorskip("numpy")

CODE = {"float32": (2, 32, 1), "float64": (2, 64, 1), "bool": (6, 8, 1), "int64": (0, 64, 1)}


def relabel(tensor, device):
    code = CODE[str(tensor.dtype)]
    flags = int(tensor.readonly)
    return _native._wrap(
        tensor.data_ptr, tensor.shape, tensor.strides, code, device, flags, tensor, None
    )


def on_gpu(values):
    return relabel(dlx.asarray(values), (2, 0))


def values_of(tensor):
    assert tensor.device == "cuda:0"
    return relabel(tensor, (1, 0)).tolist()


@pytest.fixture
def gpu(monkeypatch):
    """A Library that takes host memory for device memory."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    from dlx._compute import on_device

    class OnHost(on_device.Library):
        def view(self, tensor):
            return torch.from_dlpack(relabel(tensor, (1, 0)))

        def wrap(self, result):
            if isinstance(result, torch.Tensor):
                return relabel(super().wrap(result), (2, 0))
            return super().wrap(result)

        def device(self, index):
            return torch.device("cpu")

    monkeypatch.setattr(on_device, "library_for", lambda device: OnHost("torch"))
    return torch


def test_operators(gpu):
    t = on_gpu([1.0, 2.0, 3.0])

    assert values_of(t + 1) == [2, 3, 4]
    assert values_of(2 / t) == [2, 1, 2 / 3]
    assert values_of(t * t) == [1, 4, 9]
    assert values_of(t > numpy.float64(1)) == [False, True, True]
    assert values_of(-t) == [-1, -2, -3]
    assert values_of(abs(-t)) == [1, 2, 3]
    assert values_of(t @ t) == 14
    same, address = t, t.data_ptr
    t += t
    t *= 2
    assert t is same
    assert t.data_ptr == address
    assert values_of(t) == [4, 8, 12]
    assert (t == None) is False  # noqa: E711
    with pytest.raises(dlx.ReadOnlyError):
        operator.iadd(on_gpu([1.0]).as_readonly(), 1)


def test_functions_by_their_standard_names(gpu):
    t = on_gpu([[4.0, 1.0], [1.0, 3.0]])

    assert values_of(numpy.exp(t * 0)) == [[1, 1], [1, 1]]
    assert values_of(numpy.arccos(t * 0 + 1)) == [[0, 0], [0, 0]]  # acos, by NumPy's other name
    assert values_of(numpy.sum(t, axis=0)) == [5, 4]
    assert values_of(numpy.sum(t, dtype=numpy.float32)) == 9
    assert values_of(numpy.concatenate([t, t]))[2] == [4, 1]
    assert values_of(numpy.linalg.det(t)) == pytest.approx(11)
    result = numpy.linalg.qr(t)
    assert type(result).__name__ == "QRResult" or len(result) == 2
    assert numpy.allclose(numpy.abs(values_of(result[0] @ result[1])), [[4, 1], [1, 3]])
    xp = t.__array_namespace__()
    assert values_of(xp.mean(t)) == 2.25
    assert values_of(xp.sort(t, axis=0, descending=True)) == [[4, 3], [1, 1]]
    assert values_of(xp.zeros(2, device="cuda:0", dtype=xp.float32)) == [0, 0]


def test_what_cannot_run_there_names_the_way_out(gpu):
    t = on_gpu([1.0, 2.0])

    for call in (
        lambda: numpy.add.reduce(t),
        lambda: numpy.interp(t, [0, 1], [0, 1]),
        lambda: t[[True, False]],
        lambda: t.__setitem__([0], 1.0),
        lambda: t + dlx.asarray([1.0, 2.0]),
        lambda: numpy.ones(2) * t,
        lambda: numpy.concatenate([t, dlx.asarray([1.0])]),
    ):
        with pytest.raises((dlx.UnsupportedError, dlx.DeviceRefusedError), match="to_device"):
            call()


def test_without_a_library_the_error_says_what_to_install(monkeypatch):
    t = on_gpu([1.0])
    for name in ("array_api_compat.cupy", "array_api_compat.torch"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(dlx.UnavailableError, match=r"cuda:0 needs array-api-compat.*cupy.*torch"):
        t + 1
    with pytest.raises(dlx.UnsupportedError, match="no library to compute on vulkan"):
        relabel(dlx.asarray([1.0]), (7, 0)) + 1
