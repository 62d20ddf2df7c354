"""Samples of perf script, summed a stack while the text goes by.

Stacks repeat: the lines below a sample's first are looked up as they are, and only those that were not seen yet are
read. So a text of many samples costs little more than its splitting at empty lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from pipeline.parse.perf._perf_script_lines import (
    Head,
    comment_of,
    is_branches,
    is_frame,
    n_lost,
    read_head,
    read_short_head,
    text_of,
)
from pipeline.parse.perf._perf_script_stacks import Stacks

_CACHE_ENTRIES = 1 << 16
_LONG_BYTES = 64 << 10  # without an empty line: samples without stacks

Key = tuple[str | None, str | None, str | None]  # event, command, stack


@dataclass
class Section:
    """What one run of perf script printed: its comments, and the sums of its samples."""

    comments: list[tuple[str, str]] = field(default_factory=list)
    sums: dict[Key, list[int]] = field(default_factory=dict)  # samples, and their periods
    without_period: set[str | None] = field(default_factory=set)  # events
    n_lost: int = 0
    n_unknown: int = 0
    cut: str = ""  # what the end of the file took
    first_unknown: tuple[int, str] | None = None  # its place in the text

    def count(self, head: Head, stack: str | None) -> None:
        """Add one sample."""
        if head.period is None:
            self.without_period.add(head.event)
        sums = self.sums.setdefault((head.event, head.command, stack), [0, 0])
        sums[0] += 1
        sums[1] += head.period or 0


def split_at_blanks(text: bytes) -> list[bytes]:
    r"""``text.split(b"\n\n")`` in a third of its time: bytes' own search looks twice at each end of a line."""
    is_end = np.frombuffer(text, np.uint8) == ord("\n")
    parts, start = [], 0
    for end in np.flatnonzero(is_end[:-1] & is_end[1:]).tolist():
        if end >= start:  # else the second line feed of the last one
            parts.append(text[start:end])
            start = end + 2
    parts.append(text[start:])
    return parts


