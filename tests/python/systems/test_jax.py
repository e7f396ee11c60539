"""JAX: every dtype and layout both ways. It asks for legacy capsules, wants 64-byte alignment and
dense strides, and its arrays are immutable."""

from __future__ import annotations

import arrays
import numpy
import pytest

import dlx

jax = arrays.require("jax")
jax.config.update("jax_enable_x64", True)

SHARED = {"contiguous", "column-major", "permuted", "0-d", "5 axes", "length 1, reversed",
          "read-only"}  # fmt: skip
NAMES = [*arrays.NUMPY_NAMES, "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz",
         "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
         "float8_e8m0fnu"]  # fmt: skip


def address(x):
    return x.unsafe_buffer_pointer()


def values(x):
    return jax.numpy.array(x, copy=True).tolist()  # an array remembers its own tolist()


@pytest.mark.parametrize("layout", arrays.LAYOUTS)
def test_layouts(layout):
    arrays.check_layout(layout, "jax", SHARED, address, values)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name):
    result = arrays.check_dtype(name, jax, address)

    assert result.dtype.name == name


@pytest.mark.parametrize("name", NAMES)
def test_its_dtype_objects_are_read(name):
    own = getattr(jax.numpy, name if name != "bool" else "bool_")

    assert dlx.dtype(own) == name
    assert dlx.asarray([1, 1], dtype=own).tolist() == [1, 1]


@pytest.mark.parametrize("name", ["int4", "uint4", "float4_e2m1fn"])
def test_dtypes_without_a_capsule_are_refused(name):
    with pytest.raises(dlx.UnsupportedError, match="jax takes no"):
        dlx.convert(arrays.numpy_array(name), "jax")


@pytest.mark.parametrize("shape", [(8,), (3, 5), (2, 3, 3)])
def test_fp4_is_packed(shape):
    values = (numpy.arange(numpy.prod(shape)) % 4).reshape(shape)
    tensor = dlx.asarray(jax.numpy.array(values, jax.numpy.float4_e2m1fn))

    assert str(tensor.dtype) == "float4_e2m1fn"
    assert tensor.nbytes == -(-values.size // 2)
    assert tensor.tolist() == values.tolist()


def test_imports_are_read_only():
    source = jax.numpy.arange(4.0)
    tensor = dlx.asarray(source)

    assert tensor.readonly
    assert tensor.data_ptr == address(source)
    with pytest.raises(dlx.ReadOnlyError):
        tensor[0] = 1.0


def test_buffer_and_array_protocols_share_too():
    source = jax.numpy.arange(4.0)

    assert dlx.asarray(memoryview(source)).data_ptr == address(source)
    assert dlx.asarray(numpy.asarray(source)).data_ptr == address(source)


def test_donating_an_import_does_not_write_to_read_only_data():
    source = arrays.LAYOUTS["read-only"]()
    before = source.tolist()
    result = dlx.convert(source, "jax", copy=False)
    doubled = jax.jit(lambda x: x * 2, donate_argnums=0)(result)

    assert doubled.tolist() == (numpy.array(before) * 2).tolist()
    assert source.tolist() == before


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x)[0])])
def test_tracers_are_refused_with_the_way_out(transform):
    def function(x):
        return dlx.asarray(x).tolist()

    with pytest.raises(dlx.UnsupportedError, match=r"no data yet.*pure_callback"):
        transform(function)(jax.numpy.ones(3))


