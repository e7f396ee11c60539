"""dlx.convert: targets, copies and refusals. Each library has its own file in systems/."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest

import dlx
from dlx._give import demands, profiles
from interpreter import python_api

numpy = pytest.importorskip("numpy", reason="makes the arrays of these tests")


def array(*shape: int, dtype: str = "float32"):
    return numpy.arange(numpy.prod(shape), dtype=dtype).reshape(shape)


def frozen(*shape: int):
    result = array(*shape)
    result.flags.writeable = False
    return result


class Legacy:
    """Another library's module: a consumer that notes what it is given."""

    def __init__(self):
        self.module = types.ModuleType("strange_library")
        self.module.from_dlpack = self.from_dlpack
        self.seen = []

    def from_dlpack(self, obj):
        self.seen.append(obj)
        return dlx.from_dlpack(obj)


# ---- what `to` may be ---------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["numpy", "np", numpy, numpy.ndarray, "dlx", dlx, dlx.Tensor])
def test_a_name_a_module_and_a_class_name_a_library(to):
    source = dlx.asarray(array(3, 4))
    result = dlx.convert(source, to)

    assert type(result) is (dlx.Tensor if to in ("dlx", dlx, dlx.Tensor) else numpy.ndarray)
    assert numpy.asarray(result).ctypes.data == source.data_ptr


@pytest.mark.parametrize("to", ["nonsense", "json", int, "", "os.path"])
def test_what_is_no_array_library_is_refused_by_name(to):
    with pytest.raises(dlx.Error, match=r"is not a library with a `from_dlpack`.*torch"):
        dlx.convert([1, 2], to)


def test_a_module_that_is_at_hand_is_not_looked_for_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "dlx_test_bystander.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    module = types.ModuleType("dlx_test_bystander")

    with pytest.raises(dlx.Error, match="is not a library with a `from_dlpack`"):
        dlx.convert([1, 2], module)
    module.from_dlpack = numpy.from_dlpack
    assert dlx.convert(array(3), module).tolist() == array(3).tolist()


def test_a_target_of_another_kind_is_a_type_error():
    for other in (3, [1, 2], numpy.dtype("float32"), numpy.random.default_rng(), object()):
        with pytest.raises(TypeError, match="is not a name, a module, a class or an array"):
            dlx.convert([1, 2], other)


def test_a_library_that_is_not_installed_is_an_import_error(monkeypatch):
    profile = demands.Profile("gone", "no_such_module_at_all", profiles._numpy)
    monkeypatch.setitem(profiles.TABLE, "gone", profile)

    with pytest.raises(ImportError, match="no_such_module_at_all"):
        dlx.convert([1, 2], "gone")


def test_an_unknown_library_gets_plain_dlpack(monkeypatch):
    library = Legacy()
    monkeypatch.setitem(sys.modules, "strange_library", library.module)
    source = array(3, 4)
    result = dlx.convert(source, library.module)

    assert result.data_ptr == source.ctypes.data
    assert hasattr(library.seen[0], "__dlpack__")
    copy = dlx.convert(source, library.module, copy=True)
    assert copy.data_ptr != source.ctypes.data
    assert copy.tolist() == source.tolist()


def test_a_class_with_a_from_dlpack_of_its_own_is_asked_itself():
    class Strange:
        @classmethod
        def from_dlpack(cls, obj):
            return cls, dlx.from_dlpack(obj)

    made, tensor = dlx.convert([1, 2], Strange)
    assert made is Strange
    assert tensor.tolist() == [1, 2]


class Mine(numpy.ndarray):
    """A class of a user's."""


@pytest.mark.parametrize(
    "to", [numpy.ma.MaskedArray, numpy.matrix, numpy.float32, numpy.generic, Mine]
)
def test_a_class_that_the_library_makes_of_no_data_is_refused(to):
    warm("numpy")
    for source in (array(3, 4), dlx.asarray(array(3, 4)), array(3, 4)[::-1], [1, 2]):
        for keywords in ({}, {"copy": True}):
            for _ in range(3):  # nor by the native short cut
                with pytest.raises(
                    dlx.UnsupportedError, match=rf"{to.__name__}.*numpy\.ndarray.*to='numpy'"
                ):
                    dlx.convert(source, to, **keywords)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_what_is_of_such_a_class_is_returned_as_it_is():
    masked = numpy.ma.array([1.0, 2.0], mask=[False, True])

    assert dlx.convert(masked, numpy.ma.MaskedArray) is masked
    mine = numpy.zeros(2).view(Mine)
    assert dlx.convert(mine, Mine) is mine
    matrix = numpy.matrix([[1, 2]])
    assert dlx.convert(matrix, numpy.matrix) is matrix
    assert type(dlx.convert(matrix, numpy.ndarray)) is numpy.ndarray
    with pytest.raises(dlx.UnsupportedError, match=r"\.filled\(value\)"):
        dlx.convert(masked, numpy.ndarray)


