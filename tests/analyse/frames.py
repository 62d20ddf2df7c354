"""Tidy tables made by hand, for the analyses' tests."""

from functools import cache
from pathlib import Path

import pipeline
from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.tidy import tables_of


@cache
def campaign(slug):
    """The tables of a campaign that ships, from its raw logs: a clone has no others."""
    return pipeline.read(Path(__file__).parents[2] / "data/raw" / slug)


def report(run_id="r1", tool="fio", campaign="c", point="p", **run):
    return Report(tool, Source(f"{run_id}.log", b""), run_id=run_id, campaign=campaign, point=point, **run)


def run(*operations, parameters=(), warnings=(), **columns):
    """A report with rows of ``operations`` (scope job unless told), settings and warning codes."""
    made = report(**columns)
    for row in operations:
        made.add("operations", **{"op": "read", "scope": "job", "job": "j", **row})
    for name, value in parameters:
        made.parameter(name, value)
    for code in warnings:
        made.warn(None, code, code)
    return made


def tables(*reports):
    return tables_of(reports)
