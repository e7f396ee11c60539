"""examples/filter: one library in C, called in every way. Compiled once for all tests.

.venv has cffi, Cython and the headers of pybind11, the environments of --systems nanobind and JAX.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import nanobind_extension
import numpy
import pytest

import dlx
import memory
from dlx._cli import info
from dlx._lib import library as found

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/filter"
INCLUDE = Path(sysconfig.get_path("include"))
pytestmark = pytest.mark.skipif(
    bool(nanobind_extension.problem()) or not sys.platform.startswith("linux"),
    reason=nanobind_extension.problem() or "not Linux",
)
BLURRED = [[25, 30, 40, 45], [45, 50, 60, 65], [65, 70, 80, 85]]


def image():
    return (10 * numpy.arange(12, dtype="uint8")).reshape(3, 4)


def compile_(target, compiler, *words):
    flags = shlex.split(info.compiler_arguments())
    subprocess.run(
        [compiler, "-Wall", "-Wextra", "-Werror", "-O1", *map(str, words), *flags, "-o", str(target)],
        check=True, cwd=EXAMPLE,
    )  # fmt: skip
    return target


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filter")
    (folder / "libdlx.so.1").symlink_to(Path(found.path).resolve())  # programs look for the soname
    return compile_(folder / "libfilter.so", "gcc", "-std=c99", "-Wpedantic", "-shared", "-fPIC",
                    "filter.c", "doors.c", "-ldl")  # fmt: skip


@pytest.fixture(scope="module")
def lib(library):
    return ctypes.CDLL(str(library))


def contract(name):
    return re.search(rf'#define {name} "(.*)"', (EXAMPLE / "filter.h").read_text())[1]


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(program, library):
    environment = {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": str(library.parent)}
    done = subprocess.run([program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers, *more = done.stdout.splitlines()
    assert list(map(int, numbers.split())) == [pixel for row in BLURRED for pixel in row]
    return more


def test_c(library, tmp_path):
    program = compile_(tmp_path / "use", "gcc", "-std=c99", "-Wpedantic", "use.c", library)

    assert "`image` must have 2 axes" in run(program, library)[0]


def test_cpp(library, tmp_path):
    program = compile_(tmp_path / "use", "g++", "-std=c++17", "-Wpedantic", "use.cc", library)

    assert "blur: `radius` is negative (got -1)" in run(program, library)


def test_doors_are_cpp_too(library, tmp_path):
    compile_(tmp_path / "doors.so", "g++", "-std=c++11", "-shared", "-fPIC", "-x", "c++", "doors.c",
             "-x", "none", library, "-ldl")  # fmt: skip


def test_from_python(library):
    done = subprocess.run(
        [sys.executable, EXAMPLE / "use.py", library], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    doors = {"dlx.function": 1, "ctypes": 1}
    doors.update({name: 1 for name in ("cffi", "torch", "jax") if importlib.util.find_spec(name)})
    assert done.stdout.splitlines() == [f"{door}: {BLURRED}" for door in doors]


@pytest.mark.parametrize(
    "name",
    [
        "use.py",
        "use.js",
        "Use.java",
        "Use.cs",
        "use.R",
        "use.lua",
        "use.rb",
        "go/main.go",
        "rust/src/main.rs",
    ],
)
def test_contracts_are_those_of_c(name):
    source = (EXAMPLE / name).read_text().replace("'", '"')

    for text in ("FILTER_BLUR", "FILTER_BRIGHTEN"):
        assert f'"{contract(text)}"' in source


# ---- binding libraries


def check_module(module):
    result = module.blur(image())
    assert (type(result), result.tolist()) == (numpy.ndarray, BLURRED)
    assert module.blur(image=image(), radius=0).tolist() == image().tolist()
    with pytest.raises(dlx.InvalidArgumentError, match="`radius` is negative"):
        module.blur(image(), -1)
    with pytest.raises(dlx.InvalidArgumentError, match="`image` must be uint8"):
        module.blur(image().astype("float32"))

    x = image()
    module.brighten(x[::-1, ::2], 2)
    assert x.tolist() == [[0, 10, 40, 30], [80, 50, 120, 70], [160, 90, 200, 110]]
    t = dlx.asarray(image())
    module.brighten(image=t, factor=0.5)
    assert t.tolist() == (image() // 2).tolist()
    with pytest.raises(dlx.InvalidArgumentError, match=r"`image` must be uint8 \(got float32\)"):
        module.brighten(numpy.ones((2, 2), "float32"))
    x.flags.writeable = False
    with pytest.raises(dlx.ReadOnlyError, match="`image` is written to"):
        module.brighten(x)
    with pytest.raises((TypeError, dlx.InvalidArgumentError)):
        module.brighten(None)


def check_overloads(module):
    assert module.sum(image()) == 660
    assert module.sum(numpy.full((2, 2), 1.5, "float32").T) == 6.0
    with pytest.raises(dlx.InvalidArgumentError, match=r"`(image|matrix)` must be (uint8|float32)"):
        module.sum(numpy.ones((2, 2)))
    with pytest.raises(dlx.CopyRefusedError, match="int has no memory"):
        module.sum(5)


def check_tensors(module):
    x = image()
    t = module.transpose(x)
    assert (type(t), t.shape, t.data_ptr) == (dlx.Tensor, (4, 3), x.ctypes.data)
    assert module.transpose([[1, 2]]).tolist() == [[1], [2]]
    with pytest.raises(dlx.UnsupportedError, match="mask"):
        module.transpose(numpy.ma.masked_array(x, x > 2))


MORE_TYPES = """
#include <stdexcept>
struct Compact {
  static constexpr char contract[] = "x: float64[_] writable copy";
};
struct Maybe {
  static constexpr char contract[] = "mask: uint8[_] = None";
};
"""
MORE_FUNCTIONS = """
  m.def("twice", [](dlx::Array<Compact> x) {
    for (int64_t i = 0; i < x.size(); ++i) x.data<double>()[i] *= 2;
    if (x.data<double>()[0] < 0) throw std::invalid_argument("negative");
  });
  m.def("is_given", [](dlx::Array<Maybe> mask) { return bool(mask); }, nb::arg("mask").none());
  m.def("as_floats", [](dlx::Array<Maybe> mask) { mask.data<const float>(); });
