"""``python -m pipeline compare A B``: find the two sides, compare them, print, write, and say whether it got worse."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pipeline import tidy
from pipeline.analyse.comparison.compare import Comparison, compare, has_groups, side
from pipeline.analyse.intervals import n_needed
from pipeline.campaign import load_index, write_atomically
from pipeline.errors import AnalysisError, SpecError
from pipeline.project import find_root, to_path
from pipeline.report.comparison_table import change_text, comparison_table, described, geomean_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from pipeline.tidy import Tables

_RIGHT = {"A", "B", "B against A", "p (Holm)", "n", "points"}
_MOST_NAMED = 12  # of a list in one line
_WIDE = 1_000  # columns where nobody wraps: a file or a pipe


def run(a: str, b: str, fail_above: float | None, csv: Path | None, json_path: Path | None) -> int:
    """Compare and print; 1 where something got significantly worse by more than ``fail_above``, 0 otherwise.

    With ``fail_above``, sides that have nothing in common are an error: a renamed point must not pass for a good one.
    """
    (place_a, pattern_a), (place_b, pattern_b) = find(a), find(b)
    tables = {place: _tables(place) for place in dict.fromkeys((place_a, place_b))}
    by_groups = has_groups(pattern_a) and has_groups(pattern_b)  # of one alone, names could match nothing
    first = side(tables[place_a], a, pattern_a, named_by_groups=by_groups)
    second = side(tables[place_b], b, pattern_b, named_by_groups=by_groups)
    comparison = compare(first, second)
    worse = None if fail_above is None else comparison.regressions(fail_above)
    _show(comparison)
    if csv:
        write_atomically(csv, comparison.to_frame().to_csv(index=False, lineterminator="\n"))
    if json_path:
        content = as_json(comparison, fail_above)
        write_atomically(json_path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    if worse is None or fail_above is None:
        return 0
    if comparison.frame.empty:
        raise AnalysisError("expected measures at points that both sides have, found none; nothing can be judged")
    _say(*_judgement(comparison, worse, fail_above))
    return 1 if len(worse) else 0


def find(text: str) -> tuple[str, str | None]:
    """Split ``PLACE[:PATTERN]``: the place is the first that is a campaign, or a file or folder.

    SpecError where none is. A colon may belong to either part: the shortest place that is there counts, but for the
    whole text, which goes first.
    """
    campaigns = _campaigns()
    for place, pattern in _splits(text):
        if place in campaigns or _is_there(place):
            return place, pattern
    known = f"a campaign ({', '.join(campaigns)}), or " if campaigns else ""
    raise SpecError(
        f"{text}: expected {known}a log file or folder, alone or with :PATTERN behind it; found none of them"
    )


def as_json(comparison: Comparison, fail_above: float | None) -> dict[str, Any]:
    """Everything the command found, as JSON has it; numbers in full, missing as null."""
    worse = pd.DataFrame() if fail_above is None else comparison.regressions(fail_above)
    numbers = {name: _records(value) if isinstance(value, pd.DataFrame) else value
               for name, value in comparison.numbers().items()}  # fmt: skip
    names = ["side", "run_id", "tool", "point", "op", "phase", "part", "measure", "unit", "value"]
    return {
        **numbers,
        "fail_above": fail_above,
        "regressions": _records(worse),
        "sentence": comparison.sentence(),
        "values": _records(comparison.values[names]),
    }


def _splits(text: str) -> Iterator[tuple[str, str | None]]:
    yield text, None
    for position, character in enumerate(text):
        if character == ":":
            yield text[:position], text[position + 1 :]


def _campaigns() -> list[str]:
    try:
        return load_index(find_root())
    except SpecError:  # outside a project there are still files
        return []


def _is_there(place: str) -> bool:
    try:
        return bool(place) and to_path(place).exists()
    except (OSError, ValueError):
        return False


def _tables(place: str) -> Tables:
    if place in _campaigns():
        return tidy.load(place)
    from pipeline import read

    return read(place)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): _plain(value) for key, value in row.items()} for row in frame.to_dict("records")]


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _show(comparison: Comparison) -> None:
    """The table, then what belongs to it: geometric means, unmatched rows, runs left out, notes, the sentence."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    _say(f"A  {comparison.name_a}", f"B  {comparison.name_b}")
    table = comparison_table(comparison)
    if table["point"].nunique() == 1:
        _say(f"point  {table['point'].iloc[0]}")
        table = table.drop(columns="point")
    if len(table):
        _say("")
        _print(console, _rich(table))
    if len(comparison.geomeans):
        _say("", "geometric means over matched points")
        _print(console, _rich(geomean_table(comparison)))
    _say("", *_notes(comparison), comparison.sentence())


def _notes(comparison: Comparison) -> Iterator[str]:
    if len(comparison.frame):
        yield "B against A: the middle of the ratios of every run of B to every run of A; not the ratio of the medians"
    if "∞" in "".join(comparison_table(comparison)[["A", "B"]].to_numpy().ravel()):
        needed = n_needed(0.5, comparison.confidence)
        yield f"∞: a median's interval at {comparison.confidence:.0%} needs ≥ {needed} repeats"
    for name in "AB":
        rows = comparison.unmatched[comparison.unmatched["side"] == name]
        shared = set(comparison.frame["point"])
        points = [point for point in dict.fromkeys(rows["point"]) if point not in shared]
        if points:
            yield f"only in {name}: {_listed(points)}"
        rest = [f"{row['point']} {described(row)}" for row in rows.to_dict("records") if row["point"] in shared]
        if rest:
            yield f"only in {name}, at a matched point: {_listed(rest)}"
    for row in comparison.excluded.to_dict("records"):
        yield f"left out of {row['side']}: {row['run_id']} ({row['tool']}): {row['reason']}"
    yield from (f"note: {text}" for text in comparison.warnings)


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _judgement(comparison: Comparison, worse: pd.DataFrame, fail_above: float) -> Iterator[str]:
    few = comparison.frame[comparison.frame["verdict"] == "not enough"]
    if len(few):
        yield (
            f"{len(few)} of {len(comparison.frame)} comparisons cannot fail, whatever is found: "
            f"need ≥ {few['n_needed'].max()} repeats a side"
        )
    share = f"{100 * fail_above:.4g} %"
    if worse.empty:
        yield f"nothing is significantly worse by more than {share}"
        return
    rows = [f"{row['point']} {described(row)} {'no ratio' if pd.isna(row['ratio']) else change_text(row['ratio'])}"
            for row in worse.to_dict("records")]  # fmt: skip
    yield f"worse by more than {share}, significantly: {_listed(rows)}"


def _rich(frame: pd.DataFrame) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in frame.columns:
        table.add_column(name, justify="right" if name in _RIGHT else "left")
    colours = {"worse": "red", "better": "green"}
    for row in frame.to_dict("records"):
        style = colours.get(str(row.get("verdict")), "")
        table.add_row(*(Text(_printable(str(value)), style=style) for value in row.values()))
    return table


def _print(console: Console, table: Table) -> None:
    """Coloured and fitted on a terminal; elsewhere plain lines of full width."""
    if console.is_terminal:
        console.print(table)
        return
    from rich.console import Console

    plain = Console(file=StringIO(), width=_WIDE, color_system=None)
    with plain.capture() as captured:
        plain.print(table)
    _say(*(line.rstrip() for line in captured.get().splitlines() if line.strip()))


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(_printable(line) + "\n")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)
