"""Objects that dlx refuses, in some call at least: test_advice.py tries what the errors advise.

One function a library, so that only its own library is imported; each returns functions that make an object.
"""

from __future__ import annotations

import array
import ctypes
import datetime
import decimal
import fractions
import weakref

KEPT = array.array("d", [1])  # weakref.proxy does not keep it
DAY = datetime.datetime(2020, 1, 1)


def object_array(items):
    import numpy as np

    result = np.empty(len(items), object)
    for i, item in enumerate(items):
        result[i] = item
    return result


def of_numpy():
    import numpy as np

    return {
        "obj_arrays": lambda: object_array([np.ones(2), np.ones(2)]),
        "obj_ragged": lambda: object_array([np.ones(2), np.ones(3)]),
        "obj_ints": lambda: np.array([1, 2], object),
        "obj_str": lambda: np.array(["a", "b"], object),
        "obj_none": lambda: np.array([1, None], object),
        "obj_dec": lambda: np.array([decimal.Decimal(1)], object),
        "obj_lists": lambda: object_array([[1, 2], [3, 4]]),
        "obj0d": lambda: np.array(None, object),
        "obj_dates": lambda: np.array([DAY], object),
        "obj_complex": lambda: np.array([1j], object),
        "obj_dicts": lambda: object_array([{}]),
        "structured": lambda: np.zeros(2, "i4,f8"),
        "S": lambda: np.array([b"ab", b"c"]),
        "U": lambda: np.array(["ab", "c"]),
        "S_strided": lambda: np.array([b"ab", b"c", b"d"])[::2],
        "U0": lambda: np.array("abc"),
        "T": lambda: np.array(["a", "b"], np.dtypes.StringDType()),
        "M": lambda: np.array(["2020-01-01"], "M8[D]"),
        "m": lambda: np.array([1], "m8[s]"),
        "M0": lambda: np.array("2020-01-01", "M8[D]"),
        "M_generic_nat": lambda: np.array(["NaT"], "M8[s]"),
        "s_M": lambda: np.datetime64("2020-01-01"),
        "s_m": lambda: np.timedelta64(1, "s"),
        "s_str": lambda: np.str_("a"),
        "s_bytes": lambda: np.bytes_(b"a"),
        "s_void": lambda: np.void(b"abcd"),
        "s_rec": lambda: np.zeros(1, "i4,f8")[0],
        "be": lambda: np.arange(3, dtype=">f4"),
        "ld": lambda: np.ones(2, np.longdouble),
        "cld": lambda: np.ones(2, np.clongdouble),
        "s_ld": lambda: np.longdouble(1),
        "void": lambda: np.zeros(2, "V8"),
        "void_str": lambda: np.zeros(4, "V8")[::2],
        "be_struct": lambda: np.zeros(2, ">i4,f8"),
        "ma": lambda: np.ma.array([1, 2], mask=[0, 1]),
        "ma_rec": lambda: np.ma.array([(1, 2.0)], mask=[(1, 0)], dtype="i4,f8"),
        "ma_obj": lambda: np.ma.array([1, None], dtype=object),
        "masked": lambda: np.ma.masked,
        "mvoid": lambda: np.ma.array([(1, 2.0)], mask=[(1, 0)], dtype="i4,f8")[0],
        "rec": lambda: np.rec.array([(1, 2.0)], dtype="i4,f8"),
        "dt": lambda: np.dtype("f4"),
        "char": lambda: np.char.array(["a"]),
    }


def of_python():
    import numpy as np

    return {
        "u": lambda: array.array("u", "ab"),
        "ptr": lambda: ctypes.pointer(ctypes.c_int(1)),
        "voidp": lambda: ctypes.c_void_p(1),
        "charp": lambda: ctypes.c_char_p(b"a"),
        "struct": lambda: type(
            "S", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int), ("b", ctypes.c_double)]}
        )(),
        "pyobj": lambda: (ctypes.py_object * 2)(1, 2),
        "proxy": lambda: weakref.proxy(KEPT),
        "d": lambda: {"a": 1},
        "set": lambda: {1},
        "s": lambda: "abc",
        "gen": lambda: (i for i in [1]),
        "none": lambda: None,
        "dec": lambda: decimal.Decimal(1),
        "frac": lambda: fractions.Fraction(1, 2),
        "date": lambda: DAY,
        "ragged": lambda: [[1, 2], [3]],
        "strs": lambda: ["a", "b"],
        "nones": lambda: [1, None],
        "decs": lambda: [decimal.Decimal(1)],
        "dates": lambda: [DAY],
        "big": lambda: [2**70],
        "bigneg": lambda: [-(2**70), 1],
        "mixed": lambda: [np.ones(2), 1],
        "mixdt": lambda: [np.ones(2), np.ones(2, "f4")],
        "lists_of_masks": lambda: [np.ma.array([1, 2], mask=[0, 1])] * 2,
        "memv": lambda: memoryview(b"abcd").cast("c"),
        "cls": lambda: np.ndarray,
        "sets": lambda: [{1}],
        "cyc": lambda: (lambda a: (a.append(a), a)[1])([]),
        "filt": lambda: filter(None, [1]),
        "ell": lambda: ...,
        "bytesl": lambda: [b"a"],
        "dictl": lambda: [{"a": 1}],
        "dv": lambda: {"a": 1}.values(),
        "mp": lambda: map(int, "1"),
        "enum": lambda: enumerate([1]),
    }


