"""Arrow's PyCapsule interface: what a Tensor exports, read by PyArrow."""

import shutil
import subprocess
from pathlib import Path

import pytest

import dlx
from arrow_support import NAMES, OnlyArray, address, pyarrow
from dlx import raw

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", NAMES)
def test_one_axis_is_exported_without_a_copy(name):
    tensor = dlx.asarray([1, 2, 3]) if name == "int64" else dlx.empty(3, dtype=name)
    tensor[:] = [1, 2, 3]

    array = pyarrow.array(tensor)

    array.validate(full=True)
    assert array.type == getattr(pyarrow, name)()
    assert array.to_pylist() == [1, 2, 3]
    assert array.null_count == 0
    assert address(array) == tensor.data_ptr
    assert pyarrow.array(OnlyArray(tensor)).equals(array)
    assert dlx.asarray(array).data_ptr == tensor.data_ptr


def test_several_axes_are_nested_lists():
    tensor = dlx.asarray([[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]])

    array = pyarrow.array(tensor)

    array.validate(full=True)
    assert array.type == pyarrow.list_(pyarrow.list_(pyarrow.int64(), 2), 3)
    assert array.to_pylist() == tensor.tolist()
    assert address(array) == tensor.data_ptr
    assert array[1:].flatten().flatten().to_pylist() == list(range(7, 13))


def test_fixed_shape_tensors_on_request():
    tensor = dlx.asarray([[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]])
    kind = pyarrow.fixed_shape_tensor(pyarrow.int64(), [3, 2])
    requested = kind.__arrow_c_schema__()

    array = pyarrow.Array._import_from_c_capsule(*tensor.__arrow_c_array__(requested))

    array.validate(full=True)
    assert array.type == kind
    assert array.to_tensor().to_numpy().tolist() == tensor.tolist()
    assert address(array.storage) == tensor.data_ptr


def test_permuted_tensors_are_exported_as_a_copy_that_pyarrow_can_read():
    memory = dlx.asarray([[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]])
    tensor = memory.permute_dims((0, 2, 1))
    requested = pyarrow.fixed_shape_tensor(pyarrow.int64(), [3, 2]).__arrow_c_schema__()

    array = pyarrow.Array._import_from_c_capsule(*tensor.__arrow_c_array__(requested))

    assert array.type.shape == [3, 2]
    assert array.type.permutation in (None, [0, 1])
    assert array.to_tensor().to_numpy().tolist() == tensor.tolist()
    assert array[1].to_tensor().to_numpy().tolist() == tensor[1].tolist()
    assert dlx.asarray(array).tolist() == tensor.tolist()


def test_permuted_tensors_without_a_copy_by_raw():
    memory = dlx.asarray([[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]])
    tensor = memory.permute_dims((0, 2, 1))
    options = raw.dlx_arrow_options(copy=raw.DLX_COPY_NEVER, layout=raw.DLX_ARROW_TENSORS)
    with raw.from_tensor(tensor) as handle:
        array, schema = raw.dlx_tensor_to_arrow(handle, options)
    imported = pyarrow.Array._import_from_c(array.address, schema.address)

    assert imported.type.permutation == [1, 0]
    assert imported.to_tensor().to_numpy().tolist() == tensor.tolist()
    assert dlx.asarray(imported).strides == tensor.strides
    assert dlx.asarray(imported).data_ptr == tensor.data_ptr


def test_booleans_are_packed():
    values = [[i % 3 == j for j in range(5)] for i in range(4)]
    tensor = dlx.asarray(values)

    array = pyarrow.array(tensor)

    array.validate(full=True)
    assert array.type == pyarrow.list_(pyarrow.bool_(), 5)
    assert array.to_pylist() == values
    assert dlx.asarray(array).tolist() == values


def test_strides_are_made_compact():
    tensor = dlx.asarray([[1, 2, 3], [4, 5, 6]])
    for view in (tensor[::-1], tensor[:, ::2], tensor.T, tensor[:, 1], tensor[0, ::-1]):
        array = pyarrow.array(view)
        assert array.to_pylist() == view.tolist()
        assert address(array) != view.data_ptr


def test_writes_show_in_what_is_shared():
    tensor = dlx.asarray([1, 2, 3])
    array = pyarrow.array(tensor)
    tensor[1] = 20
    assert array.to_pylist() == [1, 20, 3]


def test_empty_tensors_keep_their_shape():
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 4), (0, 0)):
        tensor = dlx.empty(shape, dtype="int32")
        array = pyarrow.array(tensor)
        array.validate(full=True)
        assert dlx.asarray(array).shape == shape


def test_what_arrow_cannot_say_is_refused_with_the_way_out():
    complex_tensor = dlx.asarray([1j, 2j])
    for tensor, words in (
        (complex_tensor, "complex128.*float64"),
        (dlx.empty(2, dtype="complex32"), "complex32: view its parts as floats of half its bits"),
        (dlx.empty(2, dtype="bfloat16"), "bfloat16.*unsigned integers"),
        (dlx.asarray(1.5), r"reshape it to \(1,\)"),
    ):
        for method in ("__arrow_c_array__", "__arrow_c_device_array__", "__arrow_c_schema__"):
            with pytest.raises(dlx.UnsupportedError, match=words):
                getattr(tensor, method)()
    assert pyarrow.array(complex_tensor.view("float64")).to_pylist() == [0.0, 1.0, 0.0, 2.0]
    assert pyarrow.array(dlx.asarray(1.5).reshape((1,))).to_pylist() == [1.5]


def test_the_schema_alone():
    tensor = dlx.asarray([[True, False]])
    field = pyarrow.Field._import_from_c_capsule(tensor.__arrow_c_schema__())
    assert field.type == pyarrow.list_(pyarrow.bool_(), 2)
    assert field.name == ""


