"""Private to fio's readers: status reports of a run as intervals from its start, for fio's figures are cumulative."""

from __future__ import annotations

Key = tuple[str | None, str]  # job and operation
Ends = dict[Key, float]  # the end of an interval in s


class Intervals:
    """Finds the end of the interval that each status report stands for, and what went on since the one before."""

    def __init__(self) -> None:
        self._times: Ends = {}  # how long each job and operation had run when it last gave a row
        self._end_s = 0.0

    def next(self, times: dict[Key, float]) -> Ends:
        """The end for each job and operation that went on since the last report; ``times``: how long each has run.

        It is the longest time, which all share. Where jobs run one after another that stands still: then it is the end
        before and what the running ones went on since. Syncs, which have no time of their own, go with their job.
        """
        steps = {key: time - self._times.get(key, 0.0) for key, time in times.items()}
        steps = {key: step for key, step in steps.items() if step > 0}
        if not steps:
            return {}
        longest = max(times.values())
        self._end_s = longest if longest > self._end_s else self._end_s + max(steps.values())
        self._times |= {key: times[key] for key in steps}
        return dict.fromkeys([*steps, *((job, "sync") for job, _ in steps)], self._end_s)