def test_pure_callback_is_a_way_out_of_a_trace():
    def double(x):
        return dlx.convert(x, "numpy") * 2

    @jax.jit
    def function(x):
        return jax.pure_callback(double, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    assert function(jax.numpy.ones(3)).tolist() == [2, 2, 2]


def test_arrays_on_several_devices_are_refused():
    arrays.run_alone("""
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import dlx, jax
mesh = jax.sharding.Mesh(jax.devices(), "x")
spec = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
sharded = jax.device_put(jax.numpy.arange(4.0), spec)
try:
    dlx.asarray(sharded)
except BufferError as error:
    assert str(error)
else:
    raise AssertionError("half of an array was taken for all of it")
parts = [dlx.asarray(part.data).tolist() for part in sharded.addressable_shards]
assert parts == [[0, 1], [2, 3]], parts
""")


def test_lifetimes():
    def use(result):
        later = result + 1
        assert later.tolist() == [1, 2, 3, 4]
        return result.tolist()

    arrays.check_release("jax", use, end=lambda array: array.delete(), wait=_collect)

    source = jax.numpy.arange(4.0) + 1
    tensor = dlx.asarray(source)
    del source
    assert tensor.tolist() == [1, 2, 3, 4]


def _collect(released):
    import gc
    import time

    for _ in range(50):  # its threads release when they come round to it
        gc.collect()
        dlx.asarray([0])
        if released:
            return
        time.sleep(0.1)


@pytest.mark.heavy
def test_no_leak():
    arrays.check_no_leak(lambda x: dlx.convert(x, "jax", copy=True), count=200)


def test_example_of_arrow_s_page():
    pyarrow = pytest.importorskip("pyarrow", reason="the page's example starts from it")
    array = pyarrow.array([2, 0, 2, 4])
    result = dlx.convert(array, "jax")

    assert isinstance(result, jax.Array)
    assert result.tolist() == [2, 0, 2, 4]


def test_deleted_and_donated_arrays_are_refused():
    deleted = jax.numpy.arange(4.0)
    deleted.delete()
    donated = jax.numpy.arange(1000.0)
    jax.jit(lambda x: x + 1, donate_argnums=0)(donated)
    assert donated.is_deleted()

    for gone in (deleted, donated):
        for take in (dlx.asarray, dlx.from_dlpack):
            with pytest.raises(dlx.UnsupportedError, match="deleted"):
                take(gone)


def test_what_jax_cannot_export_names_the_way_out():
    with pytest.raises(dlx.UnsupportedError, match=r"int4.*\.astype\('int8'\)"):
        dlx.asarray(jax.numpy.zeros(4, jax.numpy.int4))
    sparse = pytest.importorskip("jax.experimental.sparse")
    with pytest.raises(dlx.UnsupportedError, match=r"BCOO is sparse.*\.todense\(\)"):
        dlx.asarray(sparse.BCOO.fromdense(jax.numpy.eye(2)))
    with pytest.raises(TypeError, match="key_data"):
        dlx.asarray(jax.random.key(0))


def test_the_abstract_class_of_arrays():
    for source in (arrays.aligned(3, 4), arrays.aligned(3, 4)[::-1], jax.numpy.ones(3)):
        for _ in range(3):
            result = dlx.convert(source, jax.Array)
            assert isinstance(result, jax.Array)
    assert dlx.convert(result, jax.Array) is result


def test_like_takes_what_jax_cannot_export_itself():
    made = numpy.asarray(jax.numpy.ones(2, "int4"), like=dlx.asarray([1.0]))
    assert made.tolist() == [1, 1]


def test_objects_that_stand_for_an_array():
    class Variable:
        value = jax.numpy.arange(3)

        def __jax_array__(self):
            return self.value

    tensor = dlx.asarray(Variable(), copy=False)
    assert tensor.data_ptr == address(Variable.value)
    assert tensor.readonly

    @jax.jit
    def function(x):
        variable = Variable()
        variable.value = x
        with pytest.raises(dlx.UnsupportedError, match="no data yet"):
            dlx.asarray(variable)
        return x

    function(jax.numpy.ones(2))


def test_lists_of_arrays():
    numbers = jax.numpy.arange(3.0)

    assert dlx.asarray([numbers, numbers + 1]).tolist() == [[0, 1, 2], [1, 2, 3]]
    assert dlx.asarray([[numbers[0]], [numbers[2]]]).tolist() == [[0], [2]]
    half = jax.numpy.ones(2, jax.numpy.bfloat16)  # has no buffer
    assert dlx.asarray([half, half]).dtype == "bfloat16"
    with pytest.raises(dlx.UnsupportedError, match="different dtypes"):
        dlx.asarray([numbers, numbers.astype("int32")])
    with pytest.raises(ValueError, match=r"ragged at obj\[1\]"):
        dlx.asarray([numbers, numbers[:2]])
    deleted = jax.numpy.ones(3)
    deleted.delete()
    with pytest.raises(dlx.UnsupportedError, match=r"`obj`\[1\]: .*deleted"):
        dlx.asarray([numbers, deleted])


def test_float0_has_no_bytes():
    """The gradient for an integer: a field of no bytes is no way out."""
    import jax

    gradient = jax.grad(lambda x: x * 1.0, allow_int=True)(3)
    for source in (gradient, numpy.zeros(3, jax.dtypes.float0)):
        with pytest.raises(dlx.UnsupportedError, match="elements of 0 bytes hold no data"):
            dlx.asarray(source)
