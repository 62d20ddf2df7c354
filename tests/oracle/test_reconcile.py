"""The reconciliation gate over real reports of fio and DISKSPD: its reds are known, each with its reason."""

import warnings

import pytest

import pipeline
from pipeline.analyse.reconciliation.gate import reconcile
from pipeline.errors import PipelineError

LARGEST = 150_000  # bytes: reports are smaller; what is larger are logs, which test_every_sample.py reads
KNOWN = {
    ("ours/fio/17_trim_unsupported_json/stdout.txt", "bytes"): "the trim failed: counted, and nothing moved",
    ("published/fio/json/fio-3.13__microsoft+VirtualClient__TestFioJson.txt", "latency-parts"): "figures made up",
    ("published/fio/json/fio-3.13__microsoft+VirtualClient__TestFioJson.txt", "littles-law"): "figures made up",
    ("published/diskspd/text/virtualclient_DiskSpdExample-WriteOnly-v2.2.0-MultiSocketSingleGroup.txt",
     "quantile-order"): "an edited report: its p25 is above its p50",
}  # fmt: skip


def reds_below(folder, root):
    found = set()
    for path in sorted(
        path for path in folder.rglob("*.[jtx]*") if path.is_file() and 0 < path.stat().st_size < LARGEST
    ):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tables = pipeline.read(path)
        except PipelineError:
            continue
        found |= {(str(path.relative_to(root)), check) for check in reconcile(tables).reds()["check"]}
    return found


@pytest.mark.parametrize("folder", ["ours/fio", "ours/diskspd", "published/diskspd"])
def test_reds_are_known(samples, folder):
    root = samples.parent
    expected = {key for key in KNOWN if key[0].startswith(folder)}
    assert reds_below(root / folder, root) == expected


@pytest.mark.parametrize(
    ("name", "check", "cause"),
    [
        ("fio-3.28__whitepau+fio-benchmark-public__qd_time_sweep_workstation.json", "bytes",
         "in flight: the bytes of 128"),
        ("fio-3.28__whitepau+fio-benchmark-public__bs_qd_wr_sweep_20s_workstation.json", "bytes",
         "in flight: the bytes of 256"),
        ("fio-3.26-19-ge7e53__microsoft+VirtualClient__Results_FIO_Write.json", "quantile-order", "quantiles"),
        ("fio-3.13__microsoft+VirtualClient__TestFioJson.txt", "littles-law", "unexplained"),
    ],
)  # fmt: skip
def test_contradictions_of_published_fio_reports(samples, name, check, cause):
    reds = reconcile(pipeline.read(samples.parent / "published/fio/json" / name)).reds()
    assert reds.loc[reds["check"] == check, "cause"].str.startswith(cause).any()
