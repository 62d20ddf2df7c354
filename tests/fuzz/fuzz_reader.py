"""Fuzz one reader: whatever its input, it gives tables, or one error, in bounded time.

``python tests/fuzz/fuzz_reader.py READER -max_total_time=60 CORPUS…`` — what follows the reader are options of
libFuzzer. ``tests/fuzz/run.py`` runs all readers. Only ``pipeline.parse`` is instrumented; compiled kernels are not.
"""

import itertools
import sys
import time
import zlib
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["pipeline.parse"]):
    from pipeline.errors import ParseError, SchemaError
    from pipeline.parse._source import Source
    from pipeline.tools import load_reader

    READER = load_reader(sys.argv[1])

from pipeline.tidy import arrow_tables, tables_of

HANG_S = 120  # by the clock, which goes on while others compute
CPU_S = 5.0
MOST_MIB = 4096
EACH = 8  # input whose tables' ranges are checked, too: it takes ten times as long as most readers; the first is one
TURN = itertools.count()
SAMPLES = Path(__file__).parent.parent / "parse" / sys.argv[1]
NAMES = sorted({path.name for path in SAMPLES.glob("*/*") if path.name != "expected.yaml"}) or ["fuzz.log"]


def test_one_input(data: bytes) -> None:
    """Recognise, parse and check one input; any exception but the two that pipeline.read expects is a finding.

    Some readers take a meaning from the file's name: it is one of the samples', chosen by the input itself.
    """
    start = time.process_time()
    with suppress(ParseError, SchemaError):  # pipeline.read makes one ParseError of both
        read(Source(NAMES[zlib.crc32(data) % len(NAMES)], data))
    assert time.process_time() - start < CPU_S, f"expected at most {CPU_S} s, found more for {len(data)} bytes"


def read(source: Source) -> None:
    """Recognise, parse and check one file."""
    READER.recognise(source.head)
    reports = READER.parse(source)
    assert reports, "expected a report or a ParseError"
    for number, report in enumerate(reports):
        report.describe(run_id=f"fuzz#{number}")
    (arrow_tables if next(TURN) % EACH else tables_of)(reports)


if __name__ == "__main__":
    for path in SAMPLES.glob("*/*"):  # what is compiled at the first call counts as nobody's time
        with suppress(ParseError):
            READER.parse(Source(path))
    limits = [f"-timeout={HANG_S}", f"-report_slow_units={HANG_S}", f"-rss_limit_mb={MOST_MIB}"]
    atheris.Setup([sys.argv[0], *limits, *sys.argv[2:]], test_one_input)
    atheris.Fuzz()