@pytest.mark.parametrize("copy", [None, True, False])
def test_the_result_is_of_the_class_that_was_asked_for(copy):
    for source in (array(3, 4), array(3, 4)[::-1], dlx.asarray(array(3, 4))):
        for _ in range(3):
            assert type(dlx.convert(source, numpy.ndarray, copy=copy)) is numpy.ndarray


def test_a_class_of_an_unknown_library_is_what_comes_or_an_error(monkeypatch):
    library = Legacy()
    monkeypatch.setitem(sys.modules, "strange_library", library.module)
    mine = type("Mine", (), {"__module__": "strange_library"})

    with pytest.raises(dlx.UnsupportedError, match=r"`to` is strange_library\.Mine.*Tensor"):
        dlx.convert(array(3), mine)


# ---- copies -------------------------------------------------------------------------------------


def test_an_array_of_the_library_itself_is_returned_as_it_is():
    source = array(3, 4)

    assert dlx.convert(source, "numpy") is source
    assert dlx.convert(source, "numpy", copy=False) is source
    copy = dlx.convert(source, "numpy", copy=True)
    assert copy.ctypes.data != source.ctypes.data
    assert copy.tolist() == source.tolist()
    assert copy.flags.writeable


def test_a_copy_of_read_only_data_may_be_written_to():
    copy = dlx.convert(frozen(3), "numpy", copy=True)
    copy[0] = 5

    assert copy.tolist() == [5, 1, 2]


def test_read_only_data_stays_read_only_in_numpy():
    source = dlx.asarray(frozen(3))
    result = dlx.convert(source, "numpy", copy=False)

    assert result.ctypes.data == source.data_ptr
    assert not result.flags.writeable


def test_what_has_no_memory_yet_is_copied_or_refused():
    assert dlx.convert([[1, 2]], "numpy").tolist() == [[1, 2]]
    with pytest.raises(dlx.CopyRefusedError):
        dlx.convert([[1, 2]], "numpy", copy=False)


def test_memory_lives_as_long_as_the_result():
    released = []
    source = array(4)
    tensor = dlx.from_pointer(
        source.ctypes.data, (4,), "float32", on_release=lambda: released.append(1)
    )
    result = dlx.convert(tensor, "numpy")
    del tensor
    assert not released
    assert result.tolist() == [0, 1, 2, 3]
    del result
    assert released == [1]


def test_the_error_of_a_refused_copy_has_every_reason():
    profile = demands.Profile(
        "picky", "numpy", profiles._numpy, strides=demands.COMPACT, align=4096
    )
    base = frozen(64)[1::2]

    with pytest.raises(dlx.CopyRefusedError) as caught:
        _convert_by(profile, base, copy=False)
    message = str(caught.value)
    assert "picky cannot share" in message
    assert "read-only" in message
    assert "4096-byte alignment" in message
    assert "strides other than those of compact row-major data" in message


