"""Windows added up piece by piece, in tables: bit for bit what sorting all rows at once gives."""

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analyse.distributions import _cell_table, over_time
from pipeline.analyse.distributions._cells import cells
from pipeline.analyse.distributions.over_time import merge_jobs, merge_series
from pipeline.errors import AnalysisError

COLUMNS = ["op", "phase", "interval_end_s", "lower_s", "upper_s", "count"]


def sorted_at_once(rows, number, window_s):
    """The plain way: every row a cell of op, phase and window, and all of them sorted."""
    window, windows = pd.factorize(np.maximum(number, 1), sort=True)
    (op, ops), (phase, phases) = (pd.factorize(rows[name]) for name in ("op", "phase"))
    n_phases, n_windows = max(len(phases), 1), max(len(windows), 1)
    upper = rows["upper_s"].to_numpy(float, na_value=np.nan)
    found = cells((op.astype(np.int64) * n_phases + phase) * n_windows + window, rows["lower_s"].to_numpy(float),
                  np.where(np.isnan(upper), np.inf, upper), rows["count"])  # fmt: skip
    pair, number_of = np.divmod(found.group, n_windows)
    return pd.DataFrame({
        "op": np.asarray(ops, object)[pair // n_phases], "phase": np.asarray(phases, object)[pair % n_phases],
        "time_s": np.asarray(windows, float)[number_of] * window_s, "window_s": window_s, "lower_s": found.lower,
        "upper_s": np.where(np.isfinite(found.upper), found.upper, np.nan), "count": found.count,
    })  # fmt: skip


def assert_same(rows, window_s=1.0):
    """Of a whole frame, and of batches."""
    expected = sorted_at_once(rows, np.rint(rows["interval_end_s"].to_numpy(float) / window_s), window_s)
    batches = (rows.iloc[start : start + 1000] for start in range(0, len(rows), 1000))
    for found in (merge_jobs(rows, window_s), merge_jobs(batches, window_s)):
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
        assert not np.signbit(found["lower_s"]).any()


@pytest.fixture
def tables(monkeypatch):
    """Which pieces went into a table, and which had to be sorted."""
    found = {True: 0, False: 0}
    takes = _cell_table.CellTable._takes

    def counted(self, *columns):
        is_taken = takes(self, *columns)
        found[is_taken] += 1
        return is_taken

    monkeypatch.setattr(_cell_table.CellTable, "_takes", counted)
    monkeypatch.setattr(_cell_table, "_FEW", 100)
    monkeypatch.setattr(over_time, "_ROWS_A_PIECE", 3000)
    return found


def log(n_rows=20_000, n_bins=40, n_windows=50, seed=7):
    """Rows of a histogram log with bins of doubling width, the last one open above."""
    rng = np.random.default_rng(seed)
    edges = np.concatenate([[0.0], 1e-6 * 2.0 ** (np.arange(n_bins) / 3)])
    code = rng.integers(0, n_bins, n_rows)
    return pd.DataFrame({
        "op": rng.choice(["write", "read"], n_rows), "phase": "completion",
        "interval_end_s": np.sort(rng.integers(0, n_windows, n_rows)) + rng.normal(0, 0.01, n_rows),
        "lower_s": edges[code], "upper_s": np.where(code == n_bins - 1, np.nan, edges[code + 1]),
        "count": rng.integers(0, 9, n_rows),
    })  # fmt: skip


# Windows and bins come in any order, some lower edges have several upper ones, some bins no width.
@given(st.lists(st.tuples(st.sampled_from(["read", "write", None]), st.sampled_from(["total", "completion", "total"]),
                          st.sampled_from([0.0, 1.0, 1.2, 7.0, 30.0, 1e9, 1e200]),
                          st.sampled_from([-0.0, 0.0, 1.0, 2.0]), st.sampled_from([0.0, 1.0, 1.0, 1.0, 2.0, None]),
                          st.integers(0, 9)), min_size=1, max_size=60),
       st.integers(1, 20), st.sampled_from([0.1, 1.0, 2.0]), st.sampled_from([1, 4, 10_000]))  # fmt: skip
@settings(deadline=None, max_examples=300)
def test_any_rows_in_any_pieces(rows, n_a_piece, window_s, n_cells):
    known = "read", "total", 1.0, 1.0, 1.0, 1  # the labels of all rows must not be null
    frame = pd.DataFrame([*rows, known], columns=COLUMNS)
    frame["upper_s"] = frame["lower_s"] + frame["upper_s"].astype(float)
    with patch.multiple(_cell_table, _FEW=1, _CELLS_A_ROW=n_cells), patch.object(over_time, "_ROWS_A_PIECE", n_a_piece):
        assert_same(frame, window_s)


def test_a_log_is_added_in_a_table(tables):
    rows = log()
    assert_same(rows)
    assert_same(rows.astype({"op": "category", "phase": "category", "count": "Int64"}))
    assert_same(rows.iloc[::-1])  # windows and bins that come before the first ones
    assert tables[False] == 0


def test_the_few_rows_of_a_last_piece_need_no_sorting(tables):
    assert_same(log(3001))
    assert tables[False] == 0


def test_windows_and_bins_that_come_one_by_one(tables):
    rows = log(n_windows=900).sort_values("lower_s", kind="stable", ignore_index=True)
    assert_same(rows.assign(interval_end_s=rows.index // 50 + 1.0, op="read"))
    assert_same(rows.assign(interval_end_s=500.0 - rows.index // 50, op="read"))
    assert tables[False] == 0


def test_in_pieces_as_they_are():
    assert_same(pd.concat([log(seed=seed) for seed in range(8)], ignore_index=True))


def test_labels_that_are_null_or_come_late(tables):
    rows = log().assign(op=lambda rows: rows["op"].where(rows.index % 5 > 0))
    assert_same(rows)
    assert_same(rows.astype({"op": "category"}))
    assert_same(rows.assign(phase=np.where(rows.index < 15_000, None, np.where(rows.index < 18_000, "b", "a"))))
    assert tables[False] == 0


@pytest.mark.parametrize("what", ["layouts", "no width", "gaps", "many bins", "far"])
def test_what_has_no_place_in_a_table_is_sorted(tables, what):
    rows = log()
    late = rows.index >= 9000  # what came before it is in the table
    if what == "layouts":
        rows.loc[late, "upper_s"] *= 2
    elif what == "no width":
        rows.loc[late, "upper_s"] = rows["lower_s"]
    elif what == "gaps":
        rows.loc[late, "interval_end_s"] *= 1e6
    elif what == "many bins":
        rows.loc[late, ["lower_s", "upper_s"]] += np.arange(late.sum())[:, None]
    else:
        rows.loc[late, "interval_end_s"] = 1e300
    assert_same(rows)
    assert tables[True]
    assert tables[False]


@pytest.mark.parametrize("column, value", [("count", -1), ("lower_s", -1.0), ("upper_s", -2.0), ("lower_s", np.nan)])
@pytest.mark.usefixtures("tables")
def test_what_cannot_be_is_told_of_all_pieces(column, value):
    rows = log().assign(op="read")
    rows.loc[[5000, 15_000], column] = value
    with pytest.raises(AnalysisError) as expected:
        sorted_at_once(rows, np.rint(rows["interval_end_s"].to_numpy()), 1.0)
    with pytest.raises(AnalysisError) as found:
        merge_jobs(rows)
    assert str(found.value) == str(expected.value)
    assert "(2 such bins)" in str(found.value)


@pytest.mark.usefixtures("tables")
def test_counts_stay_whole():
    rows = log(5000, n_windows=3).assign(count=2**53 + 1)
    with pytest.raises(AnalysisError, match="-9223372036854775808"):
        merge_jobs(rows.astype({"count": "Int64"}).assign(count=lambda rows: rows["count"].where(rows.index > 0)))
    found = merge_jobs(rows.assign(count=rows["count"].astype("Int64")))
    assert (found["count"] % (2**53 + 1) == 0).all()


def test_operations_are_sorted(tables):
    rng = np.random.default_rng(3)
    series = pd.DataFrame({"op": "read", "phase": "total", "time_s": rng.random(5000) * 9,
                           "window_s": np.nan, "latency_s": rng.integers(1, 99, 5000) / 1e6})  # fmt: skip
    rows = series.assign(lower_s=series["latency_s"], upper_s=series["latency_s"], count=1)
    expected = sorted_at_once(rows, np.ceil(series["time_s"].to_numpy()), 1.0)
    pd.testing.assert_frame_equal(merge_series(series), expected, check_exact=True)
    assert tables[True] == 0


def test_nothing():
    empty = log(0)
    assert_same(empty)
    assert_same(log(9).assign(count=0))
    pd.testing.assert_frame_equal(merge_jobs([]), merge_jobs(empty))
    pd.testing.assert_frame_equal(merge_jobs([empty, log(), empty]), merge_jobs(log()))
