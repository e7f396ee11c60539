"""`dlx.asarray`: every protocol in line, and what happens to what has no tensor form."""

import array
import ctypes
import mmap
import sys
import types

import pytest

import dlx
from array_struct import ArrayStruct
from dlpack_ctypes import IS_COPIED, Producer

numpy = pytest.importorskip("numpy", reason="half of what asarray takes is NumPy's")


def test_a_tensor_is_returned_as_it_is():
    tensor = dlx.asarray([1, 2])

    assert dlx.asarray(tensor) is tensor
    assert dlx.asarray(tensor, copy=True).data_ptr != tensor.data_ptr
    assert dlx.asarray(tensor, dtype="int64", device="cpu", copy=False).data_ptr == tensor.data_ptr


@pytest.mark.parametrize(
    "make",
    [
        lambda: bytearray(b"abcd"),
        lambda: array.array("B", b"abcd"),
        lambda: (ctypes.c_uint8 * 4)(*b"abcd"),
        lambda: memoryview(bytearray(b"abcd")),
    ],
)
def test_writable_buffers_are_shared(make):
    buffer = make()
    tensor = dlx.asarray(buffer)

    tensor[0] = 122

    assert bytes(buffer) == b"zbcd"
    assert str(tensor.dtype) == "uint8"
    assert not tensor.readonly


class Bits(array.array):
    """As bitarray's: eight items to a byte of the buffer."""

    def __len__(self):
        return 8 * super().__len__()


def test_a_buffer_of_other_items_than_the_objects_is_refused():
    bits = Bits("B", b"\x01\x80")
    for x in (bits, [bits, bits]):
        with pytest.raises(dlx.UnsupportedError, match=r"its 2 items are not the object's 16"):
            dlx.asarray(x)
    assert dlx.asarray(memoryview(bits)).tolist() == [1, 128]


@pytest.mark.parametrize(("error", "caught"), [(TypeError, None), (KeyboardInterrupt,) * 2])
def test_a_buffer_of_an_object_without_items(error, caught):
    def fail(self):
        raise error

    x = type("Bytes", (array.array,), {"__len__": fail})("B", b"ab")
    if caught is None:
        assert dlx.asarray(x).tolist() == [97, 98]
        return
    with pytest.raises(caught):
        dlx.asarray(x)


def test_anonymous_memory_map_is_shared():
    with mmap.mmap(-1, 4096) as memory:
        tensor = dlx.asarray(memory)
        tensor[5] = 7
        assert memory[5] == 7
        del tensor


def test_read_only_buffers_give_read_only_tensors():
    for buffer in (b"abc", memoryview(b"abc"), memoryview(bytearray(b"abc")).toreadonly()):
        tensor = dlx.asarray(buffer)
        assert tensor.readonly
        assert tensor.tolist() == [97, 98, 99]
        with pytest.raises(dlx.ReadOnlyError):
            tensor[0] = 1


def test_a_shared_buffer_cannot_be_resized_meanwhile():
    buffer = bytearray(8)
    tensor = dlx.asarray(buffer)
    with pytest.raises(BufferError):
        buffer.append(1)
    del tensor
    buffer.append(1)


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_every_type_code_of_array_array(code):
    values = array.array(code, [1, 2, 3])

    assert dlx.asarray(values).tolist() == list(values)
    assert dlx.asarray(values).itemsize == values.itemsize


def test_buffer_shapes_and_strides_are_kept():
    view = memoryview(bytearray(range(24))).cast("B", (2, 3, 4))

    assert dlx.asarray(view).tolist() == view.tolist()
    assert dlx.asarray(memoryview(bytes(range(10)))[::-3]).tolist() == [9, 6, 3, 0]


class Interface:
    """Only `__array_interface__`."""

    def __init__(self, **fields):
        self.__array_interface__ = {"version": 3, **fields}


def test_array_interface_with_an_address_is_shared_and_kept_alive():
    memory = (ctypes.c_float * 6)(*range(6))
    data = (ctypes.addressof(memory), False)
    owner = Interface(shape=(2, 3), typestr="<f4", data=data, memory=memory)
    tensor = dlx.asarray(owner)
    alive = sys.getrefcount(owner)

    assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensor.data_ptr == ctypes.addressof(memory)
    del tensor
    assert sys.getrefcount(owner) == alive - 1