"""


def source_of(name, types="", functions=""):
    """An example's module with more functions, for what the example does not show."""
    source = (EXAMPLE / name).read_text()
    at = '  m.def("transpose"'
    assert at in source
    source = source.replace('"filter.h"\n', '"filter.h"\n' + types + MORE_TYPES)
    return source.replace(at, functions + MORE_FUNCTIONS + at)


def check_more(module):
    x = numpy.arange(6.0)
    module.twice(x[::2])  # a temporary, copied back
    assert x.tolist() == [0, 1, 4, 3, 8, 5]
    with pytest.raises(ValueError, match="negative"):
        module.twice(-1 - x[::2])
    y = numpy.array([-1.0, 0, 1])
    with pytest.raises(ValueError, match="negative"):
        module.twice(y[::2])
    assert y.tolist() == [-1, 0, 1]  # not copied back
    assert (module.is_given(None), module.is_given(bytearray(3))) == (False, True)
    with pytest.raises(dlx.InvalidArgumentError, match="the elements are uint8, not float32"):
        module.as_floats(bytearray(3))


def check_leaks(module):
    x, wrong = numpy.arange(1000.0), numpy.ones((2, 2))

    def step():
        module.twice(x[::2])
        memory.failing(module.sum, wrong)
        memory.failing(module.brighten, wrong)

    memory.stays_flat(step, 5000)


