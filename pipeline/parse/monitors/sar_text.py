r"""sysstat sar, text: ``sar -A 1 > FILE``, ``sar -f FILE -u -d -n DEV …``, with any of its options.

Grammar
    ``Linux RELEASE (HOST) \tDATE \t_ARCH_\t(N CPU)``, then tables: ``STAMP  COLUMN …`` and the rows below, each with a
    stamp. The header's stamp is that of the sample before. Live, all tables of a sample follow one another; from a
    file, each activity goes from the file's beginning to its end (or to the next restart) before the next one begins.
    Each ends with ``Average:`` rows (of file systems ``Summary:``, their last values). ``STAMP  LINUX RESTART (9 CPU)``
    is a boot, ``STAMP  COM text`` a comment.
Versions
    8 to 12.7: -u and -u ALL, ``rd_sec/s`` or ``rkB/s``, ``avgqu-sz`` or ``aqu-sz``, ``rxbyt/s`` or ``rxkB/s``, ``INTR
    intr/s`` or a column for each processor, -h, --human, --pretty, --dec=0, -x, colours, a comma as decimal sign.
Traps
    * kB is 1024 B, a sector and a block (``rd_sec/s``, ``bread/s``) is 512 B; cells such as ``7.8k`` are bytes.
    * ``%user`` has the time of guests in it, ``%usr`` has not; ``%system`` has interrupts in it, ``%sys`` has not.
    * With --pretty the name is the last cell and may hold spaces.
    * No date behind midnight: a fall of more than twelve hours, or any behind a restart, is the next day.
    * ``sar 0`` is the mean since boot: its header has the same stamp.
    * An await of 0.00 where there was no request is no latency: null.
Sample
    tests/parse/sar_text/all_activities_live/
Gives
    cpu_usage (as mpstat_text; of ``%user``, which has the guests in it, guest_ratio is null), device_series and, with
    the label device, transfers_per_s, await_s, request_size_bytes …; all else in metric_series, named by activity and
    column: memory_memused_bytes, net_rx_bytes_per_s {"iface": "eth0"}, queue_ldavg_1, interrupt_per_s {"interrupt":
    "24", "cpu": "all"}. Averages are the rows without time_s, once a boot: leave them out when you sum. Extremes of -x
    are metrics with the label statistic. time_s counts from the first header's stamp.
"""

from __future__ import annotations

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._sysstat_clock import read_stamp
from pipeline.parse.monitors._sysstat_lines import header_of
from pipeline.parse.monitors._sysstat_text import BANNER, RESTART, runs_of
from pipeline.parse.monitors.mpstat_text import is_mpstat

EXPECTED = "sar's header, such as `CPU  %user  %nice  %system …`, behind a time stamp"
FORM = "text, live or from a file"
VERSIONS = "sysstat 8 – 12.7"
NOT_READ = ""
UNSEEN_CUTS = "from a file, between two activities; live, between two averages at the very end"


def recognise(head: str) -> bool:
    """Whether a line is one of sar's headers, or a restart below sysstat's first line."""
    lines = [line for line in head.split("\n") if len(line) > 11]
    if any(_is_sar(line) for line in lines):
        return True
    return any(BANNER.match(line) for line in lines[:1]) and any(_is_restart(line) for line in lines[1:])


def _is_sar(line: str) -> bool:
    header = header_of(line)
    return bool(header) and not is_mpstat(header)


def _is_restart(line: str) -> bool:
    stamp = read_stamp(line)
    return stamp is not None and RESTART.match(line[len(stamp.text) :]) is not None


def parse(source: Source) -> list[Report]:
    """Return a report for each run of sar in the file; ParseError when there is no row."""
    runs = runs_of("sar", source)
    if not any(run.n_rows for run in runs):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return [run.report for run in runs]