def test_array_interface_with_a_buffer_strides_and_offset():
    data = bytearray(range(12))
    tensor = dlx.asarray(
        Interface(shape=(2, 2), typestr="|u1", data=data, strides=(6, -1), offset=3)
    )

    assert tensor.tolist() == [[3, 2], [9, 8]]
    assert not tensor.readonly
    assert dlx.asarray(Interface(shape=(2,), typestr="|u1", data=b"ab")).readonly
    assert dlx.asarray(Interface(shape=(0, 2), typestr="|u1", data=b"")).shape == (0, 2)


@pytest.mark.parametrize(
    ("fields", "error", "match"),
    [
        ({"shape": (2,), "typestr": ">u2", "data": b"abcd", "mask": b"ab"}, BufferError, "mask"),
        ({"shape": (2,), "typestr": "|O8", "data": (16, False)}, BufferError, "typestr"),
        ({"shape": (2,), "typestr": "|V8", "data": (16, False)}, BufferError, "typestr"),
        ({"shape": (2,), "typestr": 3, "data": (16, False)}, TypeError, "typestr"),
        ({"typestr": "<f4", "data": (16, False)}, ValueError, "'shape'"),
        ({"shape": (2,), "data": (16, False)}, ValueError, "'typestr'"),
        ({"shape": (9,), "typestr": "|u1", "data": b"abc"}, ValueError, "beyond"),
        ({"shape": (2,), "typestr": "|u1", "data": b"abc", "offset": 2}, ValueError, "beyond"),
        ({"shape": (0,), "typestr": "|u1", "data": b"abc", "offset": 4}, ValueError, "beyond"),
        ({"shape": (2,), "typestr": "|u1", "data": b"abc", "strides": (-1,)}, ValueError, "beyond"),
        (
            {"shape": (2,), "typestr": "<f4", "data": (16, False), "strides": (3,)},
            BufferError,
            "multiple",
        ),
        ({"shape": (2,), "typestr": "|u1", "data": b"abc", "mask": b"ab"}, BufferError, "mask"),
        ({"shape": (-2,), "typestr": "|u1", "data": (16, False)}, ValueError, "shape"),
        ({"shape": (2,), "typestr": "|u1", "data": (0, False)}, ValueError, "NULL|data"),
    ],
)
def test_array_interface_that_makes_no_sense(fields, error, match):
    with pytest.raises(error, match=match):
        dlx.asarray(Interface(**fields))


def test_array_struct_is_read():
    class Struct:
        def __init__(self, inner):
            self.inner = inner

        @property
        def __array_struct__(self):
            return self.inner.__array_struct__

    inner = numpy.arange(6, dtype="i2").reshape(2, 3)[:, ::-1]
    tensor = dlx.asarray(Struct(inner))

    assert tensor.tolist() == inner.tolist()
    assert tensor.data_ptr == inner.ctypes.data
    inner.flags.writeable = False
    assert dlx.asarray(Struct(inner)).readonly
    with pytest.raises(TypeError, match="capsule"):
        dlx.asarray(types.SimpleNamespace(__array_struct__=3))


def test_array_struct_in_the_other_byte_order_is_refused():
    swapped = numpy.arange(3, dtype=numpy.dtype("i2").newbyteorder())
    with pytest.raises(dlx.UnsupportedError, match="byte order"):
        dlx.asarray(types.SimpleNamespace(__array_struct__=swapped.__array_struct__))


ABC = numpy.frombuffer(b"abc", "i1")


def array_struct(name=None, **changes):
    """An object that shows three signed bytes in order, read-only, without a flag for the byte order."""
    shape = (ctypes.c_ssize_t * 1)(3)
    fields = {"two": 2, "nd": 1, "typekind": b"i", "itemsize": 1, "shape": shape,
              "data": ABC.ctypes.data, **changes}  # fmt: skip
    struct = ArrayStruct(**fields)
    return types.SimpleNamespace(__array_struct__=struct.capsule(name), keep=(struct, shape))


def test_array_struct_of_bytes_needs_no_byte_order():
    shown = array_struct()
    alone = sys.getrefcount(shown.__array_struct__)
    tensor = dlx.asarray(shown)
    kept = sys.getrefcount(shown.__array_struct__)

    assert tensor.tolist() == list(b"abc")
    assert tensor.readonly
    del tensor
    freed = sys.getrefcount(shown.__array_struct__)
    assert kept > alone == freed


@pytest.mark.parametrize(
    "fields", [{"two": 1}, {"nd": -1}, {"nd": 65}, {"itemsize": 0}, {"shape": None}], ids=str
)
def test_array_struct_that_makes_no_sense(fields):
    with pytest.raises(dlx.InvalidArgumentError, match="malformed"):
        dlx.asarray(array_struct(**fields))


