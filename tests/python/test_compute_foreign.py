"""Operands that are not a Tensor's to take: the other side decides, and nothing is dropped."""

import enum
import operator

import pytest

import dlx

numpy = pytest.importorskip("numpy")

T = dlx.asarray([1.0, 2.0, 3.0])


class Reflecting:
    """Answers every operator by saying which one it was; knows nothing of NumPy."""

    __array_ufunc__ = None

    def __init__(self):
        for_all = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "divmod")
        for name in (*for_all, "and", "or", "xor", "lshift", "rshift"):
            setattr(type(self), f"__r{name}__", lambda self, other, name=name: (name, other))

    def __eq__(self, other):
        return ("eq", other)

    def __lt__(self, other):
        return ("lt", other)

    __hash__ = None


class Unit:
    """A number with a unit, which takes Tensors apart by itself, as pint does (NEP 13)."""

    def __init__(self, value, unit):
        self.value, self.unit = value, unit

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        values = [i.value if isinstance(i, Unit) else i for i in inputs]
        return Unit(getattr(ufunc, method)(*values, **kwargs), self.unit)

    def __array_function__(self, func, types, args, kwargs):
        return ("function", func.__name__)

    __mul__ = __rmul__ = lambda self, other: numpy.multiply(self, other)


class Marked(numpy.ndarray):
    """A subclass of ndarray, which a Tensor would turn into a plain one."""


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift"]  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_way(name):
    other = Reflecting()

    word, tensor = getattr(operator, name)(T, other)
    assert word == name.strip("_")
    assert tensor is T


def test_comparisons_and_divmod_give_way():
    other = Reflecting()

    assert operator.eq(T, other)[0] == "eq"
    assert operator.gt(T, other)[0] == "lt"
    assert divmod(T, other)[0] == "divmod"


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("other", [[1, 2, 3], "text", None, object(), {1: 2}])
def test_what_nobody_takes_is_a_type_error(name, other):
    for call in (getattr(operator, name), getattr(operator, "i" + name.strip("_"))):
        with pytest.raises(TypeError, match=r"unsupported operand|is not an operand of a Tensor"):
            call(T, other)
    assert T.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "stranger", [Unit(2.0, "m"), numpy.ma.masked_array([1.0, 2, 3], [0, 1, 0]), numpy.ones(3).view(Marked), [1, 2, 3], None, "x"]
)  # fmt: skip
def test_the_protocol_answers_not_implemented(stranger):
    assert T.__array_ufunc__(numpy.add, "__call__", T, stranger) is NotImplemented
    assert T.__array_ufunc__(numpy.add, "__call__", stranger, T) is NotImplemented
    assert T.__array_ufunc__(numpy.add, "outer", T, stranger) is NotImplemented
    if stranger is not None:
        assert T.__array_ufunc__(numpy.exp, "__call__", T, out=(stranger,)) is NotImplemented
    types = (dlx.Tensor, type(stranger))
    assert T.__array_function__(numpy.sum, types, (T,), {}) is NotImplemented
    assert T.__add__(stranger) is NotImplemented
    assert T.__radd__(stranger) is NotImplemented
    assert T.__iadd__(stranger) is NotImplemented


def test_ufuncs_of_others_take_what_is_no_array():
    """As shapely's, whose geometries are objects that know nothing of NumPy."""

    class Geometry:
        def distance(self, x):
            return abs(x - 2)

    distance = numpy.frompyfunc(lambda geometry, x: geometry.distance(x), 2, 1)
    assert distance(Geometry(), T).tolist() == [1, 0, 1]
    assert distance([Geometry()] * 3, T).tolist() == [1, 0, 1]
    assert distance.outer([Geometry()], T).tolist() == [[1, 0, 1]]
    assert numpy.frompyfunc("{}{}".format, 2, 1)(T, "m").tolist() == ["1.0m", "2.0m", "3.0m"]


@pytest.mark.parametrize(
    "stranger", [numpy.ma.masked_array([1.0, 2, 3], [0, 1, 0]), numpy.ones(3).view(Marked)]
)
def test_ufuncs_of_others_take_no_strangers(stranger):
    total = numpy.frompyfunc(lambda x, y: x + y, 2, 1)
    for other in (stranger, [stranger]):
        with pytest.raises(TypeError, match="NotImplemented"):
            total(T, other)


def test_a_unit_survives_on_both_sides():
    length = Unit(2.0, "m")

    for result in (T * length, length * T, numpy.multiply(T, length), numpy.multiply(length, T)):
        assert type(result) is Unit
        assert result.unit == "m"
        assert type(result.value) is dlx.Tensor
        assert result.value.tolist() == [2, 4, 6]
    assert numpy.concatenate([T, length]) == ("function", "concatenate")


def test_a_mask_survives_on_both_sides():
    masked = numpy.ma.masked_array([10.0, 20, 30], [0, 1, 0])

    for result in (T + masked, masked + T):
        assert type(result) is numpy.ma.MaskedArray
        assert result.mask.tolist() == [False, True, False]
        assert result.data.tolist()[::2] == [11, 33]
    with pytest.raises(TypeError):
        numpy.concatenate([T, masked])  # an error, but no mask that is lost without a word


def test_a_subclass_is_not_made_plain():
    marked = numpy.ones(3).view(Marked)

    for call in (lambda: T + marked, lambda: marked + T, lambda: numpy.stack([T, marked])):
        with pytest.raises(TypeError):
            call()
    assert type(T.numpy() + marked) is Marked  # the way out


