"""dlx, judged: the only tests of the referee that run under AddressSanitizer too.

They name what is judged, so that a process without threads is forked: the sanitizer's own locks do not
survive a fork beside a thread that frees memory.
"""

from __future__ import annotations

import gc

import pytest

import dlx.testing
from referee_columns import check_column


def test_dlx_breaks_nothing_and_its_column_is_in_the_table():
    report = check_column("dlx")
    assert (report.failures, report.warnings) == ([], []), report


def test_the_table_of_dlx():
    report = dlx.testing.check("dlx:Tensor")
    assert report.ok, report
    assert not report.warnings, report
    assert report.counts()["pass"] >= 12


def test_producers_for_tests_of_ones_own():
    found = dlx.testing.producers()
    names = [producer.name for producer in found]
    assert len(set(names)) == len(names) > 40
    assert {True, False} == {producer.legal for producer in found}
    for producer in found:
        if producer.legal:
            result = dlx.asarray(producer)
            assert result.shape == producer.shape
            del result
        else:
            with pytest.raises((ValueError, BufferError), match=r".+"):
                dlx.asarray(producer)
        gc.collect()
        for export in producer.exports:
            assert export.deleted == (1 if export.taken else 0) or producer.null_deleter, producer
