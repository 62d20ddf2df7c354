"""stress-ng: the text and the YAML of one run say the same; durations as it prints them."""

import re
from pathlib import Path

import pytest

import pipeline
from pipeline.parse.workloads._stress_ng_run import duration

HERE = Path(__file__).parent


@pytest.mark.parametrize(("text_case", "yaml_case"), [("metrics_brief", "brief"), ("perf_and_times", "perf_and_times")])
def test_text_and_yaml_agree(text_case, yaml_case):
    text = pipeline.read(HERE / "stress_ng_text" / text_case / "stress-ng.txt")
    full = pipeline.read(HERE / "stress_ng_yaml" / yaml_case / "stress-ng.yaml")
    columns = ["n_bogo_ops", "real_s", "user_s", "system_s", "bogo_ops_per_real_s", "bogo_ops_per_cpu_s"]
    left, right = (tables.stressors.set_index("stressor")[columns].astype(float) for tables in (text, full))
    assert left.index.equals(right.index)
    assert ((left - right).abs() <= 0.00501).all().all()
    names = {re.sub(r"[^a-z0-9]", "", row.metric): row.value for row in full.metric_series.itertuples()}
    found = [row for row in text.metric_series.itertuples() if re.sub(r"[^a-z0-9]", "", row.metric) in names]
    assert len(found) > 20
    if text_case == "perf_and_times":
        events = {row.event.replace("_", " ") + row.task: row.value for row in full.perf_counters.itertuples()}
        assert {row.event.lower() + row.task: row.value for row in text.perf_counters.itertuples()} == events


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5.06s", 5.06), ("247.66s (4 mins, 7.66 secs)", 247.66), ("1 min, 0.02 secs", 60.02),
     ("2 hours, 1 min, 3.50 secs", 7263.5), ("1 day, 0.00 secs", 86400.0), ("10 second", 10.0),
     ("86400 second (1 day, 0.00 secs)", 86400.0), ("soon", None)],
)  # fmt: skip
def test_durations(text, seconds):
    assert duration(text) == seconds