def test_nanobind(library):
    pytest.importorskip("nanobind")
    many = "  m.def({}, [](const std::vector<dlx::{}>& list) {{ return list.size(); }});\n"
    source = source_of(
        "nanobind_module.cc", "#include <nanobind/stl/vector.h>\n",
        many.format('"many"', "Tensor") + many.format('"many_arrays"', "Array<Image>"),
    )  # fmt: skip
    module = nanobind_extension.build(
        "filter_nanobind", source, f"-I{EXAMPLE}", str(library), f"-Wl,-rpath,{library.parent}",
        *shlex.split(info.compiler_arguments()),
    )  # fmt: skip

    check_module(module)
    check_overloads(module)
    check_tensors(module)
    check_more(module)
    check_leaks(module)
    assert "uint8[h, w]" in module.brighten.__doc__
    # Containers let no exception through, and would outlive a borrowed array.
    assert module.many([image(), [1, 2]]) == 2
    with pytest.raises(TypeError, match="incompatible function arguments"):
        module.many([image(), "text"])
    with pytest.raises(TypeError, match="incompatible function arguments"):
        module.many_arrays([image()])


def test_pybind11(library, tmp_path):
    package = importlib.util.find_spec("pybind11") or importlib.util.find_spec("torch")
    if package is None:
        pytest.skip("no pybind11, and no PyTorch, which brings its headers")
    source = tmp_path / "filter_pybind11.cc"
    source.write_text(source_of("pybind11_module.cc").replace("nb::", "py::"))
    path = compile_(
        tmp_path / "filter_pybind11.so", "g++", "-std=c++17", "-shared", "-fPIC",
        "-fvisibility=hidden", f"-I{INCLUDE}", "-isystem", Path(package.origin).parent / "include",
        source, "-I.", library, f"-Wl,-rpath,{library.parent}",
    )  # fmt: skip
    module = load("filter_pybind11", path)

    check_module(module)
    check_overloads(module)
    check_tensors(module)
    check_more(module)
    check_leaks(module)
    assert "uint8[h, w]" in module.brighten.__doc__


def test_cython(library, tmp_path):
    pytest.importorskip("Cython")
    declared = Path(shlex.split(info.compiler_arguments(libs=False))[0].removeprefix("-I")) / "dlx"
    shutil.copy(EXAMPLE / "cython_module.pyx", tmp_path / "filter_cython.pyx")
    subprocess.run(
        [sys.executable, "-m", "cython", "-3", "-Wextra", "-Werror", "-I", declared,
         tmp_path / "filter_cython.pyx"], check=True,
    )  # fmt: skip
    path = compile_(
        tmp_path / "filter_cython.so", "gcc", "-shared", "-fPIC", "-Wno-unused-function",
        "-isystem", INCLUDE, tmp_path / "filter_cython.c", library, "-I.",
        f"-Wl,-rpath,{library.parent}",
    )  # fmt: skip

    check_module(load("filter_cython", path))


# ---- all kinds of parameters

MIX = """
#include <dlx/torch_operator.h>
#include <dlx/xla_ffi.h>
#define CONTRACT "mix(x: float32|float64[n], mask: bool[n] = None, mode: str = 'add', twice: bool = False, " \\
  "small: int8 = 3, factor: float32 = 0.5, out: float32[n, 2] result, count: int64[] result)"
static dlx_status mix(void *context, const dlx_argument *a) {
  const DLTensor *x = a[0].array, *mask = a[1].array;
  float *out = (float *)a[6].array->data;
  if (x->dtype.bits != 32) return DLX_ERROR_UNSUPPORTED;
  int64_t masked = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    const int on = mask == NULL || ((const uint8_t *)mask->data)[i] != 0;
    const double number = (a[2].text[0] == 'a' ? a[4].integer : -a[4].integer) * (a[3].integer + 1);
    masked += !on;
    out[2 * i] = (float)(on ? ((const float *)x->data)[i] * a[5].real + number : 0);
    out[2 * i + 1] = (float)*(int *)context;
  }
  *(int64_t *)a[7].array->data = masked;
  return DLX_OK;
}
static int context = 42;
DLX_TORCH_OPERATOR(mix_torch, "filter::mix", CONTRACT, mix, &context)
DLX_TORCH_OPERATOR(nameless_torch, "mix", CONTRACT, mix, &context)
DLX_TORCH_OPERATOR(wrong_torch, "filter::wrong", "f(x: float33[n])", mix, &context)
DLX_TORCH_OPERATOR(stream_torch, "filter::stream", "f(x: float32[n] cuda, s: stream)", mix, &context)
DLX_XLA_HANDLER(mix_xla, CONTRACT, mix, &context)
DLX_XLA_HANDLER(nothing_xla, "f(x: float32[n])", mix, &context)
"""