def test_array_struct_in_a_capsule_of_something_else():
    with pytest.raises(TypeError, match="not an unnamed capsule"):
        dlx.asarray(array_struct(b"something else"))


def test_none_in_place_of_a_protocol_is_none():
    class Shown:
        __array_interface__ = __array_struct__ = None

        def __array__(self, dtype=None, copy=None):
            return numpy.arange(2)

    assert dlx.asarray(Shown()).tolist() == [0, 1]


def test_a_number_of_numpy_becomes_memory_of_its_own():
    number = numpy.float32(1)
    tensor = dlx.asarray(number)
    tensor[()] = 2

    assert number == 1
    assert dlx.asarray(number, copy=False).readonly


class Method:
    """Only `__array__`, with NumPy 2's signature."""

    def __init__(self, inner):
        self.inner, self.calls = inner, []

    def __array__(self, dtype=None, copy=None):
        self.calls.append((dtype, copy))
        return self.inner.copy() if copy else self.inner


def test_array_method_is_the_last_protocol():
    inner = numpy.arange(3.0)

    assert dlx.asarray(Method(inner)).data_ptr == inner.ctypes.data
    assert dlx.asarray(Method(inner), copy=False).data_ptr == inner.ctypes.data
    method = Method(inner)
    assert dlx.asarray(method, copy=True).data_ptr != inner.ctypes.data
    assert method.calls == [(None, True)]


def test_array_method_that_ignores_copy():
    class Deaf(Method):
        def __array__(self, dtype=None, copy=None):
            return self.inner

    inner = numpy.arange(3.0)
    inner.flags.writeable = False
    tensor = dlx.asarray(Deaf(inner), copy=True)
    assert tensor.data_ptr != inner.ctypes.data
    assert not tensor.readonly


@pytest.mark.parametrize("base", [object, list])
def test_writable_memory_that_is_made_anew_is_no_memory_to_write_to(base):
    class Compressed(base):
        def read(self):
            return numpy.zeros(3, "f4")

        @property
        def __array_interface__(self):
            data = self.read()
            return {"version": 3, "shape": (3,), "typestr": "<f4", "data": data}

    x = Compressed()
    assert dlx.asarray(x).tolist() == [0, 0, 0]
    for call in (
        lambda: dlx.asarray(x, copy=False),
        lambda: dlx.copyto(x, numpy.ones(3, "f4")),
        lambda: dlx.convert(x, "numpy", copy=False),
    ):
        with pytest.raises(dlx.CopyRefusedError, match="makes a new array at each call"):
            call()
    kept = numpy.zeros(3, "f4")
    x.read = lambda: kept
    dlx.copyto(x, numpy.ones(3, "f4"))
    assert kept.tolist() == [1, 1, 1]
    x.read = lambda: numpy.frombuffer(bytes(12), "f4")  # nobody writes there
    assert dlx.asarray(x, copy=False).readonly


def test_array_method_of_the_old_signature_cannot_promise_not_to_copy():
    class Old:
        def __array__(self, dtype=None):
            return numpy.arange(3)

    assert dlx.asarray(Old()).tolist() == dlx.asarray(Old(), copy=True).tolist() == [0, 1, 2]
    with pytest.raises(dlx.CopyRefusedError, match="copy="):
        dlx.asarray(Old(), copy=False)


@pytest.mark.parametrize("error", [ValueError, RuntimeError])
def test_array_method_that_needs_a_copy(error):
    class Needs:
        reason = "Unable to avoid copy"

        def __array__(self, dtype=None, copy=None):
            if copy is False:
                raise error(self.reason)
            return numpy.arange(3)

    with pytest.raises(dlx.CopyRefusedError, match=r"Unable to avoid copy") as caught:
        dlx.asarray(Needs(), copy=False)
    assert type(caught.value.__cause__) is error
    assert dlx.asarray(Needs()).tolist() == [0, 1, 2]
    Needs.reason = "something else is wrong"
    with pytest.raises(error, match="something else") as caught:
        dlx.asarray(Needs(), copy=False)
    assert type(caught.value) is error


def test_array_method_that_returns_something_else():
    class Odd:
        def __array__(self, dtype=None, copy=None):
            return [1, 2]

    with pytest.raises(TypeError, match=r"did not return a numpy\.ndarray"):
        dlx.asarray(Odd())


