r"""sysstat mpstat, text: ``mpstat -P ALL 1 > FILE``, with any of its options.

Grammar
    ``Linux RELEASE (HOST) \tDATE \t_ARCH_\t(N CPU)``, an empty line, then tables: ``STAMP  CPU  %usr …`` and the rows
    below, each with a stamp. The header's stamp is that of the sample before: the window of the first one is known.
    Tables: processors (``CPU``, with -T also ``CORE SOCK NODE``), nodes (``NODE``, -N), interrupts a second
    (``CPU intr/s``, -I SUM), each interrupt (``CPU  24/s  NMI/s …``, -I CPU) and soft interrupts (``HI/s  TIMER/s …``,
    -I SCPU). At the end the same tables with ``Average:`` for the stamp.
Versions
    8 to 12.7: ``%user`` or ``%usr``, with and without ``%irq``, ``%steal``, ``%guest``, ``%gnice``, ``intr/s``.
Traps
    * ``%usr`` and ``%nice`` leave out the time of guests, which is in ``%guest`` and ``%gnice``; iostat's %user has it.
    * ``all`` has no topology: three cells are blank. A processor that is off line has zeros alone, or no row.
    * Stamps may have AM or PM, be localized (``23時07分34秒``) or seconds of the epoch (-U); the date never changes in
      the text: a fall of more than twelve hours is midnight.
    * Without an interval there is one report, the mean since boot: its header has the same stamp.
Sample
    tests/parse/mpstat_text/all_tables/
Gives
    cpu_usage: user_ratio = %usr + %nice + %guest + %gnice, nice_ratio = %nice + %gnice, guest_ratio = %guest + %gnice,
    kernel_ratio = %sys (without interrupts), busy_ratio = 1 - idle - iowait. ``all`` is the tool's mean; a node is
    ``node0`` (``nodeall``: all nodes). metric_series: interrupt_per_s (labels cpu, interrupt; ``sum``: all of them) and
    softirq_per_s. time_s counts from the first header's stamp. Averages are the rows without time_s: leave them out
    when you sum. started_at only of -U.
"""

from __future__ import annotations

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.monitors._sysstat_lines import header_of
from pipeline.parse.monitors._sysstat_text import runs_of

EXPECTED = "mpstat's `CPU  %usr  %nice …` behind a time stamp"
FORM = "text"
VERSIONS = "sysstat 8 – 12.7"
NOT_READ = ""
UNSEEN_CUTS = "between two averages at the very end: which tables and processors come there is not told"


def recognise(head: str) -> bool:
    """Whether a line is one of mpstat's headers; sar has its columns in another order."""
    return any(is_mpstat(header_of(line)) for line in head.split("\n") if len(line) > 11)


def is_mpstat(header: list[str]) -> bool:
    """Whether a header is mpstat's: ``%irq`` before ``%steal``, or interrupts as columns."""
    if not header or header[0] not in ("CPU", "NODE"):
        return False
    if "%irq" in header:
        return "%steal" not in header or header.index("%irq") < header.index("%steal")
    names = header[1:]
    return all(name.endswith("/s") and not _is_old_sar(name) for name in names) and "total/s" not in names


def _is_old_sar(name: str) -> bool:
    """``i024/s``: how ``sar -I`` called interrupts before version 9."""
    return len(name) == 6 and name[0] == "i" and name[1:4].isdigit()


def parse(source: Source) -> list[Report]:
    """Return a report for each run of mpstat in the file; ParseError when there is no row."""
    runs = runs_of("mpstat", source)
    if not any(run.n_rows for run in runs):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return [run.report for run in runs]
