"""PyTorch as producer and consumer: exchange table, lazy bits, gradients, odd tensors."""

import subprocess
import sys

import pytest

import dlx

torch = pytest.importorskip("torch", reason="is the library under test here")

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "bfloat16", "float32", "float64", "complex32", "complex64", "complex128", "float8_e4m3fn",
         "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]  # fmt: skip


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_goes_there_and_back_without_a_copy(name):
    source = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(getattr(torch, name))
    tensor = dlx.from_dlpack(source)

    assert str(tensor.dtype) == name
    assert dlx.dtype(source.dtype) == name
    assert tensor.data_ptr == source.data_ptr()
    back = torch.from_dlpack(tensor)
    assert back.dtype == source.dtype
    assert back.data_ptr() == source.data_ptr()
    assert (
        tensor.tolist()
        == source.to(torch.complex128 if name.startswith("c") else torch.float64).tolist()
    )


def test_packed_pairs_of_fp4():
    source = torch.tensor([0x21, 0x43], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)

    assert str(dlx.from_dlpack(source).dtype) == "float4_e2m1fnx2"
    assert dlx.dtype(source.dtype) == "float4_e2m1fnx2"


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.T,
        lambda x: x[:, 1:],
        lambda x: x[::2],
        lambda x: x.expand(3, *x.shape),
        lambda x: x[0, 0],
        lambda x: x[:0],
        lambda x: x.reshape(1, -1, 1),
    ],
)
def test_layouts_are_kept(change):
    source = change(torch.arange(12.0).reshape(3, 4))
    tensor = dlx.from_dlpack(source)

    assert tensor.shape == tuple(source.shape)
    assert tensor.tolist() == source.tolist()
    assert torch.from_dlpack(tensor).tolist() == source.tolist()
    if source.numel():
        assert tensor.data_ptr == source.data_ptr()


def test_writes_show_on_both_sides():
    source = torch.zeros(4)
    tensor = dlx.asarray(source)

    source[1] = 5
    tensor[2] = 7
    torch.from_dlpack(tensor)[3] = 9

    assert tensor.tolist() == source.tolist() == [0, 5, 7, 9]


def test_conjugated_tensors_are_resolved_or_refused():
    source = torch.tensor([1 + 2j, 3 - 4j])
    lazy = source.conj()
    assert lazy.is_conj()

    for take in (dlx.from_dlpack, dlx.asarray):
        assert take(lazy).tolist() == [1 - 2j, 3 + 4j]
        with pytest.raises(dlx.CopyRefusedError, match="conj"):
            take(lazy, copy=False)
    assert source.tolist() == [1 + 2j, 3 - 4j]


def test_negated_tensors_are_resolved_or_refused():
    lazy = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    assert lazy.is_neg()

    assert dlx.from_dlpack(lazy).tolist() == [-2, 4]
    with pytest.raises(dlx.CopyRefusedError, match="neg"):
        dlx.from_dlpack(lazy, copy=False)


def test_gradients_are_refused_with_the_call_to_make():
    source = torch.ones(3, requires_grad=True)
    for refused in (source, source * 2, torch.nn.Parameter(torch.ones(3))):
        with pytest.raises(BufferError, match=r"detach"):
            dlx.from_dlpack(refused)
        assert dlx.from_dlpack(refused.detach()).data_ptr == refused.data_ptr()
    assert (
        dlx.from_dlpack(torch.nn.Parameter(torch.ones(3), requires_grad=False)).tolist() == [1] * 3
    )


def quantised():
    return torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)


@pytest.mark.parametrize(
    ("make", "way"),
    [
        (lambda: torch.eye(3).to_sparse(), r"\.to_dense\(\)"),
        (lambda: torch.eye(3).to_sparse_csr(), r"\.to_dense\(\)"),
        (quantised, r"\.int_repr\(\)"),
        (lambda: torch.empty(3, device="meta"), "empty_like"),
    ],
)
@pytest.mark.filterwarnings("ignore:Sparse", "ignore:torch.quantize")
def test_tensors_without_plain_memory_name_the_way_out(make, way):
    # torch's own words would be a RuntimeError with a C++ stack.
    for take in (dlx.from_dlpack, dlx.asarray):
        with pytest.raises(BufferError, match=way):
            take(make())


