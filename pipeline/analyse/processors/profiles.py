"""Profiles of perf: which samples of which runs belong to which side, by symbols that can be matched between builds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from pipeline.errors import AnalysisError

PLACE = ["shared_object", "symbol", "privilege"]
UNKNOWN = "[unknown]"
CLOCKS = r"(?:cpu|task)-clock(?:\W.*)?"
KERNEL = "[kernel]"
_ADDRESS = re.compile(r"0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{8,16}|\[unknown\]|", re.IGNORECASE)
_KERNEL = re.compile(r"\[kernel(?:\.kallsyms|\.vmlinux)?\](?:\.\S+)?|\[kernel\.\w+\]|(?:.*/)?vmlinu[xz]\S*|\[k\]")
_MODULE = re.compile(r"(?:.*/)?([\w-]+)\.ko(?:\.(?:xz|gz|zst|debug))?")
_SUFFIX = re.compile(r"(?:\.(?:isra|constprop|part|cold|llvm|lto_priv|localalias)(?:\.\d+)*)+$")
_ANNOTATION = re.compile(r"_\[([kijw])\]$")


@dataclass(frozen=True, eq=False)
class Profile:
    """Samples of one event, a row a run × command × place (or stack).

    ``frame`` has side, run_id, command, then shared_object, symbol, privilege, or stack; ``n_samples`` (null where the
    tool printed none) and ``overhead_ratio`` (null where it printed none; of stacks: from their periods).
    """

    frame: pd.DataFrame
    event: str
    sides: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def has_counts(self) -> bool:
        """Whether every row has its number of samples; only then are there intervals."""
        return bool(len(self.frame)) and bool(self.frame["n_samples"].notna().all())

    def runs(self, side: str) -> list[str]:
        """Runs of a side that have samples of the event, in their order."""
        return list(dict.fromkeys(self.frame.loc[self.frame["side"] == side, "run_id"]))


def runs_of_points(tables: Mapping[str, pd.DataFrame], points: Sequence[str]) -> dict[str, list[str]]:
    """Run ids of each point of a campaign, for ``sides``; AnalysisError names the points that there are."""
    runs = tables["runs"].drop_duplicates("run_id")
    found = {point: list(runs.loc[(runs["point"] == point).fillna(False), "run_id"]) for point in points}
    if missing := [point for point, ids in found.items() if not ids]:
        raise AnalysisError(f"expected runs of {missing}; there are points {sorted(runs['point'].dropna().unique())}")
    return found


def symbol_profile(
    tables: Mapping[str, pd.DataFrame], sides: Mapping[str, Sequence[str]], event: str | None = None
) -> Profile:
    """Samples by command, shared object, symbol and privilege from perf_hotspots, else by the leaves of perf_stacks.

    The leaves serve where not every run has hot spots; the two are never mixed. ``sides`` names the runs of each side;
    ``event`` may be None where there is one. Names are made alike: an address instead of a symbol becomes [unknown]
    (addresses differ from run to run); every name of the kernel's image becomes [kernel], a module's file its [name], a
    path its last part; endings of clones (.isra.0, .constprop.0, .part.0, .cold) are dropped, so that builds match. A
    leaf of a stack has no shared object, and a privilege only where the collapser wrote _[k].
    AnalysisError: no rows, several events, a side without runs.
    """
    runs = [run for ids in sides.values() for run in ids]
    table = "perf_hotspots" if set(runs) <= set(tables["perf_hotspots"]["run_id"]) else "perf_stacks"
    if tables[table].empty:
        table = "perf_hotspots"
    chosen, event, warnings = _chosen(tables[table], sides, event)
    if table == "perf_hotspots":
        chosen, more = _last_screen(chosen)
        warnings += more + _hidden_rows(tables["parameters"], chosen)
    else:
        chosen = _leaves(chosen)
    frame = chosen.assign(
        shared_object=chosen["shared_object"].map(object_name, na_action="ignore"),
        symbol=chosen["symbol"].map(symbol_name, na_action="ignore").fillna(UNKNOWN),
    )
    columns = ["side", "run_id", "command", *PLACE]
    return Profile(_sums(frame, columns), event, tuple(sides), tuple(warnings))


def stack_profile(
    tables: Mapping[str, pd.DataFrame], sides: Mapping[str, Sequence[str]], event: str | None = None
) -> Profile:
    """Samples by command and whole stack from perf_stacks, names of frames made alike as ``symbol_profile`` does.

    Neighbouring frames without a name become one. Where a collapser left only sums of periods, ``n_samples`` is null
    and the shares have no intervals. AnalysisError: no rows, several events, a side without runs.
    """
    chosen, event, warnings = _chosen(tables["perf_stacks"], sides, event)
    distinct = chosen["stack"].dropna().unique()
    names = {stack: _alike(stack) for stack in distinct}
    frame = _with_overhead(chosen.assign(stack=chosen["stack"].map(names, na_action="ignore")))
    columns = ["side", "run_id", "command", "stack"]
    return Profile(_sums(frame, columns), event, tuple(sides), tuple(warnings))


def symbol_name(symbol: str) -> str:
    """A symbol without a clone's ending; [unknown] for an address."""
    bare = _ANNOTATION.sub("", symbol.strip())
    return UNKNOWN if _ADDRESS.fullmatch(bare) else _SUFFIX.sub("", bare) or bare