@pytest.fixture(scope="module")
def mix(library):
    source = library.parent / "mix.c"
    source.write_text(MIX)
    path = compile_(
        library.parent / "libmix.so", "gcc", "-std=c99", "-shared", "-fPIC", source, "-ldl"
    )
    return ctypes.CDLL(str(path))


def check_mix(call, array, error):
    x = array(numpy.float32([2, 4, 6]))
    plain, masked = call(x)
    assert (plain.tolist(), masked.item()) == ([[4, 42], [5, 42], [6, 42]], 0)
    given, masked = call(x, array(numpy.array([True, False, True])), "sub", True, -1, 2.0)
    assert (given.tolist(), masked.item()) == ([[6, 42], [0, 42], [14, 42]], 1)
    named, _ = call(x, small=0, factor=1)
    assert named.tolist() == [[2, 42], [4, 42], [6, 42]]
    with pytest.raises(error, match=r"`small` does not fit into 8 bits \(got 300\)"):
        call(x, small=300)
    with pytest.raises(error, match="`mask`"):
        call(x, array(numpy.array([True])))


# ---- PyTorch


@pytest.fixture(scope="module")
def operators(lib):
    torch = pytest.importorskip("torch")
    return torch, dlx.torch_operator(lib.blur_torch), dlx.torch_operator(lib.brighten_torch)


def test_an_operator_of_torch(operators, lib):
    torch, blur, brighten = operators
    x = torch.from_numpy(image())

    assert blur is dlx.torch_operator(lib.blur_torch) is torch.ops.filter.blur.default
    assert str(blur._schema) == "filter::blur(Tensor image, int radius=1) -> Tensor"
    assert blur(x).tolist() == BLURRED
    assert blur(x, radius=0).tolist() == x.tolist()
    y = x.clone()
    assert brighten(y.T, 2.0) is None
    assert y.tolist() == [[min(2 * v, 255) for v in row] for row in x.tolist()]


@pytest.mark.parametrize(("make", "message"), [
    (lambda torch, x: (x.float(),), r"filter::blur: `image` must be uint8 \(got float32\)"),
    (lambda torch, x: (x[0],), "`image` must have 2 axes"),
    (lambda torch, x: (x.T,), "`image` must be compact in row-major order"),
    (lambda torch, x: (x, -1), r"filter::blur: `radius` is negative \(got -1\)"),
    (lambda torch, x: (x.to_sparse(),), "filter::blur"),
])  # fmt: skip
def test_what_an_operator_refuses(operators, make, message):
    torch, blur, _ = operators

    with pytest.raises((RuntimeError, NotImplementedError), match=message):
        blur(*make(torch, torch.from_numpy(image())))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_operators_within_compiled_programs(operators, backend):
    torch, blur, brighten = operators
    x = torch.from_numpy(image())

    def program(x, radius):
        y = blur(x, radius) + 1
        brighten(y, 2.0)
        return blur(y, 0)

    compiled = torch.compile(program, fullgraph=True, backend=backend, dynamic=True)
    for shape in ((3, 4), (6, 2)):
        assert torch.equal(compiled(x.reshape(shape), 1), program(x.reshape(shape), 1))
    with pytest.raises(Exception, match="`image` must be uint8"):
        compiled(x.float(), 1)