def test_first_real_error_of_a_producer_is_shown():
    class Failing:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            raise RuntimeError("the reason")

        def __array__(self, dtype=None, copy=None):
            raise AssertionError("must not be asked")

    class FailingInterface:
        @property
        def __array_interface__(self):
            raise RuntimeError("the reason")

        def __array__(self, dtype=None, copy=None):
            raise AssertionError("must not be asked")

    for failing in (Failing(), FailingInterface()):
        with pytest.raises(RuntimeError, match="the reason"):
            dlx.asarray(failing)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("float64", "float32"),
        ("int32", "float16"),
        ("float32", "int8"),
        ("bool", "int64"),
        ("float32", "complex64"),
    ],
)
def test_dtype_converts_as_astype_does(source, target):
    values = numpy.array([[0, 1, 1], [1, 0, 1]], dtype=source).T

    tensor = dlx.asarray(values, dtype=target)

    assert str(tensor.dtype) == target
    assert tensor.tolist() == values.astype(target).tolist()


def test_a_number_of_ml_dtypes_is_copied():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    number = ml_dtypes.bfloat16(1.5)
    assert dlx.asarray(number).tolist() == 1.5
    assert dlx.asarray(number).dtype == dlx.dtype("bfloat16")
    with pytest.raises(dlx.CopyRefusedError, match="bfloat16 is always copied"):
        dlx.asarray(number, copy=False)


def test_dtype_converts_through_ml_dtypes():
    pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")
    values = dlx.asarray([0.1, 1e6, -3.0], dtype="float32")
    narrow = dlx.asarray(values, dtype="bfloat16")

    assert str(narrow.dtype) == "bfloat16"
    assert dlx.asarray(narrow, dtype="float32").tolist() == narrow.tolist()
    assert str(dlx.asarray(values, dtype="float8_e5m2").dtype) == "float8_e5m2"


def test_dtype_conversion_never_reinterprets_and_copy_false_refuses_it():
    values = numpy.array([1.0, 2.0], dtype="float32")

    assert dlx.asarray(values, dtype="int32").tolist() == [1, 2]
    assert dlx.asarray(values, dtype="float32", copy=False).data_ptr == values.ctypes.data
    with pytest.raises(dlx.CopyRefusedError):
        dlx.asarray(values, dtype="float64", copy=False)
    with pytest.raises(BufferError, match=r"\.real"):
        dlx.asarray(numpy.array([1j]), dtype="float64")


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (numpy.array([None, 1], dtype=object), "astype"),
        (numpy.array(["a", "bc"]), "tobytes"),
        (numpy.array([b"a"]), "tobytes"),
        (numpy.array(["2020-01-01"], "M8[D]"), "int64"),
        (numpy.zeros(2, "f4,i4"), "one field"),
        (numpy.zeros(2, "V3"), r"tobytes\(\), 'uint8'\)"),
        (numpy.zeros(2, numpy.longdouble), "float64"),
        (numpy.datetime64("2020-01-01"), "int64"),
        (numpy.longdouble(2), "float64"),
    ],
)
@pytest.mark.skipif(sys.byteorder != "little", reason="names little-endian typestrs")
def test_dtypes_that_dlpack_has_not_name_the_way_out(value, match):
    for take in (dlx.asarray, lambda x: dlx.asarray(Method(x))):
        if isinstance(value, numpy.generic) and take is not dlx.asarray:
            continue  # __array__ returns arrays
        with pytest.raises(BufferError, match=match):
            take(value)


def test_masked_arrays_are_refused_only_if_something_is_masked():
    masked = numpy.ma.array([1, 2, 3], mask=[0, 1, 0])
    for take in (dlx.asarray, dlx.from_dlpack):
        with pytest.raises(BufferError, match=r"1 masked .*\.filled"):
            take(masked)
        assert take(masked.filled(0)).tolist() == [1, 0, 3]
        assert take(numpy.ma.array([1, 2, 3])).tolist() == [1, 2, 3]


def test_array_subclasses_without_another_meaning_are_shared():
    matrix = numpy.arange(4.0).reshape(2, 2).view(type("Mine", (numpy.ndarray,), {}))

    assert dlx.asarray(matrix).data_ptr == matrix.ctypes.data
    assert dlx.from_dlpack(matrix).data_ptr == matrix.ctypes.data


def module(name, **attributes):
    """A class that looks as if a package of that name had defined it."""
    return type("Thing", attributes.pop("bases", ()), {"__module__": name, **attributes})


