"""Folded stacks: what stackcollapse-perf.pl, inferno-collapse-perf and others make of perf script.

Grammar
    ``command;root;…;leaf N`` a line. The command may carry ids (``java-?/123``), frames annotations (``_[k]`` kernel,
    ``_[j]`` compiled at run time, ``_[i]`` inlined, ``_[w]`` waker). ``#`` begins a comment.
Versions
    stackcollapse-perf.pl of 2012 to 2024, inferno 0.1 to 0.12, and other collapsers with the same lines.
Traps
    * N is a number of samples, or the sum of their periods where perf script printed periods; the file does not tell.
    * Frames hold spaces; only the last word is the count. It may be a fraction.
    * A line may come again; its counts add up.
    * Two counts a line are the difference of two runs (difffolded.pl), which is no measurement: refused.
Sample
    tests/parse/perf_folded/kernel_annotated/
Gives
    perf_stacks of tool ``perf_script``: a row a line in their order, event null, command = the first frame and stack =
    the rest, both as they are (null: a line of one frame). N is n_samples; it is ``period`` and n_samples null where
    it is hardly a number of samples: where all counts are multiples of one number from 100 000 on (from 1000 on, if
    there are 8 stacks), where their sum is from 10⁸ on, or from 10⁶ on with half of the counts from 1000 on (most
    stacks are sampled once or twice), or with fractions; ``counts_are_periods`` then says so.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from pipeline.parse._report import Report
from pipeline.parse._source import Source
from pipeline.parse.perf._perf_script_lines import text_of
from pipeline.parse.perf._perf_stack_rows import Stack, add_stacks

EXPECTED = "folded stacks such as `fio;main;io_submit 42`"
FORM = "folded stacks"
VERSIONS = "stackcollapse-perf.pl 2012 – 2024, inferno 0.1 – 0.12"
NOT_READ = "differential ones (two counts a line)"
UNSEEN_CUTS = "nothing ends the text; a cut between two lines cannot be told from a whole file"
_COUNT = re.compile(rb"[0-9]{1,18}(?:\.[0-9]{0,17})?")
_NUMBER = re.compile(rb"[-+]?[0-9.,%]{1,40}|")
_HEAD_BYTES = 4096  # of a stack that are looked at
_TWO_COUNTS = re.compile(rb" [0-9]{1,18}(?:\.[0-9]{0,17})? [0-9]{1,18}(?:\.[0-9]{0,17})?\s*$")
_MIN_SHARE = 0.8
_SUM_OF_PERIODS, _MANY_SAMPLES, _STEP_OF_PERIODS, _MANY_STACKS = 10**8, 10**6, 1000, 8


@dataclass
class _Folded:
    """Sums by stack, and what was no stack."""

    counts: dict[bytes, int] = field(default_factory=dict)
    fractions: dict[bytes, float] = field(default_factory=dict)
    n_unknown: int = 0
    unknown: tuple[int, bytes] | None = None
    n_lines: int = 0

    def read(self, block: bytes) -> None:
        """Read whole lines."""
        counts = self.counts
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for number, line in enumerate(lines, self.n_lines + 1):
            stack, _, n = line.rpartition(b" ")
            if n.isdigit() and len(n) <= 18 and stack:
                counts[stack] = counts.get(stack, 0) + int(n)
            elif line and not line.startswith(b"#"):
                self._read_other(number, line)
        self.n_lines += len(lines)

    def _read_other(self, number: int, line: bytes) -> None:
        stack, _, n = line.strip().rpartition(b" ")
        if stack and _COUNT.fullmatch(n) and b"." in n:
            self.fractions[stack] = self.fractions.get(stack, 0.0) + float(n)
        elif stack and _COUNT.fullmatch(n):
            self.counts[stack] = self.counts.get(stack, 0) + int(n)
        elif line.strip():
            self.n_unknown += 1
            self.unknown = self.unknown or (number, line)


def recognise(head: str) -> bool:
    """Whether nearly all lines are stacks with a count, and one at least has two frames."""
    lines = [line for line in head.encode("utf-8", "replace").split(b"\n") if line.strip() and line[:1] != b"#"]
    lines = lines[: max(1, len(lines) - 1)][:200]
    good = [line for line in lines if _is_stack(line)]
    n_deep = sum(b";" in line for line in good)
    return len(good) >= _MIN_SHARE * len(lines) and n_deep >= max(1, len(good) // 4)


def _is_stack(line: bytes) -> bool:
    """A stack and a count; semicolons part the figures of other tools too, but functions are not named by numbers."""
    stack, _, n = line.strip().rpartition(b" ")
    frames = stack[:_HEAD_BYTES].split(b";")
    n_numbers = sum(_NUMBER.fullmatch(frame) is not None for frame in frames)
    is_named = bool(stack.strip()) and n_numbers * 2 < len(frames)
    return is_named and not stack.startswith((b";", b" ", b"{", b"[{")) and bool(_COUNT.fullmatch(n))


def parse(source: Source) -> list[Report]:
    """Return one report; ParseError when no line is a stack, or when all have two counts."""
    if not recognise(source.head):
        raise source.error(1, EXPECTED, source.head or "an empty file")
    first = [line for line in source.head.encode("utf-8", "replace").split(b"\n")[:-1] if line.strip()]
    if len(first) > 1 and all(map(_TWO_COUNTS.search, first)):
        raise source.error(1, "one count a line", "two, the difference of two runs")
    folded = _Folded()
    held = b""
    for block in source.blocks():
        if held:
            folded.read(held)
        held = block
    torn = b""
    if not source.ends_with_newline:
        held, _, torn = held.rpartition(b"\n")
    folded.read(held)
    if not folded.counts and not folded.fractions:
        raise source.error(1, EXPECTED, source.head)
    report = Report("perf_script", source)
    _add(report, folded)
    if folded.unknown is not None:
        line, text = folded.unknown
        found = f"{folded.n_unknown} other lines such as {text_of(text[:80])!r}"
        report.warn(line, "unknown_line", f"expected a stack and its count, found {found}")
    if torn.strip():
        found = "the end of the file: the line is left out"
        report.incomplete(folded.n_lines + 1, "truncated", f"expected a line feed, found {found}")
    return [report]


def _add(report: Report, folded: _Folded) -> None:
    counts: dict[bytes, float] = dict(folded.counts)
    for stack, n in folded.fractions.items():
        counts[stack] = counts.get(stack, 0) + n
    reason = _why_periods(folded)
    if reason:
        report.warn(None, "counts_are_periods", f"expected numbers of samples, found {reason}: taken as their periods")
    rows = []
    for line, n in counts.items():
        command, _, frames = text_of(line).partition(";")
        rows.append(Stack(None, command, frames or None, None if reason else int(n), float(n) if reason else None))
    add_stacks(report, rows)


def _why_periods(folded: _Folded) -> str:
    if folded.fractions:
        return "fractions"
    step = math.gcd(*folded.counts.values())
    if step >= (_STEP_OF_PERIODS if len(folded.counts) >= _MANY_STACKS else _STEP_OF_PERIODS * 100):
        return f"multiples of {step}"
    n_large = sum(n >= _STEP_OF_PERIODS for n in folded.counts.values())
    total = sum(folded.counts.values())
    is_period = total >= _SUM_OF_PERIODS or (total >= _MANY_SAMPLES and n_large * 2 >= len(folded.counts))
    return f"a sum of {total}" if is_period else ""
