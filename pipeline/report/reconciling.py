"""Print the reconciliation of campaigns: the table of checks, every red, and why the rest is unknown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import tidy
from pipeline.analyse.reconciliation.gate import Reconciliation, combine, figure, reconcile
from pipeline.campaign import load_index
from pipeline.errors import SpecError

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 160  # characters without a terminal
STYLE = {"green": "green", "red": "bold red", "unknown": "yellow"}


def run(campaigns: list[str], root: Path, tolerance: float) -> int:
    """Reconcile the campaigns and print the result; 1 if any comparison is red, else 0."""
    if not 0 <= tolerance < 1:
        raise SpecError(f"--tolerance: expected a share from 0 to below 1, found {tolerance:g}")
    known = load_index(root)
    unknown = [slug for slug in campaigns if slug not in known]
    if unknown:
        raise SpecError(f"{printable(unknown[0])}: expected a campaign of data/campaigns, found none of that name; "
                        f"there are {', '.join(known)}")  # fmt: skip
    result = combine(reconcile(tidy.load(slug, root), tolerance) for slug in dict.fromkeys(campaigns))
    _print(result)
    return 1 if result.has_red else 0


def printable(text: str) -> str:
    """Text of logs without what would steer a terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _print(result: Reconciliation) -> None:
    from rich.console import Console

    is_terminal = sys.stdout.isatty()
    console = Console(width=None if is_terminal else WIDTH, highlight=False, markup=False, emoji=False)
    _print_checks(console, result)
    _print_reds(console, result)
    _print_reasons(console, result)
    console.print(result.sentence(), soft_wrap=True)


def _print_checks(console: Console, result: Reconciliation) -> None:
    """Comparisons by campaign and check."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    table.add_column("campaign")
    table.add_column("check")
    for status in STYLE:
        table.add_column(status, justify="right")
    for row in result.counts("campaign", "check").to_dict("records"):
        counts = [
            Text(f"{row[status]:,}" if row[status] else "·", style=style if row[status] else "dim")
            for status, style in STYLE.items()
        ]
        table.add_row(printable(row["campaign"]), row["check"], *counts)
    console.print(table)
    console.print()


def _print_reds(console: Console, result: Reconciliation) -> None:
    """Each red: both numbers, where each comes from, the difference and the likely cause."""
    for row in result.reds().to_dict("records"):
        head = f"red: {row['campaign']}, {row['run_id']}, {row['tool']}, {row['check']}: {row['subject']}"
        console.print(printable(head), style=STYLE["red"], soft_wrap=True)
        for side in ("left", "right"):
            number = figure(row[side], row["unit"])
            place = f"{row[f'{side}_from']} of {row[f'{side}_file'] or 'an unknown file'}"
            console.print(printable(f"  {number:>14}  {place}"), soft_wrap=True)
        console.print(printable(f"  {row['difference_ratio']:>+14.2%}  {row['cause']}"), soft_wrap=True)
        console.print()


def _print_reasons(console: Console, result: Reconciliation) -> None:
    """Why comparisons are unknown, the commonest first."""
    reasons = result.reasons()
    for row in reasons.to_dict("records"):
        text = f"unknown: {row['n_comparisons']:,} × {row['check']} ({row['campaign']}): {row['reason']}"
        console.print(printable(text), style=STYLE["unknown"], soft_wrap=True)
    if len(reasons):
        console.print()