def test_data_that_is_aligned_is_shared_whatever_else_is_odd_about_it():
    base = numpy.zeros(1024)
    base = base[(-base.ctypes.data % 4096) // 8 :][:8]
    base.flags.writeable = False
    profile = demands.Profile(
        "picky", "numpy", profiles._numpy, readonly=demands.HONOURS, align=4096
    )

    assert _convert_by(profile, base, copy=False).ctypes.data == base.ctypes.data
    with pytest.raises(dlx.CopyRefusedError, match="4096-byte alignment"):
        _convert_by(profile, base[1:], copy=False)


def _convert_by(profile, x, **keywords):
    name = profile.name
    profiles.TABLE[name] = profile
    try:
        return dlx.convert(x, name, **keywords)
    finally:
        del profiles.TABLE[name]
        from dlx._give import targets

        targets.known.pop(name, None)


LAYOUTS = {
    "row-major": (lambda x: x, ""),
    "column-major": (lambda x: x.T, "C"),
    "every second row": (lambda x: x[::2], "C dense"),
    "reversed": (lambda x: x[::-1], "C dense positive"),
    "reversed columns": (lambda x: x[:, ::-1], "C dense positive"),
    "stride 0": (lambda x: numpy.lib.stride_tricks.as_strided(x, (3, 4), (0, 4)), "C dense"),
    "overlapping": (lambda x: numpy.lib.stride_tricks.as_strided(x, (3, 4), (4, 4)), "C dense"),
    "length 1, reversed": (lambda x: x[:1][::-1], ""),
    "empty, reversed": (lambda x: x[:0, ::-1], ""),
    "0-d": (lambda x: x[1, 2, ...], ""),
}
KINDS = {
    "C": demands.COMPACT,
    "dense": demands.DENSE,
    "positive": demands.POSITIVE,
    "any": demands.ANY,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides_are_shared_where_the_profile_takes_them_and_copied_elsewhere(layout, kind):
    change, refused = LAYOUTS[layout]
    source = change(array(3, 4))
    exported = []

    def deliver(module, tensor, copied):
        exported.append((tensor, copied))
        return dlx.from_dlpack(profiles.Exporter(tensor, copied))

    profile = demands.Profile("picky", "numpy", deliver, strides=KINDS[kind])
    result = _convert_by(profile, source)

    assert result.tolist() == source.tolist()
    assert exported[0][1] == (kind in refused.split())
    if source.size:
        assert (result.data_ptr == source.ctypes.data) == (kind not in refused.split())
    if kind != "any":
        assert all(stride >= 0 for stride in result.strides)
    if kind in refused.split():
        with pytest.raises(dlx.CopyRefusedError, match="strides"):
            _convert_by(profile, source, copy=False)


def test_a_copy_is_marked_as_one():
    seen = []

    def deliver(module, tensor, copied):
        capsule = profiles._versioned(tensor, copied)
        seen.append(capsule)
        return tensor

    profile = demands.Profile("picky", "numpy", deliver, strides=demands.COMPACT)
    _convert_by(profile, array(3, 4).T)
    _convert_by(profile, array(3, 4))

    assert [_flags(capsule) for capsule in seen] == [2, 0]  # DLPACK_FLAG_BITMASK_IS_COPIED


def _flags(capsule):
    import ctypes

    python = python_api()
    get = python.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get(capsule, b"dltensor_versioned")
    return ctypes.c_uint64.from_address(address + 24).value


# ---- dtypes, axes, devices ----------------------------------------------------------------------


def test_a_dtype_that_the_library_has_not_is_refused_with_the_way_out():
    profile = demands.Profile("picky", "numpy", profiles._numpy, names="float32 int8")

    with pytest.raises(dlx.UnsupportedError, match=r"takes no float64.*float32, int8.*dtype="):
        _convert_by(profile, array(3, dtype="float64"))
    assert _convert_by(profile, array(3)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("shape", "good"), [((), False), ((2,), True), ((1,) * 4, True), ((1,) * 5, False)]
)
def test_the_number_of_axes_is_checked(shape, good):
    profile = demands.Profile("picky", "numpy", profiles._numpy, ndim=(1, 4))
    source = array(*shape) if shape else numpy.array(1.0)

    if good:
        assert _convert_by(profile, source).shape == shape
    else:
        with pytest.raises(
            dlx.UnsupportedError, match=rf"1 to 4 axes \(got {len(shape)}\).*reshape"
        ):
            _convert_by(profile, source)


def test_data_on_a_device_that_the_library_cannot_use_is_refused():
    source = array(3)
    tensor = dlx.from_pointer(source.ctypes.data, (3,), "float32", device="cuda:0")

    with pytest.raises(dlx.DeviceRefusedError, match=r"cuda:0.*device='cpu' or force=True"):
        dlx.convert(tensor, "numpy")


def test_a_library_without_cpu_arrays_asks_for_a_device():
    profile = demands.Profile("picky", "numpy", profiles._numpy, devices=(profiles.CUDA,))

    with pytest.raises(dlx.DeviceRefusedError, match="device='cuda:0'"):
        _convert_by(profile, array(3), force=True)


def test_pinned_host_memory_is_shared_with_numpy():
    source = array(3)
    tensor = dlx.from_pointer(source.ctypes.data, (3,), "float32", device="cuda_host:0")

    assert dlx.convert(tensor, "numpy").ctypes.data == source.ctypes.data


# ---- meaning, and imports -----------------------------------------------------------------------


def test_a_mask_is_not_dropped():
    masked = numpy.ma.array([1.0, 2.0], mask=[False, True])

    with pytest.raises(dlx.UnsupportedError, match=r"\.filled\(value\)"):
        dlx.convert(masked, "numpy")


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_subclass_becomes_a_plain_array():
    assert type(dlx.convert(numpy.matrix([[1, 2]]), "numpy")) is numpy.ndarray


def test_importing_dlx_loads_neither_the_table_nor_an_array_library():
    code = (
        "import sys, dlx; loaded = [m for m in ('dlx._give.convert', 'dlx._give.profiles', 'numpy', 'torch', "
        "'jax') if m in sys.modules]; assert not loaded, loaded; dlx.convert; "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", sorted(profiles.TABLE))
def test_every_profile_says_what_it_guards_against(name):
    profile = profiles.TABLE[name]

    assert profile.name == name
    assert profile.notes
    if profile.names is not None:
        for dtype in profile.names:
            assert str(dlx.dtype(dtype)) == dtype


# ---- the native short cut -----------------------------------------------------------------------


def warm(library: str) -> None:
    """Have the usual case noted, for this library and float32."""
    for _ in range(3):
        dlx.convert(dlx.asarray(array(3, 4)), library)


@pytest.mark.parametrize(
    ("library", "shared"),
    [("numpy", True), ("torch", None)],
)
def test_what_is_not_the_usual_case_is_looked_at_after_it_was_noted(library, shared):
    """`shared`: every one, read-only and reversed ones too. None: as the profile says."""
    pytest.importorskip(library, reason="the library that it is handed to")
    warm(library)
    odd = {
        "reversed": array(3, 4)[::-1],
        "columns": array(3, 4)[:, 1:3],
        "empty": array(0, 4),
        "one row": array(1, 4),
        "one row of every other": array(2, 4)[::2],
        "0-d": array(1)[0:1].reshape(()),
        "nine axes": array(2, 2, 2, 2, 2, 2, 2, 2, 2),
        "another dtype": array(3, 4, dtype="int16"),
        "read-only": frozen(3, 4),
    }
    for name, source in odd.items():
        tensor = dlx.asarray(source)
        for _ in range(3):
            result = dlx.asarray(dlx.convert(tensor, library))
            assert result.tolist() == source.tolist(), name
            same = result.data_ptr == tensor.data_ptr
            expected = shared if shared is not None else name not in ("reversed", "read-only")
            assert same == expected or source.size == 0, name
    if library == "torch":
        with pytest.raises(dlx.CopyRefusedError):
            dlx.convert(dlx.asarray(frozen(3, 4)), library, copy=False)


@pytest.mark.parametrize("shape", [(3, 4), (1, 3, 4), (3, 1, 4), (3, 1)])
def test_a_batch_of_one_is_a_usual_case(shape):
    warm("numpy")
    tensor, called = dlx.asarray(array(*shape)), []
    sys.setprofile(lambda frame, event, _: called.append((event, frame.f_code.co_filename)))
    try:
        dlx.convert(tensor, "numpy")
    finally:
        sys.setprofile(None)

    assert not [name for event, name in called if event == "call" and name.endswith("convert.py")]


def test_arrays_of_the_library_itself_stay_what_they_are_after_the_usual_case_was_noted():
    warm("numpy")
    own = array(3, 4)
    assert dlx.convert(own, "numpy") is own

    class Mine(numpy.ndarray):
        pass

    derived = own.view(Mine)
    for _ in range(3):
        result = dlx.convert(derived, "numpy")
        assert result.ctypes.data == own.ctypes.data
        assert dlx.convert(own, "numpy") is own


def test_names_need_not_be_interned():
    warm("numpy")
    name = "".join(["num", "py"])
    assert type(dlx.convert(dlx.asarray(array(3, 4)), name)) is numpy.ndarray


def test_an_import_that_fails_after_the_usual_case_was_noted():
    warm("numpy")

    class Broken:
        __array_interface__ = property(lambda self: 1 // 0)

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            dlx.convert(Broken(), "numpy")


def test_the_usual_case_leaves_nothing_behind():
    warm("numpy")
    source = dlx.asarray(array(3, 4))
    dlx.convert(source, "numpy")
    count = sys.getrefcount(source)
    for _ in range(100):
        dlx.convert(source, "numpy")
    assert sys.getrefcount(source) == count