class Coloured(pyarrow.ExtensionType):
    """Lists with another meaning than a tensor's."""

    def __init__(self):
        super().__init__(pyarrow.list_(pyarrow.list_(pyarrow.int64(), 2), 1), "dlx.coloured")

    def __arrow_ext_serialize__(self):
        return b""


def test_only_the_extension_type_of_tensors_asks_for_it():
    tensor = dlx.asarray([[[1, 2]], [[3, 4]]])
    wanted = pyarrow.fixed_shape_tensor(pyarrow.int64(), (1, 2))

    def exported(schema):
        pair = tensor.__arrow_c_array__(schema)
        return pyarrow.Array._import_from_c_capsule(*pair).type

    assert exported(wanted.__arrow_c_schema__()) == wanted
    assert exported(Coloured().__arrow_c_schema__()) == Coloured().storage_type
    read = wanted.__arrow_c_schema__()
    pyarrow.DataType._import_from_c_capsule(read)  # which moves the schema out of its capsule
    assert exported(read) == Coloured().storage_type


def test_the_cpu_s_protocol_is_refused_elsewhere():
    tensor = dlx.from_pointer(4096, (3,), "int32", device="cuda:0")
    with pytest.raises(dlx.DeviceRefusedError, match="ArrowDeviceArray"):
        tensor.__arrow_c_array__()


def test_device_arrays_say_that_they_are_on_the_cpu():
    tensor = dlx.asarray([1, 2, 3])
    schema, array = tensor.__arrow_c_device_array__(None, unknown=None)
    imported = pyarrow.Array._import_from_c_device_capsule(schema, array)
    assert imported.is_cpu
    assert address(imported) == tensor.data_ptr
    with pytest.raises(NotImplementedError, match="'stream'"):
        tensor.__arrow_c_device_array__(stream=1)


def test_pyarrow_casts_to_the_type_that_it_is_given():
    tensor = dlx.asarray([1, 2, 300])
    assert pyarrow.array(tensor, "float32").equals(pyarrow.array([1.0, 2.0, 300.0], "float32"))
    assert pyarrow.array(tensor, "int64").buffers()[1].address == tensor.data_ptr
    with pytest.raises(pyarrow.ArrowInvalid, match="300"):
        pyarrow.array(tensor, "int8")
    schema = pyarrow.schema({"a": "int32"})
    assert pyarrow.table({"a": tensor}, schema=schema)["a"].to_pylist() == [1, 2, 300]
    lists = pyarrow.array(dlx.asarray([[1, 2], [3, 4]]), pyarrow.list_(pyarrow.int16()))
    assert lists.to_pylist() == [[1, 2], [3, 4]]


def test_pyarrow_drops_no_mask():
    with pytest.raises(ValueError, match="mask"):
        pyarrow.array(dlx.asarray([1, 2]), mask=[True, False])


def test_arguments_are_checked():
    tensor = dlx.asarray([1])
    for method in (tensor.__arrow_c_array__, tensor.__arrow_c_device_array__):
        assert method(requested_schema=None)
        with pytest.raises(TypeError, match="requested_schema"):
            method(1)
        with pytest.raises(TypeError, match="requested_schema"):
            method(requested_schema=tensor.__dlpack__())
        with pytest.raises(TypeError):
            method(None, None)
    with pytest.raises(TypeError):
        tensor.__arrow_c_device_array__(None, requested_schema=None)
    with pytest.raises(TypeError):
        tensor.__arrow_c_array__(stream=None)


LAYOUT = """
#include <stdio.h>
#include <stddef.h>
%s
#define SHOW(type, field) printf(#type "." #field " %%zu %%zu\\n", \\
  offsetof(struct type, field), sizeof(((struct type *)0)->field));
int main(void) {
  SHOW(ArrowSchema, format) SHOW(ArrowSchema, name) SHOW(ArrowSchema, metadata)
  SHOW(ArrowSchema, flags) SHOW(ArrowSchema, n_children) SHOW(ArrowSchema, children)
  SHOW(ArrowSchema, dictionary) SHOW(ArrowSchema, release) SHOW(ArrowSchema, private_data)
  SHOW(ArrowArray, length) SHOW(ArrowArray, null_count) SHOW(ArrowArray, offset)
  SHOW(ArrowArray, n_buffers) SHOW(ArrowArray, n_children) SHOW(ArrowArray, buffers)
  SHOW(ArrowArray, children) SHOW(ArrowArray, dictionary) SHOW(ArrowArray, release)
  SHOW(ArrowArray, private_data) SHOW(ArrowDeviceArray, array) SHOW(ArrowDeviceArray, device_id)
  SHOW(ArrowDeviceArray, device_type) SHOW(ArrowDeviceArray, sync_event)
  SHOW(ArrowDeviceArray, reserved)
  printf("%%zu %%zu %%zu %%d %%d\\n", sizeof(struct ArrowSchema), sizeof(struct ArrowArray),
         sizeof(struct ArrowDeviceArray), ARROW_FLAG_NULLABLE, ARROW_DEVICE_HEXAGON);
}
"""


def test_the_structs_are_those_of_arrows_own_header(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    ours, theirs = "#include <dlx/arrow.h>\n", "#include <arrow/c/abi.h>\n"
    includes = [f"-I{ROOT / 'include'}", f"-I{pyarrow.get_include()}"]
    said = set()
    for i, text in enumerate((ours, theirs, ours + theirs, theirs + ours)):
        source, program = tmp_path / f"{i}.c", tmp_path / str(i)
        source.write_text(LAYOUT % text)
        subprocess.run([compiler, "-Wall", "-Werror", *includes, source, "-o", program], check=True)
        said.add(subprocess.run([program], check=True, capture_output=True).stdout)
    assert len(said) == 1
