"""stress-ng's operations and miscellaneous metrics as lkp-tests reads them (published samples with their results)."""

import json
import re

import pytest
import yaml

import pipeline


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
            found[f"{row.stressor}.ops"] = row.n_bogo_ops
            found[f"{row.stressor}.ops_per_sec"] = row.bogo_ops_per_real_s
        for row in tables.metric_series.dropna(subset=["labels"]).itertuples():
            words = re.sub(r"[() ]+", "_", row.metric).strip("_")
            found[f"{json.loads(row.labels)['stressor']}.{words}"] = row.value
        assert {key: found.get(key) for key in figures} == figures, path.name
        n += len(figures)
    assert n > 80