class Samples:
    """The samples of a text, read block by block; ``sections`` holds the sums."""

    def __init__(self) -> None:
        self.sections = [Section()]
        self.section = self.sections[0]
        self.head: Head | None = None  # of the sample whose lines are being read
        self.frames: list[bytes] | None = None  # None: no sample is open
        self.held: Head | None = None  # a sample without frames before an empty line: they may follow it
        self.offset = 0  # in the text, of the block that is being read
        self.block = b""
        self.has_blank = False  # whether empty lines end the samples
        self._stacks = Stacks(is_java=False), Stacks(is_java=True)
        self._commands: dict[bytes, tuple[str, Stacks]] = {}  # by what stands before the time
        self._events: dict[bytes, str] = {}  # behind a period
        self._bare_events: dict[bytes, str] = {}  # of lines without one

    def read(self, blocks: Iterable[bytes]) -> None:
        """Read all blocks of whole lines; the last may lack its line feed, and that line is then not trusted."""
        rest = b""
        for block in blocks:
            self.block = rest + block if rest else block
            chunks = split_at_blanks(self.block)
            rest = chunks.pop()
            self.has_blank = self.has_blank or bool(chunks)
            if self.frames is not None and chunks:
                self._read_lines(chunks[0])
                self._flush()
                chunks[0] = b""
            self._read_chunks(chunks)
            if len(rest) > _LONG_BYTES:
                end = rest.rfind(b"\n") + 1
                self._read_lines(rest[:end])
                rest = rest[end:]
            self.offset += len(self.block) - len(rest)
        self.block = rest
        self._finish(rest)

    def _finish(self, rest: bytes) -> None:
        """Read what stands behind the last empty line: the end of a sample that no empty line ends may be missing."""
        whole, _, torn = rest.rpartition(b"\n")
        self._read_lines(whole)
        is_open = self.frames is not None and (self.has_blank or bool(self.frames))
        if is_open and torn.rstrip().endswith(b")") and is_frame(torn):
            self._add_frame(torn)
        if is_open and self.frames:
            self.section.cut = "the last sample may lack its outer frames"
        elif is_open or torn.strip():
            self.section.cut = "the last sample is left out"
            if is_open:
                self.head = self.frames = None
        self._flush()
        self._count_held()

    def _read_chunks(self, chunks: list[bytes]) -> None:
        """Read texts between empty lines: nearly all are a line and a stack that were seen before."""
        commands, events = self._commands, self._events
        for chunk in chunks:
            line, _, frames = chunk.partition(b"\n")
            try:
                who, _, period, event = line.rsplit(None, 3)
                command, stacks = commands[who]
                by_text = stacks.by_text
                n_period = int(period)
                key = events[event], command, by_text[frames] if frames in by_text else stacks.read(frames)
                if self.held is not None:
                    raise LookupError
            except (LookupError, ValueError):
                self._read_chunk(chunk, line, frames)
                continue
            sums = self.section.sums.get(key)
            if sums is None:
                self.section.sums[key] = [1, n_period]
            else:
                sums[0] += 1
                sums[1] += n_period

    def _read_chunk(self, chunk: bytes, line: bytes, frames: bytes) -> None:
        """Read a text between empty lines of which something is new, or that is of another form."""
        head = self._known_head(line) or (None if line.startswith(b"\t") else read_head(line))
        stack = None
        is_plain = bool(frames) and head is not None and head.frame is None and self.held is None
        if is_plain:
            try:
                stack = self._stacks[_is_java(head.command if head else None)].read(frames)
            except LookupError:
                is_plain = False
        if head is None or not is_plain:
            self._read_lines(chunk)
            self._flush()
            return
        self.section.count(head, stack)
        if head.event is not None and head.command is not None:
            self._remember_head(line, head)

    def _known_head(self, line: bytes) -> Head | None:
        """A line without a period by a command and an event that are known; its time is all that is new."""
        before, _, behind = line.partition(b": ")
        who, _, time = before.rpartition(b" ")
        command = self._commands.get(who.rstrip())
        event = self._bare_events.get(behind.split(None, 1)[0]) if command and behind.strip() else None
        if command is None or event is None or not time.replace(b".", b"", 1).isdigit():
            return None
        return Head(event, command[0], None)

    def _remember_head(self, line: bytes, head: Head) -> None:
        """What stands before the time names the command, if it is understood alone as in the whole line."""
        who = line.partition(b": ")[0].rpartition(b" ")[0].rstrip()
        probe = read_head(who + b" 1.5: 1 probe:")
        event = f"{head.event}:".encode()
        if probe is None or probe.event != "probe" or probe.command != head.command or event not in line:
            return
        if len(self._commands) >= _CACHE_ENTRIES:
            self._commands.clear()
        self._commands[who] = (str(head.command), self._stacks[_is_java(head.command)])
        events = self._bare_events if head.period is None else self._events
        if len(events) >= _CACHE_ENTRIES:
            events.clear()
        events[event] = str(head.event)

    def _count(self, head: Head | None, lines: list[bytes]) -> None:
        head = head or Head(None, None, None)
        self.section.count(head, self._stacks[_is_java(head.command)].join(lines))

    def _read_lines(self, text: bytes) -> None:
        """Read lines one by one: samples that no empty line parts, comments, and what perf says beside them."""
        for line in text.split(b"\n"):
            if not line or line.isspace():
                self._flush()
            elif line.startswith(b"#"):
                self._read_comment(line)
            elif b"PERF_RECORD_" in line[:200]:
                self._flush()
                self.section.n_lost += n_lost(line)
            elif (head := None if line.startswith(b"\t") else read_head(line)) is not None:
                self._open(head)
            elif is_branches(line):
                self._flush()
            elif is_frame(line) and not (self.frames and line.startswith(b"  ") and self.frames[0].startswith(b"\t")):
                self._add_frame(line)
            elif (head := None if line.startswith(b"\t") else read_short_head(line)) is not None:
                self._open(head)
            elif not (self.frames and line.startswith(b"  ")):
                self._read_other(line)

    def _open(self, head: Head) -> None:
        self._flush()
        self._count_held()
        self.head, self.frames = head, []
        if head.frame is not None:
            self._count(head, [head.frame])
            self.head = self.frames = None

    def _add_frame(self, line: bytes) -> None:
        if self.frames is None:
            self.head, self.held, self.frames = self.held, None, []
        self.frames.append(line)

    def _flush(self) -> None:
        """End the sample that is open."""
        head, frames = self.head, self.frames
        self.head = self.frames = None
        if frames:
            self._count(head, frames)
        elif frames is not None:
            self._count_held()
            self.held = head

    def _count_held(self) -> None:
        """Count a sample without a stack, when no stack can follow any more."""
        if self.held is not None:
            self.section.count(self.held, None)
            self.held = None

    def _read_comment(self, line: bytes) -> None:
        if line.startswith(b"# ====") and self.section.sums:
            self._flush()
            self._count_held()
            self.section = Section()
            self.sections.append(self.section)
            self._events.clear()
            self._bare_events.clear()
        if (comment := comment_of(line)) is not None:
            self.section.comments.append(comment)

    def _read_other(self, line: bytes) -> None:
        section = self.section
        section.n_unknown += 1
        if section.first_unknown is None:
            place = self.offset + max(0, self.block.find(line))
            section.first_unknown = (place, text_of(line.strip()[:100]))


def _is_java(command: str | None) -> int:
    return int(command is not None and command.startswith("java"))