def test_numbers_of_classes_of_their_own_are_numbers():
    class Colour(enum.IntEnum):
        RED = 2

    class Weight(float):
        pass

    assert (T * Colour.RED).tolist() == [2, 4, 6]
    assert (Weight(2) * T).tolist() == [2, 4, 6]

    class Own(float):
        def __array_ufunc__(self, *args, **kwargs):
            return "own"

    assert numpy.add(T, Own(1)) == "own"


def test_torch_refuses_loudly():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError):
        T + torch.ones(3, dtype=torch.float64)
    with pytest.raises(TypeError):
        torch.ones(3, dtype=torch.float64) + T


MASKED = numpy.ma.masked_equal([1.0, 2.0, 3.0], 2)


class Named:
    """An array of another library, which knows more than its numbers."""

    def __array__(self, dtype=None, copy=None):
        return numpy.ones(3)


class Exporter:
    def __dlpack__(self, **keywords):
        return numpy.ones(3).__dlpack__()

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize(
    "stranger", [MASKED, MASKED[1], numpy.ones(3).view(Marked), Unit(2.0, "m"), Named(), Exporter()]
)
def test_functions_of_xp_and_methods_refuse_what_operators_leave_alone(stranger):
    xp = T.__array_namespace__()
    out = numpy.ones(3).view(Marked)

    for call in (
        lambda: xp.where(T > 1, T, stranger),
        lambda: xp.full((2,), stranger),
        lambda: xp.full((2,), fill_value=stranger),
        lambda: xp.concat([T, stranger]),
        lambda: xp.stack((stranger, T)),
        lambda: xp.add(T, stranger),
        lambda: xp.add(T, T, out=out),
        lambda: xp.sum(stranger),
        lambda: xp.sort(stranger),
        lambda: xp.sort(stranger, descending=True),
        lambda: xp.argsort(stranger, descending=True),
        lambda: xp.clip(T, stranger, None),
        lambda: xp.unique_values(stranger),
        lambda: xp.linalg.norm(stranger),
        lambda: T.clip(stranger),
        lambda: T.searchsorted(stranger),
        lambda: numpy.sum(T, where=stranger),
    ):
        with pytest.raises(
            TypeError, match=r"is not an operand of a Tensor: pass dlx\.asarray\(x\)"
        ):
            call()


def test_numbers_lists_text_and_dtypes_remain_what_functions_of_xp_take():
    xp = T.__array_namespace__()

    class Colour(enum.IntEnum):
        RED = 2

    assert xp.add(T, Colour.RED).tolist() == [3, 4, 5]
    assert xp.where(T > 1, [5, 6, 7], numpy.float32(1)).tolist() == [1, 6, 7]
    assert xp.concat([T, numpy.ones(1), [4.0]]).tolist() == [1, 2, 3, 1, 4]
    assert xp.einsum("i,i", T, T).item() == 14
    assert xp.zeros(2, dtype="int8").dtype == xp.int8
    assert xp.sum(T, axis=None, dtype=xp.float32).item() == 6
    assert xp.sum(range(4)).item() == 6


def test_what_numpy_itself_puts_around_a_plain_array_is_taken():
    line, ones = numpy.poly1d([1.0, 2.0]), numpy.ones(3)

    assert numpy.polyval(line, T).tolist() == [3, 4, 5]
    assert numpy.polyadd(line, T).coeffs.tolist() == [1, 3, 5]
    assert numpy.convolve(line, T).tolist() == [1, 4, 7, 6]
    assert numpy.where(T > 1, T, ones.flat).tolist() == [1, 2, 3]
    assert numpy.concatenate([T, ones.flat]).tolist() == [1, 2, 3, 1, 1, 1]
    with pytest.raises(TypeError, match="Marked is not an operand"):
        numpy.concatenate([T, ones.view(Marked).flat])


def test_like_leaves_alone_what_no_tensor_can_hold():
    for plain in (numpy.rec.array([(1, 2.0)]), numpy.char.array(["a"])):
        made = numpy.asarray(plain, like=T)
        assert type(made) is numpy.ndarray
        assert made.tolist() == plain.tolist()
    records = numpy.ma.array([(1, 2.0)], dtype="i4,f8", mask=[(True, False)])
    with pytest.raises(dlx.UnsupportedError, match="mask"):
        numpy.asarray(records, like=T)


def test_like_keeps_nothing_that_would_be_lost():
    with pytest.raises(dlx.UnsupportedError, match=r"\.filled\(value\)"):
        numpy.asarray(MASKED, like=T)
    assert numpy.asarray(Named(), like=T).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "stranger", [numpy.ma.array([True] * 3, mask=[0, 1, 0]), numpy.ones(3, bool).view(Marked)]
)
def test_a_condition_of_a_ufunc_is_an_operand_too(stranger):
    for call in (
        lambda: numpy.add(T, 1, where=stranger, out=dlx.empty(3, dtype="float64")),
        lambda: numpy.add.reduce(T, where=stranger),
    ):
        with pytest.raises(TypeError, match="NotImplemented"):
            call()
    condition = [True, False, True]
    for plain in (condition, numpy.array(condition), dlx.asarray(condition)):
        assert numpy.add.reduce(T, where=plain).item() == 4
