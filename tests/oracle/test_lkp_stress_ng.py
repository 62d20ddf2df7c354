"""stress-ng's operations and miscellaneous metrics as lkp-tests reads them (published samples with their results)."""

import json
import re

import pytest
import yaml

import pipeline


def as_ours(key):
    """lkp keeps the tool's letters and signs in names, we write snake_case."""
    return re.sub(r"[^a-z0-9.]+", "_", key.lower()).strip("_")


def test_lkp_reads_the_same(samples):
    folder = samples.parent / "published" / "stress-ng" / "text"
    if not folder.is_dir():
        pytest.skip("published samples absent")
    n = 0
    for path in sorted(folder.glob("lkp__*[0-9]")):
        expected = yaml.safe_load(path.with_name(path.name + ".yaml").read_text("utf-8"))
        figures = {key: value for key, value in expected.items() if not key.endswith((".pass", ".fail"))}
        if not figures:
            continue
        tables = pipeline.read(path)
        found = {}
        for row in tables.stressors.itertuples():
            found[as_ours(f"{row.stressor}.ops")] = row.n_bogo_ops
            found[as_ours(f"{row.stressor}.ops_per_sec")] = row.bogo_ops_per_real_s
        for row in tables.metric_series.dropna(subset=["labels"]).itertuples():
            found[as_ours(f"{json.loads(row.labels)['stressor']}.{row.metric}")] = row.value
        assert {key: found.get(as_ours(key)) for key in figures} == figures, path.name
        n += len(figures)
    assert n > 80
