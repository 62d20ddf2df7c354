"""Time stamps of sar and mpstat (``23:07:34``, ``11:07:34 PM``, ``23時07分34秒``, the epoch), and their order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

DAY_S = 86400
_HALF_DAY_S = DAY_S // 2
_STAMP = re.compile(
    r"(?:(上午|下午|오전|오후|午前|午後) ?)?(\d{1,2})[:.h時时시點点] ?(\d{2})[:.m分분] ?(\d{2})[s秒초]?"
    r"(?: ([AaPp])\.?[Mm]\.?)?(?=\s)"
)
_EPOCH = re.compile(r"(\d{9,11})(?=\s)")
_WORD = re.compile(r"([^\W\d][^\d:：]{0,18}?) ?[:：](?=\s)|(?:Minimum|Maksimum)(?=\s)")
_IOSTATS = ("Device", "avg-cpu", "Time")  # words that begin iostat's lines
_LEAST = ("min", "mín", "мин", "мін", "најмање", "მინ", "最小", "최소")
_MOST = ("max", "máx", "mak", "макс", "највише", "მაქ", "最大", "최대")


@dataclass(frozen=True)
class Stamp:
    """What a line begins with: a second (of the day, or of the epoch), or a word: average, minimum, maximum."""

    text: str
    second: int | None = None
    is_epoch: bool = False
    word: str = ""


def read_stamp(line: str) -> Stamp | None:
    """Read what a line begins with; None when it is no stamp."""
    if match := _STAMP.match(line):
        hour, minute, second = (int(match[i]) for i in (2, 3, 4))
        if half := match[5] or match[1]:
            hour = hour % 12 + (12 if half in ("P", "p", "下午", "오후", "午後") else 0)
        if hour > 23 or minute > 59 or second > 60:
            return None
        return Stamp(match[0], hour * 3600 + minute * 60 + second)
    if match := _EPOCH.match(line):
        return Stamp(match[0], int(match[1]), is_epoch=True)
    if not line.startswith(_IOSTATS) and (match := _WORD.match(line)):
        text = match[0].lower()
        word = "minimum" if text.startswith(_LEAST) else "maximum" if text.startswith(_MOST) else "average"
        return Stamp(match[0], word=word)
    return None


@dataclass
class _Hand:
    """The last stamp of one family of tables, and how many midnights it has seen."""

    second: int
    day: int
    was_restarted: bool = False


@dataclass
class Clock:
    """Seconds since the first stamp of a run; every family of tables goes through the time for itself.

    ``sar`` reading a file prints one activity after the other, each from the file's beginning.
    """

    origin: Stamp | None = None
    n_falls: int = 0  # how often it went back
    _hands: dict[str, _Hand] = field(default_factory=dict)

    def elapsed(self, family: str, stamp: Stamp) -> float:
        """Seconds from the first stamp to this one; a fall of more than half a day is midnight."""
        second = stamp.second or 0
        if self.origin is None:
            self.origin = stamp
        start = self.origin.second or 0
        hand = self._hands.get(family)
        if hand is None:
            hand = self._hands[family] = _Hand(second, 0 if second >= start or stamp.is_epoch else 1)
        elif second < hand.second and not stamp.is_epoch:
            if hand.second - second > _HALF_DAY_S or hand.was_restarted:
                hand.day += 1
            else:
                self.n_falls += 1
        elif second < hand.second:
            self.n_falls += 1
        hand.second, hand.was_restarted = second, False
        return float(hand.day * DAY_S + second - start)

    def restart(self) -> None:
        """The machine was down for a while: the next stamp may be of the next day whatever its time."""
        for hand in self._hands.values():
            hand.was_restarted = True
