"""Histograms of interval logs against the hdrhistogram package, which reads V2, and HdrHistogram's own tests."""

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

import pipeline
from pipeline.parse.histograms._hdr_payload import decode

# Intervals, values and the last printed maximum in s, as HistogramLogReaderWriterTest.java has them.
TOTALS = {
    "hdr__jHiccup-2.0.1.logV0.hlog": (81, 61256, 1.569),
    "js__jHiccup-2.0.7S.logV2.hlog": (62, 48761, 1.804),
    "js__jHiccup-no-header-2.0.7S.logV2.hlog": (62, 48761, 1.804),
    "hdr__ycsb.logV1.hlog": (602, 300056, 1.546),
}


@pytest.mark.parametrize("name", TOTALS)
def test_totals(samples, name):
    tables = pipeline.read(samples.parent / "published" / "hdrhistogram" / "hlog" / name)
    n_intervals, n_values, largest_s = TOTALS[name]
    assert len(tables.latency_summary) == n_intervals
    assert tables.latency_bins["count"].sum() == tables.latency_summary["n_ops"].sum() == n_values
    assert tables.latency_summary["max_s"].max() == pytest.approx(largest_s, abs=0.001)
    assert tables.latency_bins["lower_s"].max() - 0.001 <= largest_s <= tables.latency_bins["upper_s"].max() + 0.001


def test_counts_and_edges_are_those_of_the_package(samples):
    n_compared = 0
    for path in sorted((samples.parent / "published" / "hdrhistogram" / "hlog").glob("*V[23].hlog")):
        for line in path.read_text("ascii").splitlines():
            if "HISTF" not in line:
                continue
            text = line[line.index("HISTF") :]
            other = HdrHistogram.decode(text)
            # The iterator gives one object again and again.
            rows = [
                (item.count_added_in_this_iter_step, item.value_iterated_to) for item in other.get_recorded_iterator()
            ]
            found = decode(text)
            np.testing.assert_array_equal(found.counts, [count for count, _ in rows])
            np.testing.assert_array_equal(found.upper - 1, [value for _, value in rows])
            lower = [other.get_lowest_equivalent_value(value) for _, value in rows]
            np.testing.assert_array_equal(found.lower, lower)
            n_compared += 1
    assert n_compared > 100