def test_columns_of_ibis_come_from_their_result():
    """Their `__array__` has NaN in place of nulls."""
    pyarrow = pytest.importorskip("pyarrow")
    result = [1, None]
    column = module(
        "ibis.expr.types",
        __array__=lambda self: 1 / 0,
        to_pyarrow=lambda self: pyarrow.array(result),
    )()
    with pytest.raises(dlx.UnsupportedError, match=r"`x.to_pyarrow\(\)`.* 1 null"):
        dlx.asarray(column)
    with pytest.raises(dlx.CopyRefusedError, match=r"call `.to_pyarrow\(\)` first"):
        dlx.asarray(column, copy=False)
    result[1] = 2
    assert dlx.asarray(column).tolist() == [1, 2]


def test_quantities_are_refused_with_a_unit_and_name_the_attribute():
    class Unit(str):
        pass

    parts = {"bases": (numpy.ndarray,), "value": None}
    astropy = module("astropy.units.quantity", unit=Unit("m"), **parts)
    unyt = module("unyt.array", units=Unit("km"), **parts)
    for cls, unit in ((astropy, "m"), (unyt, "km")):
        quantity = numpy.arange(3.0).view(cls)
        for take in (dlx.asarray, dlx.from_dlpack):
            with pytest.raises(BufferError, match=rf"in {unit} .*\.value"):
                take(quantity)
    plain = module("astropy.units.quantity", bases=(numpy.ndarray,), unit=Unit(""))
    assert dlx.asarray(numpy.arange(3.0).view(plain)).tolist() == [0, 1, 2]

    parts = {"magnitude": None, "__array__": lambda *a, **k: numpy.zeros(1)}
    pint = module("pint.registry", units=Unit("second"), **parts)
    with pytest.raises(BufferError, match=r"\.magnitude"):
        dlx.asarray(pint())


def test_units_of_other_libraries_are_refused_too():
    def quantity(package, **attributes):
        return numpy.arange(3.0).view(module(package, bases=(numpy.ndarray,), **attributes))

    for way, make in {
        r"in m .*`\.magnitude`.*`\.rescale\(unit\)\.magnitude`": lambda unit: quantity(
            "quantities.quantity", dimensionality=unit, units=numpy.array(1.0)
        ),
        r"in m .*`\.view\(numpy\.ndarray\)`$": lambda unit: quantity(
            "brian2.units.fundamentalunits", dim="1" if unit == "dimensionless" else unit
        ),
        r"in m .*`\.value_in_unit\(unit\)`$": lambda unit: quantity(
            "openmm.unit.quantity", unit=unit
        ),
        r"in m .*`\.view\(numpy\.ndarray\)`.*`\.in_units\(unit\)": lambda unit: quantity(
            "pynbody.array", units=unit
        ),
        r"in m .*`\.value`$": lambda unit: quantity(
            "physipy.quantity.quantity",
            dimension="no-dimension" if unit == "dimensionless" else unit,
        ),
        r"in m .*`\.data`$": lambda unit: quantity("somebodys.units", units=unit),
    }.items():
        for take in (dlx.asarray, dlx.from_dlpack, lambda x: dlx.asarray([x, x])):
            with pytest.raises(dlx.UnsupportedError, match=way):
                take(make("m"))
        assert dlx.asarray(make("dimensionless")).tolist() == [0, 1, 2]
    records = numpy.rec.array([(1.0, 2.0)], dtype=[("unit", "f8"), ("units", "f8")])
    assert dlx.asarray(records).tolist() == [[1, 2]]
    for pure in ("NoUnit()", "1.00e+00"):
        assert dlx.asarray(quantity("pynbody.array", units=pure)).tolist() == [0, 1, 2]


def test_sparse_arrays_name_their_parts():
    scipy = module("scipy.sparse._csr", nnz=1, toarray=None, data=1, indices=2, indptr=3)
    with pytest.raises(BufferError, match=r"`\.data`, `\.indices`, `\.indptr`.*\.toarray"):
        dlx.asarray(scipy())
    coo = module("sparse.numba_backend._coo.core", todense=None, __array__=lambda *a: 1 / 0)
    with pytest.raises(BufferError, match=r"\.todense"):
        dlx.asarray(coo())


def test_what_stands_for_pandas_is_shared_by_its_own_protocol():
    array = numpy.arange(3)  # cudf's Series says that it is of pandas, and shows device memory
    shown = property(lambda self: array.__array_interface__)
    series = module("pandas", __array_interface__=shown, __array__=lambda *a, **k: 1 / 0)

    assert dlx.asarray(series()).data_ptr == array.ctypes.data


