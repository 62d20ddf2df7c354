"""iperf3's rates as lkp-tests reads them (published samples with their results)."""

import pytest
import yaml

import pipeline


def test_lkp_reads_the_same(samples):
    folder = samples.parent / "published" / "iperf" / "mixed"
    if not folder.is_dir():
        pytest.skip("published samples absent")
    n = 0
    for path in sorted(folder.glob("lkp__iperf__*[0-9]")):
        expected = yaml.safe_load(path.with_name(path.name + ".yaml").read_text("utf-8"))
        streams = pipeline.read(path).network_streams
        whole = streams[streams["time_s"].isna() & (streams["stream"] == "SUM")]
        sent, received = (whole[whole["role"] == role] for role in ("sender", "receiver"))
        rows = {"tcp.sender.bps": sent, "tcp.receiver.bps": received, "udp.bps": whole[whole["role"].isna()]}
        for key, value in expected.items():
            assert rows[key]["bytes_per_s"].mean() * 8 == pytest.approx(value, rel=1e-12), path.name
            n += 1
    assert n >= 3
