"""sysbench: its histogram's bins."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pipeline.parse.workloads._sysbench_lines import FIRST_MS, LAST_MS, N_BINS, bin_edges

STEP = math.log(LAST_MS / FIRST_MS) / (N_BINS - 1)
CENTRES = [f"{FIRST_MS * math.exp(i * STEP):.3f}" for i in range(N_BINS)]


def test_bins_cover_the_scale_without_gaps():
    edges = [bin_edges(text) for text in dict.fromkeys(CENTRES)]
    assert edges[0][0] == 0
    assert edges[-1][1] is None
    for (_, upper), (lower, _) in pairwise(edges):
        assert math.isclose(upper, lower)


@given(st.floats(FIRST_MS, LAST_MS))
def test_a_latency_lies_in_the_bin_where_sysbench_counts_it(latency_ms):
    centre = CENTRES[math.floor(math.log(latency_ms / FIRST_MS) / STEP + 0.5)]
    lower, upper = bin_edges(centre)
    assert lower * (1 - 1e-9) <= latency_ms / 1000
    assert upper is None or latency_ms / 1000 <= upper * (1 + 1e-9)


def test_other_values_have_no_bin():
    assert bin_edges("0.000") is None
    assert bin_edges("100000.001") is None