def test_device_of_host_data():
    assert dlx.asarray(b"abc", device="cpu").device == "cpu"
    with pytest.raises((dlx.UnavailableError, dlx.UnsupportedError)):
        dlx.asarray(b"abc", device="cuda:1000", force=True)
    for device in ("cuda:1000", (1, 1)):  # numbers are made on the CPU, and stay there
        for numbers in (3, [1, 2]):
            with pytest.raises(dlx.UnavailableError):
                dlx.asarray(numbers, device=device)


class Elsewhere(Producer):
    """Data of a device that dlx has no driver for. Its library can bring it to the CPU."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.calls.append(dl_device)
        here = dl_device == (1, 0)
        if copy is False and here:
            raise BufferError("a copy is needed")
        return self.export(flags=IS_COPIED if here else 0, device=dl_device or (14, 0)).capsule()

    def __dlpack_device__(self):
        return 14, 0


def test_force_brings_what_dlx_cannot_read_to_the_cpu():
    data = bytes(range(6))
    x = Elsewhere(data, shape=(6,), dtype=(1, 8, 1))

    assert dlx.asarray(x).device == "oneapi:0"
    here = dlx.asarray(x, force=True)
    assert (here.device, here.tolist()) == ("cpu", list(data))
    assert dlx.asarray(x, dtype="float32", force=True).tolist() == list(data)
    assert dlx.convert(x, "dlx", force=True).tolist() == list(data)
    assert dlx.convert(x, "numpy", force=True).tolist() == list(data)
    # Not without consent to a copy, nor where the caller says otherwise; a Tensor has no library to ask.
    assert dlx.asarray(x, force=True, copy=False).device == "oneapi:0"
    assert dlx.asarray(x, force=True, device="oneapi:0").device == "oneapi:0"
    there = dlx.asarray(x)
    assert dlx.asarray(there, force=True) is there
    del here, there
    assert x.deleted == len(x.exports)


def test_force_leaves_what_dlx_can_read():
    array = dlx.asarray([1, 2, 3])
    assert dlx.asarray(array, force=True) is array
    for x in (Producer(b"abc", shape=(3,), dtype=(1, 8, 1)), b"abc", [1, 2]):
        assert dlx.asarray(x, force=True).device == "cpu"


def test_data_elsewhere_moves_only_when_asked():
    gpu = Producer(device=(2, 0))

    assert dlx.asarray(gpu).device == "cuda:0"
    with pytest.raises((BufferError, RuntimeError)):
        dlx.asarray(gpu, dtype="float64")


class SharesOnly(Producer):
    """Data of a device that dlx has no driver for. Its library makes no copies."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            raise BufferError("no copies here")
        return self.export(device=(14, 0)).capsule()

    def __dlpack_device__(self):
        return 14, 0


@pytest.mark.parametrize("take", [dlx.asarray, dlx.from_dlpack])
def test_copy_true_never_shares_memory_that_only_its_library_could_copy(take):
    assert take(Elsewhere(), copy=True).device == "oneapi:0"  # it was told to, and did not refuse
    sharing = SharesOnly()
    for x in (sharing, take(sharing), take(sharing).__dlpack__(max_version=(1, 0))):
        with pytest.raises(BufferError, match="no backend"):
            take(x, copy=True)
    with pytest.raises(BufferError, match="no backend"):
        dlx.convert(sharing, "dlx", copy=True)
    assert sharing.deleted == len(sharing.exports)


def test_a_dlpack_that_only_the_object_has():
    source = dlx.asarray([1.0, 2.0])
    methods = {"__dlpack__": source.__dlpack__, "__dlpack_device__": source.__dlpack_device__}

    class Proxy:
        def __getattr__(self, name):
            return methods[name] if name in methods else object.__getattribute__(self, name)

    for obj in (Proxy(), types.SimpleNamespace(**methods)):
        assert dlx.asarray(obj).data_ptr == source.data_ptr
        assert dlx.asarray(obj, copy=False).data_ptr == source.data_ptr
        assert dlx.asarray(obj, copy=True).data_ptr != source.data_ptr
        assert dlx.asarray([obj, obj], dtype="int8").tolist() == [[1, 2]] * 2
        dlx.copyto(obj, [3.0, 4.0])
        assert source.tolist() == [3.0, 4.0]
        dlx.copyto(source, [1.0, 2.0])
    with pytest.raises(TypeError, match=r"cannot make an array of `obj` \(got "):
        dlx.asarray(types.SimpleNamespace(__dlpack__=None))
