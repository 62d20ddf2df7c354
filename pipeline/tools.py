"""The registry: one line a tool, naming the modules that read its outputs (``pipeline/parse/<folder>/<reader>.py``).

Modules are loaded when needed. The order of the readers is the order in which their ``recognise`` is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from pipeline.errors import SpecError

if TYPE_CHECKING:
    from pipeline.parse._report import Report
    from pipeline.parse._source import Source


class Reader(Protocol):
    """What each module of ``pipeline/parse`` offers; the texts are what the README's table of formats says of it."""

    EXPECTED: str
    FORM: str
    VERSIONS: str
    NOT_READ: str
    UNSEEN_CUTS: str

    def recognise(self, head: str) -> bool:
        """Whether the first 64 KiB are of this format."""

    def parse(self, source: Source) -> list[Report]:
        """Return the reports of a file."""


@dataclass(frozen=True)
class Tool:
    """A tool: its name, what it is, and its readers, with the folder of ``pipeline/parse`` that they stand in."""

    name: str
    description: str
    folder: str
    readers: tuple[str, ...]


TOOLS = (
    Tool("fio", "flexible I/O tester", "fio", ("fio_json", "fio_text", "fio_terse", "fio_log", "fio_hist_log")),
    Tool("fio_job", "a job file of fio: settings, no results", "fio", ("fio_job",)),
    Tool("diskspd", "Microsoft DISKSPD", "diskspd", ("diskspd_xml", "diskspd_text")),
    Tool("act", "Aerospike Certification Tool", "act", ("act",)),
    Tool("act_prep", "ACT's preparation of a device", "act", ("act_prep",)),
    Tool("act_config", "ACT's configuration file", "act", ("act_config",)),
    Tool("perf_stat", "Linux perf stat", "perf", ("perf_stat_json", "perf_stat_csv", "perf_stat_text")),
    Tool("perf_report", "Linux perf report and perf top", "perf", ("perf_report",)),
    Tool("perf_sched", "Linux perf sched", "perf", ("perf_sched",)),
    Tool("perf_trace", "Linux perf trace", "perf", ("perf_trace",)),
    Tool("perf_bench", "Linux perf bench", "perf", ("perf_bench",)),
    Tool("perf_kvm_stat", "Linux perf kvm stat", "perf", ("perf_kvm_stat",)),
    Tool("iostat", "sysstat iostat", "monitors", ("iostat_json", "iostat_text")),
    Tool("mpstat", "sysstat mpstat", "monitors", ("mpstat_json", "mpstat_text")),
    Tool("sar", "sysstat sar and sadf", "monitors", ("sar_binary", "sadf_json", "sadf_csv", "sadf_text", "sar_text")),
    Tool("vmstat", "procps vmstat", "monitors", ("vmstat",)),
    Tool("perfmon", "Windows performance counters: typeperf, relog, perfmon", "monitors", ("perfmon",)),
    Tool("pgbench", "PostgreSQL pgbench", "postgres", ("pgbench", "pgbench_log")),
    Tool("pg_test_fsync", "PostgreSQL pg_test_fsync", "postgres", ("pg_test_fsync",)),
    Tool("pg_stat_wal", "PostgreSQL's view pg_stat_wal, as psql -x prints it", "postgres", ("pg_stat_wal",)),
    Tool("iotune", "ScyllaDB IOTune", "workloads", ("iotune", "iotune_yaml")),
    Tool(
        "cassandra_stress",
        "Apache Cassandra's and ScyllaDB's cassandra-stress, cql-stress",
        "workloads",
        ("cassandra_stress",),
    ),
    Tool("iperf3", "network throughput between two hosts, iperf 3", "network", ("iperf3_json", "iperf3_text")),
    Tool("perf_script", "Linux perf script, and its stacks folded", "perf", ("perf_script", "perf_folded")),
    Tool("iperf2", "network throughput between two hosts, iperf 2", "network", ("iperf2_text", "iperf2_csv")),
    Tool("scylla_bench", "ScyllaDB scylla-bench", "workloads", ("scylla_bench",)),
    Tool("latte", "latte, a load generator for Cassandra and ScyllaDB", "workloads", ("latte_json", "latte")),
    Tool(
        "stress_ng",
        "stress-ng, which loads a part of the machine at a time",
        "workloads",
        ("stress_ng_text", "stress_ng_yaml"),
    ),
    Tool("ycsb", "Yahoo! Cloud Serving Benchmark", "workloads", ("ycsb",)),
    Tool("sysbench", "sysbench: CPU, memory, threads, files and databases under load", "workloads", ("sysbench",)),
    Tool("asbench", "Aerospike's benchmark client in C", "workloads", ("asbench",)),
    Tool(
        "aerospike_java_benchmark", "Aerospike's benchmark client in Java", "workloads", ("aerospike_java_benchmark",)
    ),
    Tool("hammerdb", "HammerDB (TPROC-C, TPROC-H)", "workloads", ("hammerdb",)),
    Tool("tlp_stress", "tlp-stress and easy-cass-stress", "workloads", ("tlp_stress",)),
    Tool(
        "prometheus", "Prometheus: answers to queries, exposition text", "monitors", ("prometheus", "prometheus_text")
    ),
    Tool("hdrhistogram", "HdrHistogram interval logs and percentile tables", "histograms", ("hdr_log", "hgrm")),
    Tool("environment", "the state of a host before and after a run, as `run` notes it", "host", ("environment",)),
    Tool("published", "figures that a publication states (YAML)", "", ("published",)),
)


_FOLDERS = {reader: tool.folder for tool in TOOLS for reader in tool.readers}


def load_reader(name: str) -> Reader:
    """Import a reader's module."""
    folder = f"{_FOLDERS[name]}." if _FOLDERS[name] else ""
    return cast(Reader, import_module(f"pipeline.parse.{folder}{name}"))


def readers_of(tool: str | None) -> list[str]:
    """Names of the readers of a tool (``fio``), or of one reader (``fio_json``); all when ``tool`` is None."""
    names = [reader for entry in TOOLS for reader in entry.readers if tool in (None, entry.name, reader)]
    if not names:
        raise SpecError(f"--tool: expected one of {', '.join(entry.name for entry in TOOLS)}, found {tool!r}")
    return names


def find_reader(source: Source, tool: str | None = None) -> str | None:
    """Name of the first reader that recognises the source's head; None if there is none.

    An empty file may be a log all the same: then its name decides.
    """
    for name in readers_of(tool):
        reader = load_reader(name)
        by_name = getattr(reader, "recognise_name", None)
        if reader.recognise(source.head) if source.head or by_name is None else by_name(source.path):
            return name
    return None