def of_pandas():
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    C = pd.Series

    return {
        "objarrays": lambda: C(object_array([np.ones(2), np.ones(2)])),
        "objints": lambda: C([1, 2], dtype=object),
        "objstr": lambda: C(["a", "b"], dtype=object),
        "string": lambda: C(["a", "b"]),
        "cat": lambda: C(["a", "b"], dtype="category"),
        "Categorical": lambda: pd.Categorical(["a", "b"]),
        "catnum": lambda: pd.Categorical([1, 2]),
        "catnan": lambda: pd.Categorical([1, None]),
        "catidx": lambda: pd.CategoricalIndex(["a", "b"]),
        "dt": lambda: C([DAY]),
        "dttz": lambda: C([DAY]).dt.tz_localize("UTC"),
        "td": lambda: C([DAY]) - C([DAY]),
        "period": lambda: C(pd.period_range("2020", periods=2, freq="D")),
        "interval": lambda: C(pd.interval_range(0, 2)),
        "sparse": lambda: C([0, 0, 1], dtype=pd.SparseDtype(int)),
        "sparsearr": lambda: pd.arrays.SparseArray([0, 1]),
        "Int": lambda: C([1, None], dtype="Int64"),
        "boolean": lambda: C([True, None], dtype="boolean"),
        "Float": lambda: C([1.0, None], dtype="Float32"),
        "IntArr": lambda: pd.array([1, None], dtype="Int64"),
        "arrow_str": lambda: C(["a"], dtype=pd.ArrowDtype(pa.string())),
        "arrow_list": lambda: C([[1, 2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
        "arrow_ts": lambda: C([DAY], dtype=pd.ArrowDtype(pa.timestamp("us"))),
        "arrow_dec": lambda: C([decimal.Decimal(1)], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
        "arrow_int": lambda: C([1, None], dtype="int64[pyarrow]"),
        "arrow_dict": lambda: C(["a"], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
        "arrow_dictnum": lambda: C([1], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.int64()))),
        "arrow_date": lambda: C([DAY.date()], dtype="date32[pyarrow]"),
        "arrow_struct": lambda: C([{"a": 1}], dtype=pd.ArrowDtype(pa.struct([("a", pa.int64())]))),
        "Index_str": lambda: pd.Index(["a"]),
        "MultiIndex": lambda: pd.MultiIndex.from_tuples([(1, 2), (3, 4)]),
        "MultiIndexS": lambda: pd.MultiIndex.from_tuples([(1, "a"), (3, "b")]),
        "IntervalIndex": lambda: pd.interval_range(0, 2),
        "IntervalArray": lambda: pd.interval_range(0, 2).array,
        "DatetimeIndex": lambda: pd.DatetimeIndex([DAY]),
        "DatetimeArray": lambda: pd.DatetimeIndex([DAY]).array,
        "DatetimeIndexTz": lambda: pd.DatetimeIndex([DAY], tz="UTC"),
        "PeriodIndex": lambda: pd.period_range("2020", periods=2, freq="D"),
        "PeriodArray": lambda: pd.period_range("2020", periods=2, freq="D").array,
        "TimedeltaIndex": lambda: pd.TimedeltaIndex([pd.Timedelta(1, "s")]),
        "IdxInt": lambda: pd.Index([1, None], dtype="Int64"),
        "StringArr": lambda: pd.array(["a"]),
        "df_mix": lambda: pd.DataFrame({"a": [1], "b": ["x"]}),
        "df_str": lambda: pd.DataFrame({"b": ["x"]}),
        "df_dt": lambda: pd.DataFrame({"a": [DAY]}),
        "df_dt2": lambda: pd.DataFrame({"a": [DAY], "b": [1]}),
        "df_null": lambda: pd.DataFrame({"a": [1, None]}, dtype="Int64"),
        "df_cat": lambda: pd.DataFrame({"a": ["x", "y"]}, dtype="category"),
        "df_sparse": lambda: pd.DataFrame({"a": [0, 1]}).astype(pd.SparseDtype(int)),
        "df_cat2": lambda: pd.DataFrame({"a": [1], "b": C(["x"], dtype="category")}),
        "df_cat_twice": lambda: pd.DataFrame([["x", "y"]], columns=["b", "b"], dtype="category"),
        "df_sparse2": lambda: pd.DataFrame({"a": [1.0], "b": C([0], dtype=pd.SparseDtype(int))}),
        "df_null2": lambda: pd.DataFrame({"a": [1.0], 7: C([None], dtype="Int64")}),
        "df_interval2": lambda: pd.DataFrame({"a": [1.0], "b": pd.interval_range(0, 1)}),
        "df_empty": lambda: pd.DataFrame(),
        "df_i_u": lambda: pd.DataFrame({"a": np.array([2**63 + 1], "u8"), "b": [-1]}),
        "df_obj": lambda: pd.DataFrame({"a": [[1, 2]]}),
        "df_list": lambda: pd.DataFrame(
            {"a": C([[1, 2]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))}
        ),
        "df_dup": lambda: pd.DataFrame([[1, "a"]], columns=["a", "a"]),
        "df_period": lambda: pd.DataFrame({"a": C(pd.period_range("2020", periods=2, freq="D"))}),
        "df_int0": lambda: pd.DataFrame({0: ["x"]}),
        "df_td": lambda: pd.DataFrame({"a": [pd.Timedelta(1)]}),
        "groupby": lambda: pd.DataFrame({"a": [1]}).groupby("a"),
        "ts": lambda: pd.Timestamp(DAY),
        "tdl": lambda: pd.Timedelta(1),
        "NA": lambda: pd.NA,
        "NaT": lambda: pd.NaT,
        "per": lambda: pd.Period("2020"),
        "ivl": lambda: pd.Interval(0, 1),
        "rolling": lambda: C([1.0, 2.0]).rolling(2),
        "series_of_series": lambda: C([C([1]), C([2])]),
        "obj_na": lambda: C([1, pd.NA], dtype=object),
    }


def of_pyarrow():
    import numpy as np
    import pyarrow as pa

    A = pa.array

    return {
        "null": lambda: A([1, None]),
        "nullt": lambda: A([None]),
        "s": lambda: A(["a"]),
        "ls": lambda: A(["a"], pa.large_string()),
        "sv": lambda: A(["a"], pa.string_view()),
        "b": lambda: A([b"a"]),
        "fb": lambda: A([b"ab"], pa.binary(2)),
        "li": lambda: A([[1, 2]]),
        "lli": lambda: A([[1, 2]], pa.large_list(pa.int64())),
        "lv": lambda: A([[1]], pa.list_view(pa.int64())),
        "fl_null": lambda: A([[1, None]], pa.list_(pa.int64(), 2)),
        "fl_null2": lambda: A([[[1, None]]], pa.list_(pa.list_(pa.int64(), 2), 1)),
        "fl_d32": lambda: A([[DAY.date()] * 2], pa.list_(pa.date32(), 2)),
        "fl_ts2": lambda: A([[[DAY, DAY]]], pa.list_(pa.list_(pa.timestamp("us"), 2), 1)),
        "fl_dec": lambda: A([[decimal.Decimal(1)]], pa.list_(pa.decimal128(5, 2), 1)),
        "fl_dic": lambda: pa.FixedSizeListArray.from_arrays(A(["a", "a"]).dictionary_encode(), 2),
        "fl_lv": lambda: A([[[1]]], pa.list_(pa.list_view(pa.int64()), 1)),
        "ch_fl_null": lambda: pa.chunked_array([A([[1, None]], pa.list_(pa.int64(), 2))] * 2),
        "ch_fl_d32": lambda: pa.chunked_array([A([[DAY.date()]], pa.list_(pa.date32(), 1))] * 2),
        "fl_str": lambda: A([["a", "b"]], pa.list_(pa.string(), 2)),
        "st": lambda: A([{"a": 1}]),
        "st_mix": lambda: A([{"a": 1, "b": "x"}]),
        "dic": lambda: A(["a"]).dictionary_encode(),
        "dicn": lambda: A([1]).dictionary_encode(),
        "dec": lambda: A([decimal.Decimal(1)]),
        "dec256": lambda: A([decimal.Decimal(1)], pa.decimal256(50, 2)),
        "d32": lambda: A([DAY.date()]),
        "d64": lambda: A([DAY], pa.date64()),
        "ts": lambda: A([DAY]),
        "tstz": lambda: A([DAY], pa.timestamp("us", "UTC")),
        "t32": lambda: A([1], pa.time32("s")),
        "t64": lambda: A([1], pa.time64("us")),
        "dur": lambda: A([1], pa.duration("s")),
        "mdn": lambda: A([(1, 2, 3)], pa.month_day_nano_interval()),
        "mp": lambda: A([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        "un": lambda: pa.UnionArray.from_sparse(A([0], pa.int8()), [A([1])]),
        "dun": lambda: pa.UnionArray.from_dense(A([0], pa.int8()), A([0], pa.int32()), [A([1])]),
        "ree": lambda: pa.RunEndEncodedArray.from_arrays([2], [1]),
        "ext": lambda: pa.ExtensionArray.from_storage(pa.uuid(), A([b"a" * 16], pa.binary(16))),
        "ext_json": lambda: pa.ExtensionArray.from_storage(pa.json_(), A(["1"])),
        "ext_bool8": lambda: pa.ExtensionArray.from_storage(pa.bool8(), A([1], pa.int8())),
        "ext_opaque": lambda: pa.ExtensionArray.from_storage(
            pa.opaque(pa.int64(), "a", "b"), A([1])
        ),
        "boolv": lambda: A([True, False]),
        "ch": lambda: pa.chunked_array([[1], [2]]),
        "chs": lambda: pa.chunked_array([["a"], ["b"]]),
        "chnull": lambda: pa.chunked_array([[1], [None]]),
        "chts": lambda: pa.chunked_array([[DAY]]),
        "tab": lambda: pa.table({"a": [1], "b": ["x"]}),
        "tabd": lambda: pa.table({"a": [DAY]}),
        "tabnull": lambda: pa.table({"a": [1, None]}),
        "tabdup": lambda: pa.table([[1], ["x"]], names=["a", "a"]),
        "tab0": lambda: pa.table({}),
        "tabl": lambda: pa.table({"a": [[1, 2]]}),
        "tabdic": lambda: pa.table({"a": A(["a"]).dictionary_encode()}),
        "rb": lambda: pa.record_batch({"a": [1], "b": ["x"]}),
        "coo": lambda: pa.SparseCOOTensor.from_dense_numpy(np.eye(2)),
        "csr": lambda: pa.SparseCSRMatrix.from_dense_numpy(np.eye(2)),
        "csc": lambda: pa.SparseCSCMatrix.from_dense_numpy(np.eye(2)),
        "csf": lambda: pa.SparseCSFTensor.from_dense_numpy(np.ones((2, 2, 2))),
        "sc": lambda: pa.scalar(1),
        "scs": lambda: pa.scalar("a"),
        "scd": lambda: pa.scalar(DAY),
        "scn": lambda: pa.scalar(None),
        "scl": lambda: pa.scalar([1]),
        "ty": lambda: pa.int64(),
        "field": lambda: pa.field("a", pa.int64()),
        "schema": lambda: pa.schema([("a", pa.int64())]),
    }


def of_polars():
    import polars as pl

    S = pl.Series

    return {
        "null": lambda: S([1, None]),
        "nullt": lambda: S([None]),
        "s": lambda: S(["a"]),
        "cat": lambda: S(["a"], dtype=pl.Categorical),
        "enum": lambda: S(["a"], dtype=pl.Enum(["a"])),
        "date": lambda: S([DAY.date()]),
        "dt": lambda: S([DAY]),
        "dttz": lambda: S([DAY], dtype=pl.Datetime("us", "UTC")),
        "dur": lambda: S([datetime.timedelta(1)]),
        "time": lambda: S([datetime.time(1)]),
        "li": lambda: S([[1, 2]]),
        "arr_date": lambda: S([[DAY.date()]], dtype=pl.Array(pl.Date, 1)),
        "arr_dec": lambda: S([[decimal.Decimal(1)]], dtype=pl.Array(pl.Decimal(5, 2), 1)),
        "arr_null": lambda: S([[1, None]], dtype=pl.Array(pl.Int64, 2)),
        "st": lambda: S([{"a": 1}]),
        "stmix": lambda: S([{"a": 1, "b": "x"}]),
        "dec": lambda: S([decimal.Decimal(1)]),
        "obj": lambda: S([object()], dtype=pl.Object),
        "bn": lambda: S([b"a"]),
        "boolv": lambda: S([True]),
        "boolnull": lambda: S([True, None]),
        "ch": lambda: pl.concat([S([1]), S([2])], rechunk=False),
        "i128": lambda: S([1], dtype=pl.Int128),
        "f16": lambda: S([1.0], dtype=pl.Float16),
        "df": lambda: pl.DataFrame({"a": [1], "b": ["x"]}),
        "dfdate": lambda: pl.DataFrame({"a": [DAY]}),
        "dfnull": lambda: pl.DataFrame({"a": [1, None]}),
        "df0": lambda: pl.DataFrame(),
        "dfl": lambda: pl.DataFrame({"a": [[1, 2]]}),
        "dfcat": lambda: pl.DataFrame({"a": S(["a"], dtype=pl.Categorical)}),
        "lf": lambda: pl.DataFrame({"a": [1]}).lazy(),
        "ex": lambda: pl.col("a"),
        "gb": lambda: pl.DataFrame({"a": [1]}).group_by("a"),
        "dfi": lambda: pl.DataFrame({"a": S([2**63 + 1], dtype=pl.UInt64), "b": [-1]}),
        "arrs": lambda: S([["a", "b"]], dtype=pl.Array(pl.String, 2)),
    }


def of_narwhals():
    import narwhals as nw
    import pandas as pd
    import polars as pl

    C, S = pd.Series, pl.Series
    return {
        "s": lambda: nw.from_native(S(["a"]), series_only=True),
        "d": lambda: nw.from_native(S([DAY]), series_only=True),
        "df": lambda: nw.from_native(pl.DataFrame({"a": ["x"]})),
        "lf": lambda: nw.from_native(pl.DataFrame({"a": [1]}).lazy()),
        "pds": lambda: nw.from_native(C(["a"]), series_only=True),
    }


def of_torch():
    import torch

    T = torch.tensor

    def nn():
        return torch.nn.utils.rnn.pack_sequence([T([1.0])])

    def fake():
        from torch._subclasses import FakeTensorMode

        with FakeTensorMode() as m:
            return m.from_tensor(torch.ones(2))

    def grad_in():
        out = {}
        torch.func.grad(lambda x: (out.setdefault(0, x), x.sum())[1])(T([1.0]))
        return out[0]

    return {
        "coo": lambda: torch.eye(2).to_sparse(),
        "csr": lambda: torch.eye(2).to_sparse_csr(),
        "csc": lambda: torch.eye(2).to_sparse_csc(),
        "bsr": lambda: torch.eye(2).to_sparse_bsr((1, 1)),
        "bsc": lambda: torch.eye(2).to_sparse_bsc((1, 1)),
        "coou": lambda: torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,)),
        "coog": lambda: torch.eye(2).to_sparse().requires_grad_(),
        "grad": lambda: T([1.0], requires_grad=True),
        "gradnl": lambda: T([1.0], requires_grad=True) * 2,
        "conj": lambda: T([1j]).conj(),
        "neg": lambda: T([1j]).conj().imag,
        "meta": lambda: torch.ones(2, device="meta"),
        "q": lambda: torch.quantize_per_tensor(T([1.0]), 1.0, 0, torch.qint8),
        "qc": lambda: torch.quantize_per_channel(
            torch.ones(2, 2), torch.ones(2), torch.zeros(2), 0, torch.quint8
        ),
        "nested": lambda: torch.nested.nested_tensor([T([1.0]), T([1.0, 2.0])]),
        "jagged": lambda: torch.nested.nested_tensor(
            [T([1.0]), T([1.0, 2.0])], layout=torch.jagged
        ),
        "mkldnn": lambda: torch.ones(2).to_mkldnn(),
        "fake": fake,
        "gradin": grad_in,
        "param": lambda: torch.nn.Parameter(T([1.0])),
        "packed": nn,
        "dtype": lambda: torch.float32,
        "dev": lambda: torch.device("cpu"),
        "conjg": lambda: T([1j], requires_grad=True).conj(),
        "masked": lambda: torch.masked.masked_tensor(T([1.0, 2.0]), T([True, False])),
        "size": lambda: torch.Size([1]),
        "bits": lambda: torch.empty(2, dtype=torch.bits8),
        "ut": lambda: torch.nn.parameter.UninitializedParameter(),
        "listg": lambda: [T([1.0], requires_grad=True)],
        "u1": lambda: torch.empty(2, dtype=torch.uint1),
        "vm": lambda: (
            lambda o: (torch.vmap(lambda x: (o.append(x), x)[1])(torch.ones(2, 2)), o[0])[1]
        )([]),
        "storage": lambda: torch.ones(2, device="meta").untyped_storage(),
    }


def of_jax():
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import sparse as jsp

    def tracer():
        o = []
        jax.jit(lambda x: (o.append(x), x)[1])(1.0)
        return o[0]

    def deleted():
        x = jnp.ones(2)
        x.delete()
        return x

    return {
        "tracer": tracer,
        "bcoo": lambda: jsp.BCOO.fromdense(jnp.eye(2)),
        "bcsr": lambda: jsp.BCSR.fromdense(jnp.eye(2)),
        "coo": lambda: jsp.COO.fromdense(jnp.eye(2)),
        "csr": lambda: jsp.CSR.fromdense(jnp.eye(2)),
        "deleted": deleted,
        "key": lambda: jax.random.key(0),
        "keys": lambda: jax.random.split(jax.random.key(0), 2),
        "int4": lambda: jnp.ones(2, jnp.int4),
        "uint2": lambda: jnp.ones(2, jnp.uint2),
        "float0": lambda: jax.grad(lambda x: 1.0, allow_int=True)(1),
        "float0a": lambda: np.zeros(2, jax.dtypes.float0),
        "sds": lambda: jax.ShapeDtypeStruct((2,), jnp.float32),
        "fp4": lambda: jnp.ones(3, jnp.float4_e2m1fn),
        "ref": lambda: jax.new_ref(jnp.ones(2)),
        "dev": lambda: jax.devices()[0],
    }


def of_tensorflow():
    import numpy as np
    import tensorflow as tf

    def symb():
        o = []

        @tf.function
        def f(x):
            o.append(x)
            return x

        f(tf.ones(2))
        return o[0]

    return {
        "sp": lambda: tf.sparse.from_dense(np.eye(2)),
        "rag": lambda: tf.ragged.constant([[1], [1, 2]]),
        "s": lambda: tf.constant(["a"]),
        "s0": lambda: tf.constant("a"),
        "var_s": lambda: tf.Variable("a"),
        "variant": lambda: tf.data.Dataset.range(2)._variant_tensor,
        "q": lambda: tf.bitcast(tf.zeros(2, tf.int8), tf.qint8),
        "qu": lambda: tf.bitcast(tf.zeros(2, tf.uint8), tf.quint8),
        "q32": lambda: tf.bitcast(tf.zeros(2, tf.int32), tf.qint32),
        "symb": symb,
        "ta": lambda: tf.TensorArray(tf.float32, 1),
        "ds": lambda: tf.data.Dataset.range(2),
        "idx": lambda: tf.IndexedSlices(tf.ones(1), tf.constant([0])),
        "f8": lambda: tf.cast(tf.ones(2), tf.dtypes.experimental.float8_e4m3fn),
        "bf": lambda: tf.Variable(tf.cast(tf.ones(2), tf.bfloat16)),
        "opt": lambda: tf.experimental.Optional.from_value(1),
        "dtype": lambda: tf.float32,
        "ragS": lambda: tf.ragged.constant([["a"], ["b", "c"]]),
    }


def of_scipy():
    import numpy as np
    import scipy.sparse
    from scipy.spatial.transform import Rotation

    formats = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
    made = {name: getattr(scipy.sparse, f"{name}_array") for name in formats}
    made.update({f"{name} matrix": getattr(scipy.sparse, f"{name}_matrix") for name in formats})
    result = {name: lambda cls=cls: cls(np.eye(2)) for name, cls in made.items()}
    return {**result, "rotation": lambda: Rotation.identity()}


def of_sparse():
    import numpy as np
    import sparse

    return {
        "coo": lambda: sparse.COO.from_numpy(np.eye(2)),
        "gcxs": lambda: sparse.GCXS.from_numpy(np.eye(2)),
        "dok": lambda: sparse.DOK.from_numpy(np.eye(2)),
    }


def of_astropy():
    import astropy.coordinates
    import astropy.nddata
    import astropy.table
    import astropy.time
    import astropy.units as u
    import numpy as np
    from astropy.utils.masked import Masked

    return {
        "q": lambda: [1, 2] * u.m,
        "q0": lambda: 1 * u.m,
        "mq": lambda: Masked([1, 2] * u.m, mask=[0, 1]),
        "ma": lambda: Masked(np.ones(2), mask=[0, 1]),
        "mc": lambda: astropy.table.MaskedColumn([1, 2], mask=[0, 1]),
        "c": lambda: astropy.table.Column(["a"]),
        "cu": lambda: astropy.table.Column([1], unit="m"),
        "mcu": lambda: astropy.table.MaskedColumn([1, 2], mask=[0, 1], unit="m"),
        "tab": lambda: astropy.table.Table({"a": [1], "b": ["x"]}),
        "qt": lambda: astropy.table.QTable({"a": [1] * u.m}),
        "time": lambda: astropy.time.Time("2020-01-01"),
        "times": lambda: astropy.time.Time(["2020-01-01"]),
        "sky": lambda: astropy.coordinates.SkyCoord([1] * u.deg, [2] * u.deg),
        "ang": lambda: astropy.coordinates.Angle([1] * u.deg),
        "nd": lambda: astropy.nddata.NDData(np.ones(2), mask=[0, 1]),
        "ndm": lambda: astropy.nddata.NDDataArray(np.ones(2), mask=np.array([False, True])),
        "ccd": lambda: astropy.nddata.CCDData(np.ones((2, 2)), unit="adu"),
        "td": lambda: astropy.time.TimeDelta(1, format="sec"),
        "mag": lambda: [1] * u.mag,
        "sq": lambda: u.StructuredUnit("m,s"),
        "row": lambda: astropy.table.Table({"a": [1], "b": ["x"]})[0],
        "ccdm": lambda: astropy.nddata.CCDData(np.ones((2, 2)), unit="adu", mask=np.eye(2) > 0),
        "nddu": lambda: astropy.nddata.NDData(np.ones(2), unit="m"),
    }


def of_pint():
    import numpy as np
    import pint

    ur = pint.UnitRegistry()

    return {
        "q": lambda: [1, 2] * ur.m,
        "q0": lambda: 1 * ur.m,
        "qm": lambda: np.ma.array([1, 2], mask=[0, 1]) * ur.dimensionless,
        "u": lambda: ur.m,
    }


def of_unyt():
    import unyt

    return {
        "a": lambda: unyt.unyt_array([1, 2], "m"),
        "q": lambda: unyt.unyt_quantity(1, "m"),
    }


def of_xarray():
    import astropy.units as u
    import dask.array as da
    import numpy as np
    import pint
    import sparse
    import xarray as xr

    ur = pint.UnitRegistry()

    return {
        "s": lambda: xr.DataArray(["a"]),
        "d": lambda: xr.DataArray(np.array(["2020"], "M8[ns]")),
        "obj": lambda: xr.DataArray(np.array([1, None], object)),
        "ds": lambda: xr.Dataset({"a": ("x", [1])}),
        "sp": lambda: xr.DataArray(sparse.COO.from_numpy(np.eye(2))),
        "var": lambda: xr.Variable("x", ["a"]),
        "pintd": lambda: xr.DataArray([1, 2] * ur.m),
        "q": lambda: xr.DataArray([1, 2] * u.m),
        "dt": lambda: xr.DataTree(),
        "dask": lambda: xr.DataArray(da.ones(2)),
    }


def of_dask():
    import dask
    import dask.array as da
    import dask.bag
    import dask.dataframe as dd
    import numpy as np
    import pandas as pd
    import pint
    import sparse

    C = pd.Series
    ur = pint.UnitRegistry()

    return {
        "a": lambda: da.ones(2),
        "s": lambda: da.from_array(np.array(["a"])),
        "sp": lambda: da.from_array(sparse.COO.from_numpy(np.eye(2)), asarray=False),
        "ma": lambda: da.ma.masked_array(da.ones(2), [True, False]),
        "df": lambda: dd.from_pandas(pd.DataFrame({"a": [1, 2]}), npartitions=1),
        "dfs": lambda: dd.from_pandas(pd.DataFrame({"a": ["x"]}), npartitions=1),
        "ser": lambda: dd.from_pandas(C([1, 2]), npartitions=1),
        "delayed": lambda: dask.delayed(np.ones)(2),
        "bag": lambda: dask.bag.from_sequence([1, 2]),
        "unk": lambda: da.from_delayed(dask.delayed(np.ones)(2), (np.nan,), float),
        "qd": lambda: da.ones(2) * ur.m,
    }


def of_awkward():
    import awkward as ak
    import numpy as np

    return {
        "rag": lambda: ak.Array([[1], [1, 2]]),
        "rec": lambda: ak.Array([{"a": 1}]),
        "recmix": lambda: ak.Array([{"a": 1, "b": "x"}]),
        "s": lambda: ak.Array(["a", "bc"]),
        "opt": lambda: ak.Array([1, None]),
        "un": lambda: ak.Array([1, "a"]),
        "rec1": lambda: ak.Record({"a": 1}),
        "dt": lambda: ak.Array([np.datetime64("2020-01-01")]),
        "reg": lambda: ak.to_regular(ak.Array([[1, 2], [3, 4]])),
        "empty": lambda: ak.Array([]),
        "cat": lambda: ak.str.to_categorical(ak.Array(["a"])),
        "bld": lambda: ak.ArrayBuilder(),
        "ragm": lambda: ak.Array([[1, None], [2]]),
        "uns": lambda: ak.Array([[1, 2], [3, 4]]),
    }


def of_h5py():
    import h5py
    import numpy as np

    F = h5py.File("refused", "w", driver="core", backing_store=False)

    return {
        "vlen": lambda: (lambda d: (d.__setitem__(0, [1, 2]), d)[1])(
            F.create_dataset("v", (2,), h5py.vlen_dtype("i4"))
        ),
        "s": lambda: F.create_dataset("s", data=["a", "b"]),
        "comp": lambda: F.create_dataset("c", data=np.zeros(2, "i4,f8")),
        "grp": lambda: F.create_group("g"),
        "ref": lambda: F.create_dataset("r", (1,), h5py.ref_dtype),
        "opaque": lambda: F.create_dataset("o", data=np.zeros(2, "V4")),
        "enum": lambda: F.create_dataset("e", data=[0, 1], dtype=h5py.enum_dtype({"A": 0, "B": 1})),
        "be": lambda: F.create_dataset("be", data=np.arange(3, dtype=">f4")),
        "ld": lambda: F.create_dataset("ld", data=np.ones(2, np.longdouble)),
        "emptyd": lambda: F.create_dataset("em", data=h5py.Empty("f")),
        "plain": lambda: F.create_dataset("p", data=np.ones(3)),
        "fs": lambda: F.create_dataset("fs", data=np.array([b"ab"])),
        "file": lambda: F,
        "attrs": lambda: F.attrs,
        "scal": lambda: F.create_dataset("sc", data="x"),
        "strv": lambda: F["s"].asstr(),
    }


def of_zarr():
    import numpy as np
    import zarr

    return {
        "s": lambda: zarr.array(np.array(["a", "b"])),
        "plain": lambda: zarr.ones(3),
        "grp": lambda: zarr.group(),
        "M": lambda: zarr.array(np.array(["2020"], "M8[s]")),
        "st": lambda: zarr.array(np.zeros(2, "i4,f8")),
    }


def of_pillow():
    from PIL import Image

    return {
        "p": lambda: Image.new("P", (2, 2)),
        "one": lambda: Image.new("1", (2, 2)),
        "rgb": lambda: Image.new("RGB", (2, 2)),
        "i16b": lambda: Image.new("I;16B", (2, 2)),
        "lab": lambda: Image.new("LAB", (2, 2)),
        "pa": lambda: Image.new("PA", (2, 2)),
        "closed": lambda: (lambda i: (i.close(), i)[1])(Image.new("L", (2, 2))),
    }


def of_warp():
    import warp as wp

    wp.config.quiet = True
    wp.init()

    return {
        "vec": lambda: wp.zeros(2, dtype=wp.vec3),
        "idx": lambda: wp.indexedarray(wp.zeros(4, dtype=float), [wp.array([0, 2], dtype=int)]),
        "st": lambda: (lambda s: wp.zeros(2, dtype=s))(
            wp.struct(type("SS", (), {"__annotations__": {"a": wp.float32}}))
        ),
        "grad": lambda: wp.zeros(2, dtype=float, requires_grad=True),
        "v": lambda: wp.vec3(1, 2, 3),
    }


def of_nanoarrow():
    import nanoarrow as na

    return {
        "s": lambda: na.Array(["a"], na.string()),
        "cs": lambda: na.c_array(["a"], na.string()),
        "nul": lambda: na.Array([1, None], na.int64()),
        "d": lambda: na.Array([1], na.date32()),
        "sch": lambda: na.int64(),
        "b": lambda: na.Array([True], na.bool_()),
    }


def of_duckdb():
    import duckdb

    return {
        "s": lambda: duckdb.sql("select 'a' as a"),
        "d": lambda: duckdb.sql("select date '2020-01-01' as a"),
        "nul": lambda: duckdb.sql("select null::int as a"),
        "li": lambda: duckdb.sql("select [1,2] as a"),
        "dec": lambda: duckdb.sql("select 1.5::decimal(4,2) as a"),
        "huge": lambda: duckdb.sql("select 1::hugeint as a"),
        "con": lambda: duckdb.connect(),
        "mix": lambda: duckdb.sql("select 1 as a, 'x' as b"),
    }


def of_mlx():
    import mlx.core as mx

    return {
        "a": lambda: mx.ones(2),
        "c": lambda: mx.array([1j]),
    }
