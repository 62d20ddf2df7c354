"""Every sample of the tools that have readers gives rows, but for a written list of refusals with reasons."""

from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.reading import read_file
from pipeline.tidy import tables_of
from pipeline.tools import find_reader

REFUSALS = yaml.safe_load((Path(__file__).parent / "refusals.yaml").read_text("utf-8"))
FOLDERS = ("act", "act_linearity", "diskspd", "fio", "latency_breakdown", "perf", "sysstat")


def reason(kind, name):
    return next((why for glob, why in REFUSALS[kind].items() if fnmatch(name, glob)), None)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_sample_gives_rows_or_is_a_written_refusal(samples, folder):
    problems, used = [], set()
    for path in sorted(path for path in (samples / folder).rglob("*") if path.is_file()):
        name = path.relative_to(samples).as_posix()
        kind = "unknown" if find_reader(Source(path)) is None else "refused"
        try:
            tables = tables_of(read_file(path))
        except ParseError:
            used |= {glob for glob in REFUSALS[kind] if fnmatch(name, glob)}
            if reason(kind, name) is None:
                problems.append(f"{name}: {kind}, but not on the list")
            continue
        n_rows = sum(len(frame) for table, frame in tables.items() if table not in ("runs", "warnings"))
        if n_rows == 0:
            problems.append(f"{name}: no rows")
        if reason("refused", name):
            problems.append(f"{name}: is read, but on the list")
    assert not problems
    listed = {glob for globs in REFUSALS.values() for glob in globs if glob.split("/")[0] == folder}
    assert listed == used, "the list names refusals that there are not"