@pytest.mark.parametrize(("name", "way"), [("qint8", "int_repr"), ("bits8", "view the tensor")])
def test_dtypes_that_dlpack_has_not_name_the_way_out(name, way):
    with pytest.raises(dlx.UnsupportedError, match=f"`dtype`.*torch.{name}.*{way}"):
        dlx.dtype(getattr(torch, name))


def test_guard_names_the_way_out_for_subclasses():
    from dlx._take import guards

    for bad, match in (
        (torch.eye(3).to_sparse(), "to_dense"),
        (torch.empty(3, device="meta"), "meta"),
        (torch.ones(3, requires_grad=True), "detach"),
    ):
        with pytest.raises(BufferError, match=match):
            guards.guard(bad)
    guards.guard(torch.ones(3))


def test_fake_tensors_are_refused_before_their_null_pointer_gets_out():
    with torch._subclasses.FakeTensorMode():
        fake = torch.empty(3)
    for take in (dlx.from_dlpack, dlx.asarray):
        with pytest.raises(BufferError, match=r"FakeTensor"):
            take(fake)


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inside):
        return torch.Tensor._make_wrapper_subclass(cls, inside.shape, dtype=inside.dtype)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(func)


def fake():
    with torch._subclasses.FakeTensorMode():
        return torch.empty(3)


@pytest.mark.parametrize("take", [dlx.from_dlpack, dlx.asarray])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (fake, r"FakeTensor has a shape and a dtype, but no data: pass a real tensor"),
        (lambda: Wrapper(torch.ones(3)), r"Wrapper has no memory .*: export the tensors inside"),
        (torch.nn.UninitializedParameter, r"no data yet: call `.materialize\(shape\)`"),
        (torch.nn.parameter.UninitializedBuffer, r"no data yet: call `.materialize\(shape\)`"),
    ],
    ids=str,
)
def test_refusals_of_what_has_no_data_name_a_call_that_works(take, make, words):
    with pytest.raises(dlx.UnsupportedError, match=words):
        take(make())


def test_an_uninitialized_parameter_is_taken_once_it_has_data():
    parameter = torch.nn.UninitializedParameter(requires_grad=False)
    parameter.materialize((3,))
    assert dlx.asarray(parameter).data_ptr == parameter.data_ptr()


@pytest.mark.parametrize("take", [dlx.from_dlpack, dlx.asarray])
def test_inside_a_gradient_the_message_names_what_works(take):
    found = []

    def look(x):
        for refused in (x, x.detach(), x * 2):
            with pytest.raises(
                dlx.UnsupportedError, match=r"export `torch.func.debug_unwrap\(x\)`"
            ):
                take(refused)
            found.append(take(torch.func.debug_unwrap(refused)).tolist())
        return x.sum()

    torch.func.grad(look)(torch.ones(3))
    torch.func.grad(lambda x: torch.func.grad(look)(x).sum())(torch.ones(3))
    assert found == [[1, 1, 1], [1, 1, 1], [2, 2, 2]] * 2


def test_python_subclasses_are_imported_by_their_method():
    class Mine(torch.Tensor):
        pass

    source = torch.arange(3.0).as_subclass(Mine)

    assert dlx.from_dlpack(source).data_ptr == source.data_ptr()


def test_read_only_tensors_reach_torch_only_by_request():
    # torch has no read-only tensors and ignores the flag; a legacy capsule is refused by dlx.
    tensor = dlx.asarray(b"abc")

    assert torch.from_dlpack(tensor).tolist() == [97, 98, 99]


def test_negative_strides_never_reach_torch():
    tensor = dlx.asarray([1.0, 2.0, 3.0])[::-1]

    assert torch.from_dlpack(tensor).tolist() == [3, 2, 1]