def test_operators_are_exported_and_checked_by_torch(operators):
    torch, blur, brighten = operators
    x = torch.from_numpy(image())

    class Module(torch.nn.Module):
        def forward(self, x):
            return blur(x, 1)

    exported = torch.export.export(Module(), (x,))
    assert exported.module()(x).tolist() == BLURRED
    torch.library.opcheck(blur, (x,), {"radius": 1})
    torch.library.opcheck(brighten, (x, 1.0))


def test_what_torch_has_no_rule_for_is_refused_or_right(operators):
    torch, blur, _ = operators
    stack = torch.stack([torch.from_numpy(image()), torch.from_numpy(image()) // 2])

    batched = torch.func.vmap(blur)(stack)
    assert batched.tolist() == [blur(x).tolist() for x in stack]


def test_all_kinds_of_parameters_of_an_operator(operators, mix):
    torch, *_ = operators
    call = dlx.torch_operator(mix.mix_torch)

    check_mix(call, torch.from_numpy, RuntimeError)
    x, mask = torch.ones(3), torch.tensor([True, False, True])
    compiled = torch.compile(
        lambda x: call(x, mask, mode="sub"), fullgraph=True, backend="aot_eager"
    )
    assert compiled(x)[0].tolist() == call(x, mask, mode="sub")[0].tolist()
    with pytest.raises(RuntimeError, match="filter::mix: the function failed without a message"):
        call(x.double())


def test_operators_have_no_derivative(operators, mix):
    torch, *_ = operators
    call = dlx.torch_operator(mix.mix_torch)
    x = torch.ones(3, requires_grad=True)
    refusal = "mix: `x` requires grad, and the operator has no derivative"

    with pytest.raises(RuntimeError, match=refusal):
        call(x)
    compiled = torch.compile(lambda x: call(2 * x)[0], fullgraph=True, backend="aot_eager")
    with pytest.raises(RuntimeError, match=refusal):
        compiled(x)
    with torch.no_grad():
        assert compiled(x).tolist() == call(2 * x)[0].tolist()
        assert not call(x)[0].requires_grad


@pytest.mark.parametrize(("name", "error", "message"), [
    ("nameless_torch", dlx.InvalidArgumentError, 'is "library::name" .got "mix"'),
    ("wrong_torch", dlx.Error, "float33"),
    ("stream_torch", dlx.UnsupportedError, "`s` is a stream"),
])  # fmt: skip
def test_operators_that_cannot_be(operators, mix, name, error, message):
    for _ in range(2):
        with pytest.raises(error, match=message):
            dlx.torch_operator(getattr(mix, name))


@memory.READABLE
def test_operators_do_not_leak(operators, mix):
    torch, *_ = operators
    call = dlx.torch_operator(mix.mix_torch)
    x, mask, text = torch.ones(1000), torch.ones(1000, dtype=torch.bool), "sub" * 400

    def step():
        call(x, mask, text)
        memory.failing(call, x, mask[1:], text)
        memory.failing(call, x, mask, text, small=1000)

    memory.stays_flat(step, 5000)


# ---- JAX


@pytest.fixture(scope="module")
def functions(lib):
    jax = pytest.importorskip("jax")
    return jax, dlx.jax_function(lib.blur_xla), dlx.jax_function(lib.brighten_xla)


def test_a_function_of_jax(functions):
    jax, blur, brighten = functions
    x = jax.numpy.asarray(image())

    assert blur(x).tolist() == BLURRED
    assert jax.jit(blur, static_argnames="radius")(x, radius=0).tolist() == x.tolist()
    assert jax.jit(lambda x: blur(x.T).T + 1)(x).tolist() == (blur(x.T).T + 1).tolist()
    # An array of JAX never changes: what the function writes is what the call returns.
    assert jax.jit(lambda x: brighten(x, 2))(x).tolist() == [
        [min(2 * v, 255) for v in r] for r in x.tolist()
    ]
    assert x.tolist() == image().tolist()
    assert str(blur.__signature__) == "(image, radius=1)"


def test_what_a_function_of_jax_refuses(functions):
    jax, blur, _ = functions
    x = jax.numpy.asarray(image())

    with pytest.raises(
        dlx.InvalidArgumentError, match=r"blur: `image` must be uint8 \(got float32\)"
    ):
        jax.jit(blur)(x.astype("float32"))
    with pytest.raises(dlx.InvalidArgumentError, match="`image` must have 2 axes"):
        blur(x[0])
    with pytest.raises(TypeError, match="blur: missing a required argument: 'image'"):
        blur()
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"blur: `radius` is negative \(got -1\)"):
        blur(x, -1).block_until_ready()
    with pytest.raises(jax.errors.TracerIntegerConversionError):
        jax.jit(blur)(x, 1)


def test_vmap_of_a_function_of_jax(functions):
    jax, blur, brighten = functions
    stack = jax.numpy.stack([image(), image() // 2])

    assert jax.vmap(blur)(stack).tolist() == [blur(x).tolist() for x in stack]
    assert jax.vmap(brighten)(stack).tolist() == [brighten(x).tolist() for x in stack]


def test_all_kinds_of_parameters_of_a_function_of_jax(functions, mix):
    jax, *_ = functions
    call = dlx.jax_function(mix.mix_xla)

    check_mix(call, jax.numpy.asarray, (jax.errors.JaxRuntimeError, dlx.InvalidArgumentError))
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda x: call(x)[0].sum())(jax.numpy.ones(3))
    with pytest.raises(dlx.InvalidArgumentError, match="f: it writes no array"):
        dlx.jax_function(mix.nothing_xla)


def test_the_handler_speaks_the_language_of_xla(tmp_path):
    """Offsets of our structs are those of the header that jaxlib brings."""
    package = pytest.importorskip("jaxlib")
    pairs = {
        "frame": "CallFrame", "buffer": "Buffer", "scalar": "Scalar", "text": "ByteSpan",
        "metadata_extension": "Metadata_Extension", "error_arguments": "Error_Create_Args",
    }  # fmt: skip
    fields = {
        "frame": "extensions:extension_start api:api stage:stage arguments:args results:rets "
                 "attributes:attrs arguments.size:args.size arguments.items:args.args "
                 "results.items:rets.rets attributes.types:attrs.types "
                 "attributes.names:attrs.names attributes.items:attrs.attrs",
        "buffer": "dtype:dtype data:data rank:rank dims:dims",
        "scalar": "dtype:dtype value:value",
        "text": "data:ptr size:len",
        "metadata_extension": "base.type:extension_base.type base.next:extension_base.next "
                              "metadata:metadata",
        "error_arguments": "message:message code:errc",
    }  # fmt: skip
    lines = [
        f"_Static_assert(offsetof(dlx_xla_{ours}, {a}) == offsetof(XLA_FFI_{pairs[ours]}, {b}), "
        f'"{ours}.{a}");'
        for ours, words in fields.items()
        for a, b in (word.split(":") for word in words.split())
    ]
    source = tmp_path / "layout.c"
    source.write_text(
        "#include <dlx/xla_ffi.h>\n#include <xla/ffi/api/c_api.h>\n"
        + "\n".join(lines)
        + "\n_Static_assert(offsetof(dlx_xla_api, create_error) == "
        'offsetof(XLA_FFI_Api, XLA_FFI_Error_Create), "api");\n'
        '_Static_assert(sizeof(dlx_xla_frame) <= sizeof(XLA_FFI_CallFrame), "frame");\n'
    )
    subprocess.run(
        ["gcc", "-std=c11", "-fsyntax-only", *shlex.split(info.compiler_arguments(libs=False)),
         f"-I{Path(package.__file__).parent / 'include'}", source], check=True,
    )  # fmt: skip
