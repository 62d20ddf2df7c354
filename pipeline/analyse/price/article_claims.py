"""What the five articles compute from their own figures: each result, and the figures it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pipeline.analyse.act.rating import ACT_OPS_PER_S
from pipeline.analyse.price.claims import Claim, Kind, Ref

METAL, I3EN, NUTANIX, I4I, Z3 = (
    "2018-06-scylla-i3-metal", "2019-05-scylla-i3en", "2022-05-nutanix-insert", "2022-06-aerospike-i4i",
    "2024-03-scylla-z3",
)  # fmt: skip
_BITS_A_BYTE = 8.0
_I3_TB, _I3EN_TB = 8 * 1900 / 1000, 60.0  # table 1 of the Aerospike article; the text of the one of 2019
_CORES = {"i3.16xlarge": 32.0, "i3.metal": 36.0, "i3en.24xlarge": 48.0}  # four fewer than i3.metal; texts
_TB = 1e12
_ECONOMICS = "Table 1: economics of the largest instances, 1-year reservations, us-east"
_RESOURCES, _COMPARED = "Text: resources", "Text: resources of i3en.24xlarge against i3.metal"
_BANDWIDTH, _RATE = "Table 3: fio, bandwidth", "Table 3: fio, rate"
_STORAGE = "Text: advertised and compared storage of i3en.24xlarge"
_INGESTED = "Text: ingested data"


def _stated(exhibit: str, row: str) -> Ref:
    return Ref(exhibit, row, "stated")


def _by_row(title: str, campaign: str, exhibit: str, rows: Iterable[str], columns: tuple[str, str, str]) -> list[Claim]:
    """Change of the first column against the second, as the third states, for each row."""
    of, against, claim = columns
    return [
        Claim(f"{title}, {row}", campaign, (Ref(exhibit, row, of),), (Ref(exhibit, row, against),),
              Ref(exhibit, row, claim), "change")
        for row in rows
    ]  # fmt: skip


def _explained(
    name: str, of: tuple[Ref | float, ...], against: tuple[Ref | float, ...], claim: Ref, kind: Kind = "ratio"
) -> Claim:
    """Another reading of the claim before it."""
    campaign = claim.campaign or I3EN
    return Claim(f"explanation: {name}", campaign, of, against, claim, kind, is_explanation=True)


def _metal() -> list[Claim]:
    latency = "Table 3: read latency seen by one client, 250,000 reads/s"
    columns = ("i3.metal", "i3.16xlarge", "Diff")
    return [
        Claim("more CPU cores", METAL, (Ref(_RESOURCES, "cores", "i3.metal", I3EN),), (_CORES["i3.16xlarge"],),
              _stated("Text: resources that i3.metal has more than i3.16xlarge", "CPU cores"), "change",
              "36 cores (article of 2019) against 36 less the four that the hypervisor takes"),
        *_by_row("Table 2", METAL, "Table 2: Storage I/O (iotune), bandwidth",
                 ("Sequential 1MB Writes", "Sequential 1MB Reads"), columns),
        *_by_row("Table 2", METAL, "Table 2: Storage I/O (iotune), rate", ("Random 4kB Writes", "Random 4kB Reads"),
                 columns),
        *_by_row("Figure 1", METAL, "Figure 1: write throughput, 512-byte values, 3-node clusters",
                 ("peak", "average"), ("i3.metal", "i3.16xlarge", "higher")),
        *[
            Claim(f"Table 3, {column}", METAL, (Ref(latency, "i3.16xlarge", column),),
                  (Ref(latency, "i3.metal", column),), Ref(latency, "better by", column))
            for column in ("average latency", "95th latency", "99th latency", "99.9th latency")
        ],
    ]  # fmt: skip


def _economics() -> list[Claim]:
    found = []
    for name, cores in _CORES.items():
        terabytes = _I3EN_TB if name == "i3en.24xlarge" else _I3_TB
        per_core, size = Ref(_ECONOMICS, name, "price per core"), Ref(_ECONOMICS, name, "storage size per core")
        found += [
            Claim(f"Table 1, price per TB of {name}", I3EN, (per_core, _TB), (size,),
                  Ref(_ECONOMICS, name, "price per TB of data"), note="price per core / storage size per core"),
            Claim(f"Table 1, storage per core of {name}", I3EN, (terabytes * _TB,), (cores,),
                  size, note=f"{terabytes:g} TB / {cores:g} cores"),
        ]  # fmt: skip
    virtual, metal = (Ref(_ECONOMICS, name, "price per core") for name in ("i3.16xlarge", "i3.metal"))
    return [
        *found,
        _explained("price per TB of i3.metal, were it 15 TB", (metal, _CORES["i3.metal"]), (15.0,),
                   Ref(_ECONOMICS, "i3.metal", "price per TB of data")),
        Claim("Table 1, price of i3.16xlarge over that of i3.metal", I3EN, (virtual, _CORES["i3.16xlarge"]),
              (metal, _CORES["i3.metal"]), 1.0, note="the article of 2018 says that both cost the same"),
    ]  # fmt: skip


def _i3en() -> list[Claim]:
    cores, cache = (_stated(_COMPARED, row) for row in ("cores more", "L3 cache less"))
    storage = _stated(_COMPARED, "storage more")
    new_cores, new_cache = (Ref(_RESOURCES, row, "i3en.24xlarge") for row in ("cores", "L3 cache"))
    old_cores, old_cache = (Ref(_RESOURCES, row, "i3.metal") for row in ("cores", "L3 cache"))
    stress = ("cache", "cpu", "dentry", "icache", "matrix", "memcpy", "qsort", "timer", "tsc")
    write, read = "1MB sequential write", "4kB random read"
    data_set = _stated(_INGESTED, "data set")
    return [
        *_economics(),
        Claim("more cores than i3.metal", I3EN, (new_cores,), (old_cores,), cores, "change"),
        _explained("more cores than i3.16xlarge", (new_cores,), (_CORES["i3.16xlarge"],), cores, "change"),
        Claim("more storage than i3", I3EN, (_I3EN_TB,), (_I3_TB,), storage, "change", "60 TB against 8 × 1.9 TB"),
        _explained("storage as a share of that of i3", (_I3EN_TB,), (_I3_TB,), storage),
        Claim("L3 cache less", I3EN, (new_cache,), (old_cache,), cache, "decrease"),
        _explained("how much more the larger L3 cache has", (old_cache,), (new_cache,), cache, "change"),
        *_by_row("Table 2, stress-ng", I3EN, "Table 2: stress-ng, operations a second", stress,
                 ("i3en.24xlarge", "i3.16xlarge", "difference")),
        *_network(),
        Claim("write bandwidth higher than I3", I3EN, (Ref(_BANDWIDTH, write, "i3en.24xlarge"),),
              (Ref(_BANDWIDTH, write, "i3.metal"),), _stated(_STORAGE, "write bandwidth higher than I3"), "change"),
        Claim("random reads faster than i3.16xlarge", I3EN, (Ref(_RATE, read, "i3en.24xlarge"),),
              (Ref(_RATE, read, "i3.16xlarge"),), _stated(_STORAGE, "random reads faster than i3.16xlarge"), "change"),
        Claim("data set: tables × keys × value size", I3EN, (5.0, _stated(_INGESTED, "keys a table"), 1000.0), (),
              data_set, note="5 tables of 1,000-byte values"),
        _explained("9 billion keys a table", (5.0, 9e9, 1000.0), (), data_set),
    ]  # fmt: skip


def _network() -> list[Claim]:
    tcp = "Figure 1: iperf, TCP, 96 streams, two i3en.24xlarge"
    udp = "Figure 2: iperf, UDP, 16-byte datagrams, offloads off"
    lost, sent = _stated(udp, "datagrams lost"), _stated(udp, "datagrams sent")
    return [
        *[
            Claim(f"iperf {name}: bytes over time", I3EN, (_stated(exhibit, "transferred"), _BITS_A_BYTE),
                  (_stated(exhibit, "duration"),), _stated(exhibit, "rate"), note="iperf 2's bytes are binary")
            for name, exhibit in (("TCP", tcp), ("UDP", udp))
        ],
        Claim("iperf UDP: share lost", I3EN, (lost,), (sent,), _stated(udp, "lost")),
        Claim("iperf UDP: datagrams sent a second", I3EN, (sent,), (_stated(udp, "duration"),),
              _stated(udp, "packets sent")),
    ]  # fmt: skip


def _aerospike() -> list[Claim]:
    act, cluster = "Table 2: ACT Results", "Table 5: HMA Cluster IOPS"
    linear = "Table 3: Linearity Test Parameters & Results"
    rate, machines = "IOPS/sec (x-rating)", ("I4i.32xl", "I3en.24xl")
    columns = [f"{size}-byte Records, {mix}" for size in (512, 1536) for mix in ("Read-Only", "50-50 read/write")]
    return [
        *[
            Claim(f"Table 2, x-rating of {name}", I4I, (Ref(act, rate, name),), (float(ACT_OPS_PER_S),),
                  Ref(act, "x-rating", name), note="of one SSD")
            for name in machines
        ],
        *_by_row("Table 2, improvement", I4I, act, (rate,), (*machines, "Improvement")),
        *[
            Claim(f"Table 3, x-rating of {column}", I4I, (Ref(linear, "IOPS/sec (X-rating)", column),),
                  (float(ACT_OPS_PER_S), Ref(linear, "number of SSDs", column)), Ref(linear, "X-rating", column))
            for column in ("Single SSD", "2 SSDs", "4 SSDs")
        ],
        *[
            Claim(f"Table 5, {nodes}, {column}", I4I, (Ref(cluster, f"{machines[0]}, {nodes}", column),),
                  (Ref(cluster, f"{machines[1]}, {nodes}", column),),
                  Ref(cluster, f"Improvement, {nodes}", column), "change")
            for nodes in ("1 node", "3 nodes") for column in columns
        ],
    ]  # fmt: skip


def _z3() -> list[Claim]:
    per, cluster, text = "Table 1: throughput a vCPU", "Table 2: throughput of 3-node clusters", "Text: instances"
    rows = ("Write only", "Read Only (Entirely from Cache)", "Mixed (50/50 Read /Writes)")
    machines = {"z3-highmem-88": "4th Gen Intel Xeon", "n2-highmem-96": "3rd Gen Intel Xeon"}
    return [
        *[
            Claim(f"Table 1 from table 2, {name}, {row}", Z3, (Ref(cluster, row, name),),
                  (Ref(text, "cluster nodes", name), Ref(text, "vCPU", name)), Ref(per, row, generation))
            for name, generation in machines.items() for row in rows
        ],
        *_by_row("Table 1", Z3, per, rows, ("4th Gen Intel Xeon", "3rd Gen Intel Xeon", "diff")),
        *_by_row("Table 2", Z3, cluster, rows, ("z3-highmem-88", "n2-highmem-96", "diff")),
        Claim("reads a shard", Z3, (Ref(cluster, rows[1], "z3-highmem-88"),), (3.0, 80.0),
              _stated("Figure: requests served a shard (Z3)", rows[1]), note="3 nodes; 8 of 88 vCPUs are reserved"),
    ]  # fmt: skip


def _nutanix() -> list[Claim]:
    loop = "Result of the insert loop"
    elapsed, inserts, rate = (_stated(loop, row) for row in ("elapsed time", "inserts", "insert rate"))
    return [
        Claim("time of an insert", NUTANIX, (elapsed,), (inserts,),
              _stated(loop, "insert latency (elapsed / inserts)")),
        Claim("inserts a second", NUTANIX, (inserts,), (elapsed,), rate),
        _explained("1 over the rounded latency", (1.0,), (385e-6,), replace(rate, campaign=NUTANIX)),
    ]  # fmt: skip


ARTICLES = (METAL, I3EN, NUTANIX, I4I, Z3)
ARTICLE_CLAIMS: tuple[Claim, ...] = (*_metal(), *_i3en(), *_nutanix(), *_aerospike(), *_z3())