def test_negative_strides_shared_on_request_are_why_the_policy_exists():
    # Without the policy torch ends the process; if it ever stops doing so, the policy can go.
    code = """
import dlx, torch
dlx.set_export_negative_strides("share")
torch.from_dlpack(dlx.asarray([1.0, 2.0])[::-1])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=120, check=False
    )

    assert done.returncode != 0


def test_torch_reads_the_exchange_table_of_other_classes_like_tensor():
    tensor = dlx.asarray([[1.0, 2.0]])

    assert torch.utils.dlpack.from_dlpack(tensor).data_ptr() == tensor.data_ptr
    assert torch.utils.dlpack.from_dlpack(tensor.__dlpack__()).data_ptr() == tensor.data_ptr


def test_torch_keeps_the_memory():
    calls = []
    source = torch.zeros(4)
    tensor = dlx.from_pointer(
        source.data_ptr(), 4, "float32", owner=source, on_release=lambda: calls.append(1)
    )
    taken = torch.from_dlpack(tensor)
    part = taken[1:]
    del tensor, taken
    assert calls == []
    del part
    dlx.empty(0)  # torch gives memory back without the GIL
    assert calls == [1]


def test_lazy_bits_are_seen_wherever_they_come_from():
    # Not only views have them, and complex tensors can have either.
    source = torch.tensor([1 + 2j, 3 + 4j])
    negated = torch.as_strided(source.conj().imag, (2, 2), (2, 1), 0)
    with torch.inference_mode():
        unseen = source.clone().conj()
    for lazy in (
        source.conj().detach(),
        source.conj().data,
        unseen,
        torch.view_as_complex(negated),
        torch.view_as_complex(negated).conj(),
    ):
        assert lazy.is_conj() or lazy.is_neg()
        assert dlx.asarray(lazy).tolist() == lazy.resolve_conj().resolve_neg().tolist()
        with pytest.raises(dlx.CopyRefusedError):
            dlx.asarray(lazy, copy=False)


def test_inside_functions_that_torch_transforms():
    found = []

    def look(x):
        try:
            found.append(dlx.asarray(x))
        except BufferError as error:
            found.append(str(error))
        return (x * 2).sum()

    ones = torch.ones(2, 3)
    torch.vmap(look)(ones)
    torch.func.jvp(look, (ones,), (ones,))
    torch.func.functionalize(look)(ones)
    assert len(found) == 3
    assert all("torch.func transforms" in text for text in found)


def test_zeros_and_orders_that_are_not_in_memory():
    with pytest.raises(BufferError, match=r"\.clone\(\)"):
        dlx.asarray(torch._efficientzerotensor(3))
    if torch.backends.mkldnn.is_available():
        with pytest.raises(BufferError, match=r"oneDNN.*\.to_dense\(\)"):
            dlx.asarray(torch.ones(2, 2).to_mkldnn())


def test_default_collate_takes_tensors():
    data = torch.utils.data
    samples = [dlx.asarray(torch.arange(3.0) + i) for i in range(4)]
    expected = torch.stack([torch.arange(3.0) + i for i in range(4)])

    assert torch.equal(data.default_collate(samples), expected)
    assert torch.equal(
        data.default_collate([s.as_readonly()[::-1] for s in samples]), expected.flip(1)
    )
    assert torch.equal(data.default_collate([(s, 1) for s in samples])[0], expected)
    assert torch.equal(data.default_collate([{"a": s} for s in samples])["a"], expected)
    half = dlx.asarray(torch.ones(2, dtype=torch.bfloat16))
    assert data.default_collate([half, half]).dtype == torch.bfloat16
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([samples[0], samples[0][:2]])
    assert torch.equal(next(iter(data.DataLoader(samples, batch_size=4))), expected)


@pytest.mark.parametrize("first", ["dlx", "torch"])
def test_default_collate_in_either_order_of_imports(first):
    second = "torch" if first == "dlx" else "dlx"
    code = f"""
import {first}
import {second}
made = dlx.asarray([1.0]) if {first == "torch"} else dlx.asarray(bytearray(2))
print(type(torch.utils.data.default_collate([made, made])).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "Tensor\n", done.stderr
