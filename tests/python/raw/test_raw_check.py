"""dlx_dlpack_check: what is wrong with a DLPack struct, in words."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from raw_support import CPU, deletions, managed, refused

import dlx
from dlx import raw

INVALID = raw.DLX_ERROR_INVALID_ARGUMENT


def test_check_finds_nothing_wrong() -> None:
    with raw.dlx_tensor_empty(1, [4096], raw.dlx_dtype_parse("int32"), *CPU) as t:
        out = raw.dlx_tensor_to_dlpack_versioned(t)
        assert raw.dlx_dlpack_check(out, raw.DLX_MANAGED_VERSIONED) == ("", 0, 0)


@pytest.mark.parametrize("legacy", [False, True], ids=["versioned", "legacy"])
@pytest.mark.parametrize(
    ("fields", "word"),
    [({"ndim": -1}, "ndim"), ({"dtype": (99, 8, 1)}, "dtype"), ({"dtype": (2, 32, 0)}, "lanes"),
     ({"data": 0}, "data"), ({"shape": None, "ndim": 3}, "shape")],
)  # fmt: skip
def test_check_says_what_is_wrong(legacy: bool, fields: dict[str, Any], word: str) -> None:
    struct = managed([2, 3], legacy=legacy)
    for name, value in fields.items():
        setattr(struct.dl_tensor, name, value)
    kind = raw.DLX_MANAGED_LEGACY if legacy else raw.DLX_MANAGED_VERSIONED
    report, errors, warnings = raw.dlx_dlpack_check(struct, kind)
    lines = report.splitlines()
    assert errors == sum(line.startswith("error: ") for line in lines) >= 1
    assert warnings == sum(line.startswith("warning: ") for line in lines)
    assert any(word in line for line in lines if line.startswith("error: "))
    assert deletions(struct.address) == 0


def test_check_reads_only_the_version_of_another_major() -> None:
    struct = managed([2], version=(9, 0))
    struct.dl_tensor = raw.DLTensor(data=1, ndim=2**31 - 1)
    report, errors, _ = raw.dlx_dlpack_check(struct, raw.DLX_MANAGED_VERSIONED)
    assert errors == 1
    assert "version" in report
    assert len(report.splitlines()) == 1


def test_check_cuts_its_report() -> None:
    struct = managed([2], dtype=(99, 0, 0), device=(99, 0))
    whole, errors, warnings = raw.dlx_dlpack_check(struct, raw.DLX_MANAGED_VERSIONED)
    for capacity in (0, 1, 2, 10):
        cut = raw.dlx_dlpack_check(struct, raw.DLX_MANAGED_VERSIONED, capacity=capacity)
        assert cut == (whole[: max(capacity - 1, 0)], errors, warnings)


def test_check_refuses_what_it_cannot_check() -> None:
    with refused(INVALID, "dlx_dlpack_check", "`managed`"):
        raw.dlx_dlpack_check(None, raw.DLX_MANAGED_VERSIONED)
    with refused(INVALID, "dlx_dlpack_check", "`kind`"):
        raw.dlx_dlpack_check(managed(), 5)


@pytest.mark.parametrize("keywords", [{}, {"max_version": (1, 3)}], ids=["legacy", "versioned"])
def test_check_takes_a_capsule_and_leaves_it(keywords: dict[str, Any]) -> None:
    capsule = dlx.asarray([1.0, 2.0]).__dlpack__(**keywords)
    for _ in range(2):
        report, errors, warnings = raw.dlx_dlpack_check(capsule)
        assert (errors, warnings) == (0, 0 if keywords else 1), report
    assert dlx.from_dlpack(_Holder(capsule)).tolist() == [1, 2]
    with pytest.raises(
        ValueError, match=r"got 'used_dltensor.*', so it was consumed\): x.__dlpack__"
    ):
        raw.dlx_dlpack_check(capsule)


@pytest.mark.parametrize("keywords", [{}, {"max_version": (1, 3)}], ids=["legacy", "versioned"])
def test_a_capsule_without_another_reference_lives_until_the_end(keywords: dict[str, Any]) -> None:
    for _ in range(100):
        _, errors, _ = raw.dlx_dlpack_check(dlx.asarray([1.0, 2.0]).__dlpack__(**keywords))
        assert errors == 0


class _Holder:
    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, **keywords: Any) -> object:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU


def test_check_knows_the_kind_of_a_struct() -> None:
    for legacy in (False, True):
        _, errors, _ = raw.dlx_dlpack_check(managed([2, 3], strides=[3, 1], legacy=legacy))
        assert errors == 0
    for other in (5, None, "text"):
        with pytest.raises(TypeError, match=r"`managed` must be a capsule, .* for an address: "):
            raw.dlx_dlpack_check(other)
    # Nobody has consumed it.
    with pytest.raises(ValueError, match=r"\(got '(datetime[^']*)?'\): x.__dlpack__"):
        raw.dlx_dlpack_check(datetime.datetime_CAPI)
    legacy = managed([2, 3], strides=[3, 1], legacy=True)
    assert raw.dlx_dlpack_check(legacy.address, raw.DLX_MANAGED_LEGACY)[1] == 0