def object_name(shared_object: str) -> str:
    """The kernel's image as [kernel], a module's file as [name], any other path as its last part."""
    name = shared_object.strip().removesuffix(" (deleted)")
    if _KERNEL.fullmatch(name):
        return KERNEL
    if (module := _MODULE.fullmatch(name)) is not None:
        return f"[{module[1].replace('-', '_')}]"
    return name.rsplit("/", 1)[-1] if name.startswith("/") else name


def _alike(stack: str) -> str:
    """A stack with its frames' names made alike; neighbours that are [unknown] become one."""
    names = [_frame_name(frame) for frame in stack.split(";")]
    kept = [name for number, name in enumerate(names) if number == 0 or (name, names[number - 1]) != (UNKNOWN, UNKNOWN)]
    return ";".join(kept)


def _frame_name(frame: str) -> str:
    annotation = _ANNOTATION.search(frame)
    return symbol_name(frame) + (annotation[0] if annotation else "")


def _chosen(
    table: pd.DataFrame, sides: Mapping[str, Sequence[str]], event: str | None
) -> tuple[pd.DataFrame, str, list[str]]:
    """The rows of the sides' runs and the one event, with the column side; what is missing is an error."""
    twice = [run for runs in sides.values() for run in runs]
    if len(twice) != len(set(twice)):
        raise AnalysisError("a run stands on two sides, or twice on one")
    side_of = {run: side for side, runs in sides.items() for run in runs}
    rows = table[table["run_id"].isin(list(side_of))]
    events = sorted(rows["event"].dropna().unique())
    if event is None:
        if len(events) > 1:
            raise AnalysisError(f"several events {events}: choose one, for their samples must not be added")
        event = events[0] if events else ""
    rows = rows[(rows["event"] == event).fillna(False) if event else rows["event"].isna()]
    rows = rows.assign(side=rows["run_id"].map(side_of))
    if empty := [side for side in sides if not (rows["side"] == side).any()]:
        raise AnalysisError(f"expected samples of {event or 'an event'} on each side, found none of {empty}")
    missing = sorted(set(side_of) - set(rows["run_id"]))
    warnings = [f"Without samples of {event}, left out: {', '.join(missing)}."] if missing else []
    if event and re.fullmatch(CLOCKS, event):
        warnings.append(
            f"{event} samples by a timer interrupt: time with interrupts off is charged to where they are turned on "
            "again (such as _raw_spin_unlock_irqrestore, finish_task_switch, handle_softirqs)."
        )
    return rows, event, warnings


def _last_screen(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Of perf top, whose screens show the same samples again, the last one of each run."""
    screen = rows["labels"].str.extract(r'"screen": "?(\d+)')[0].astype("Float64")
    last = screen.groupby(rows["run_id"]).transform("max")
    kept = rows[screen.isna() | (screen == last).fillna(False)]
    return kept, ["Of perf top's screens, the last one is taken."] if len(kept) < len(rows) else []


def _hidden_rows(parameters: pd.DataFrame, rows: pd.DataFrame) -> list[str]:
    """Compare the rows' samples with the header's count, which perf cuts off behind the thousand (``8K``)."""
    stated = parameters[(parameters["tool"] == "perf_report") & (parameters["name"] == "Samples")]
    cells = stated["value"].str.extract(r"^(\d+) *([KMG]?)$")
    factor = cells[1].map({"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000})
    least = (cells[0].astype(float) * factor.astype(float)).groupby([stated["run_id"], stated["job"]]).max()
    found = rows.dropna(subset=["n_samples"]).groupby(["run_id", "event"])["n_samples"].sum()
    both = pd.concat([least.rename_axis(["run_id", "event"]), found.astype(float)], axis=1, join="inner")
    short = both[both.iloc[:, 1] < both.iloc[:, 0]]
    if short.empty:
        return []
    runs = ", ".join(short.index.get_level_values("run_id").unique())
    return [f"The header states more samples than the rows hold (a percent limit hides rows): {runs}."]


def _leaves(rows: pd.DataFrame) -> pd.DataFrame:
    """A stack's innermost frame as the symbol, kernel where the collapser marked it so."""
    leaf = rows["stack"].str.rsplit(";", n=1).str[-1]
    privilege = leaf.str.extract(_ANNOTATION.pattern)[0].map({"k": "k"})
    return _with_overhead(rows).assign(symbol=leaf, shared_object=None, privilege=privilege)


def _with_overhead(rows: pd.DataFrame) -> pd.DataFrame:
    """The share by periods of each stack in its run, as perf report's overhead."""
    period = rows["period"].astype(float)
    total = period.groupby(rows["run_id"]).transform("sum")
    return rows.assign(overhead_ratio=period / total.where(total > 0))


def _sums(rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Sums of samples and overhead by columns; null as soon as one row is null."""
    grouped = rows.astype({"n_samples": float, "overhead_ratio": float}).groupby(columns, dropna=False, sort=False)
    values = grouped[["n_samples", "overhead_ratio"]]
    return values.sum().where(values.count().eq(grouped.size(), axis=0)).reset_index()
