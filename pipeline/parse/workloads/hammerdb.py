"""HammerDB: the command line's output and its logs (results, time profiles, transaction counter).

Grammar
    TPROC-C: ``Vuser 1:TEST RESULT : System achieved 5614 NOPM from 17145 MySQL TPM`` (old: ``17145 MySQL TPM at 5614
    NOPM``). TPROC-H: ``Vuser 1:query 14 completed in 0.795 seconds``, ``Completed 1 query set(s) in 91 seconds``,
    ``Geometric mean of query times returning rows (22) is 1.62046``. xtprof: ``>>>>> VIRTUAL USER 2 : ELAPSED TIME :
    912505ms``, ``>>>>> PROC: NEWORD``, ``CALLS: … MIN: 2.409ms …``, ``P99: …``, ``>>>>> SUMMARY OF 8 ACTIVE VIRTUAL
    USERS``. etprof: ``|PERCENTILES FROM to TO``, ``|neword|MIN-5028|P50%-15089|…|SAMPLES-234`` in µs, a table
    ``PROCNAME``. Counter: ``324540 PostgreSQL tpm @ Thu Jun 30 22:43:41 UTC 2022``. Settings: ``Changed
    tpcc:pg_rampup from 2 to 5``, ``name = value`` of ``print dict``.
Versions
    3.x – 5.0
Traps
    * NOPM and TPM are a minute; TPM counts commits and rollbacks of the whole server, NOPM new orders.
    * xtprof's SD has no unit before 4.6 and is µs then. Lines of several virtual users mix.
    * Times of the counter and of etprof are local; only a stamp in UTC gives started_at. etprof's windows count from
      its first one, which begins with the ramp-up.
Sample
    tests/parse/hammerdb/synthetic_tprocc_with_etprof/
Gives
    operations: op ``transaction`` (TPM / 60) and ``new_order`` (NOPM / 60) with scope total; each query with the job
    ``Vuser N`` (``Vuser N set M`` from the second set on), ``query_set``; each procedure of each virtual user, and of
    all with scope total. throughput_series: the counter. NOPM, TPM, geometric means, shares: metric_series. Passwords
    are left out of the parameters.
"""

from __future__ import annotations

import re

from pipeline.parse._figures import without_colour
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.workloads._hammerdb_run import Run

EXPECTED = "HammerDB's `TEST RESULT : System achieved … NOPM`, query times, a time profile or `… tpm @`"
FORM = "text: CLI output, results, time profiles, counter"
VERSIONS = "3.0 – 5.0"
NOT_READ = "the job database"
UNSEEN_CUTS = "the counter's log has no end mark: the end of any line may be its end"

_MARKS = (
    "Hammerdb Transaction Counter Log @",
    "Hammerdb Time Profile Report @",
    "HammerDB CLI v",
    "TEST RESULT : System",
)
_USER = re.compile(
    r"^Vuser \d{1,5}:(?:RUNNING|TEST|query|Beginning|Processing|Executing|FINISHED|Completed)", re.MULTILINE
)
_COUNTER = re.compile(r"^\d{1,15} [A-Za-z]{2,20} tpm(?: @ .{1,40})?$", re.MULTILINE)


def recognise(head: str) -> bool:
    """Whether one of HammerDB's titles or messages of its virtual users stands in the text."""
    return any(mark in head for mark in _MARKS) or bool(_USER.search(head) or _COUNTER.search(head))


def parse(source: Source) -> list[Report]:
    """Return a report for each run in the file; ParseError when there is no figure."""
    runs = [Run(source)]
    for line, text in source.whole_lines():
        _read(runs, source, line, text)
    if source.torn is not None and source.torn[1].strip():
        runs[-1].cut = source.torn[0]
    runs = [run for run in runs if run.has_figures]
    if not runs:
        raise source.error(1, EXPECTED, source.head or "an empty file")
    return [run.finish() for run in runs]


def _read(runs: list[Run], source: Source, line: int, raw: str) -> None:
    text = without_colour(raw).strip()
    begins = "Beginning rampup" in text or "Time Profile Report @" in text or text.endswith(" VU TEST")
    if begins and (runs[-1].result is not None or (runs[-1].profile.has_figures and "Report @" in text)):
        following = Run(source)
        following.settings = dict(runs[-1].settings)
        following.report.describe(tool_version=runs[-1].report.run.get("tool_version"))
        runs.append(following)
    if text:
        runs[-1].read(line, text)
