"""The result of a comparison: rows with verdicts, what is unmatched and left out, and what it says in words."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from pipeline.analyse.comparison.rank_sum import alpha_of

KIND = ["tool", "op", "phase", "part", "measure", "unit"]
IDENTITY = ["point", *KIND]
COLUMNS = [*IDENTITY, "better", "n_a", "median_a", "median_a_low", "median_a_high", "n_b", "median_b", "median_b_low",
           "median_b_high", "ratio", "ratio_low", "ratio_high", "p", "p_holm", "method", "n_needed",
           "verdict"]  # fmt: skip
UNMATCHED = ["side", *IDENTITY, "n", "median", "median_low", "median_high"]
GEOMEANS = [*KIND, "n_points", "ratio", "ratio_low", "ratio_high"]
BETTER, WORSE, DIFFERS, SAME, FEW = "better", "worse", "differs", "no difference", "not enough"


@dataclass(frozen=True)
class Comparison:
    """Two sides compared.

    ``frame`` (COLUMNS): a row a measure at a matched point, medians in ``unit``, ``ratio`` is B / A; null where it
    cannot be had (the interval of too few runs, the ratio of values that are not all above 0). ``verdict`` is "better"
    or "worse" (B against A), "differs" (no direction is the better one), "no difference" (none was shown), or "not
    enough": a median has no interval, or no outcome of so many repeats could be significant; ``n_needed`` a side would
    do. ``unmatched``: what one side
    has alone. ``geomeans``: of the ratios over the points. ``excluded``: reports left out, with the reason.
    ``values``: what was compared, a row a run.
    """

    name_a: str
    name_b: str
    frame: pd.DataFrame
    unmatched: pd.DataFrame
    geomeans: pd.DataFrame
    excluded: pd.DataFrame
    values: pd.DataFrame
    confidence: float
    warnings: tuple[str, ...]

    @property
    def alpha(self) -> float:
        """The share of tables without any real difference in which one is reported all the same, at most."""
        return alpha_of(self.confidence)

    def to_frame(self) -> pd.DataFrame:
        """The compared rows, then what is unmatched, with one side's columns and the verdict "only in A" or "… B"."""
        rest = []
        for row in self.unmatched.to_dict("records"):
            name = str(row["side"]).lower()
            own = {f"n_{name}": row["n"]} | {f"{key.replace('median', f'median_{name}')}": row[key]
                                             for key in ("median", "median_low", "median_high")}  # fmt: skip
            rest.append({key: row[key] for key in IDENTITY} | own | {"verdict": f"only in {row['side']}"})
        return pd.concat([self.frame, pd.DataFrame(rest, columns=COLUMNS)]) if rest else self.frame

    def counts(self) -> dict[str, int]:
        """How many rows came to which verdict."""
        return {str(name): int(count) for name, count in self.frame["verdict"].value_counts().items()}

    def regressions(self, threshold: float) -> pd.DataFrame:
        """Rows that are worse, significantly after Holm, by a ratio more than ``threshold`` (0.05: 5 %) from 1.

        The estimate must be beyond the threshold, not the whole interval. A row without a ratio (zeros) that is
        significantly worse counts: no threshold can excuse it.
        """
        worse = self.frame[self.frame["verdict"] == WORSE]
        ratio = worse["ratio"].astype(float)
        change = (ratio - 1).where(worse["better"] == "lower", 1 - ratio)
        return worse[change.isna() | (change > threshold)]

    def numbers(self) -> dict[str, object]:
        """Everything but the values of the runs, for results.json."""
        return {
            "a": self.name_a, "b": self.name_b, "confidence": self.confidence, "n_comparisons": len(self.frame),
            "verdicts": self.counts(), "rows": self.frame, "geometric_means": self.geomeans,
            "unmatched": self.unmatched, "excluded": self.excluded, "warnings": list(self.warnings),
        }  # fmt: skip

    def sentence(self) -> str:
        """One sentence: how many rows came to which verdict, the clearest effect, n, interval, assumption."""
        m = len(self.frame)
        if not m:
            return f"{self.name_b} and {self.name_a} have nothing in common that could be compared."
        counts = self.counts()
        found = ", ".join(f"{counts[name]} {name}" for name in (BETTER, WORSE, DIFFERS, SAME, FEW) if name in counts)
        n_points = self.frame["point"].nunique()
        text = f"{self.name_b} against {self.name_a}, {_counted(m, 'comparison')} at {_counted(n_points, 'point')}"
        text += f": {found}"
        if FEW in counts:
            needed = int(self.frame.loc[self.frame["verdict"] == FEW, "n_needed"].max())
            text += f" (need ≥ {needed} repeats a side)"
        return f"{text}; {self._clearest()}; {self._assumptions()}."

    def _clearest(self) -> str:
        """The row with the smallest p; where no row could be decided, how many runs there were."""
        if (self.frame["verdict"] == FEW).all():
            sizes = self.frame[["n_a", "n_b"]].to_numpy()
            return f"{sizes.min()} to {sizes.max()} runs a side" if sizes.min() < sizes.max() else (
                f"{_counted(int(sizes.max()), 'run')} a side")  # fmt: skip
        row = self.frame.loc[self.frame["p"].astype(float).idxmin()]
        what = " ".join(str(row[key]) for key in ("point", "op", "measure") if not pd.isna(row[key]))
        text = f"the smallest p is that of {what}, {row['n_b']:d} against {row['n_a']:d} runs: "
        if pd.isna(row["ratio"]):
            text += "no ratio"
        elif pd.isna(row["ratio_low"]):
            text += f"ratio {row['ratio']:.4g}, too few runs for an interval"
        else:
            ends = f"{row['ratio_low']:.4g} to {row['ratio_high']:.4g}"
            text += f"ratio {row['ratio']:.4g}, {self.confidence:.0%} interval {ends}"
        return f"{text}, p = {row['p']:.2g}, {row['p_holm']:.2g} after Holm"

    def _assumptions(self) -> str:
        return (
            f"two-sided Mann-Whitney tests of runs taken as independent, Holm over all {len(self.frame)} at "
            f"{self.alpha:.2g}; a ratio's interval stands for itself and assumes that both sides have one shape on a "
            "logarithmic axis"
        )


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
