"""Single processors over time: what a mean over 64 hides, stretches, intervals, and what is refused."""

import numpy as np
import pytest
from frames import report, tables

from pipeline.analyse.processors.cpu_means import processor_means
from pipeline.analyse.processors.saturation import longest_stretch, points_in_the_mean, saturation
from pipeline.analyse.steadiness.series_mean import series_mean
from pipeline.errors import AnalysisError


def recorded(run_id, shares, *, kind="user", tool="mpstat", point=None, **columns):
    """mpstat's rows: ``shares`` by processor, a window of 1 s each; with the mean over all and the tool's own means."""
    made = report(run_id, tool, point=point)

    def add(cpu, busy, which, **when):
        made.add("cpu_usage", cpu=cpu, busy_ratio=busy, idle_ratio=None if busy is None else 1 - busy,
                 **{f"{name}_ratio": (busy or 0.0) if name == which else 0.0 for name in
                    ("user", "kernel", "irq", "softirq", "steal")}, **{**columns, **when})  # fmt: skip

    n = len(next(iter(shares.values())))
    for window in range(n):
        when = {"time_s": window + 1.0, "window_s": 1.0}
        add("all", float(np.mean([values[window] or 0 for values in shares.values()])), kind, **when)
        for cpu, values in shares.items():
            add(
                cpu,
                None if values[window] is None else float(values[window]),
                kind[cpu] if isinstance(kind, dict) else kind,
                **when,
            )
    for cpu, values in shares.items():
        add(cpu, float(np.mean([value or 0 for value in values])), "user")  # Average:
    return made


def test_two_interrupt_processors_hidden_in_the_mean_of_64():
    rng = np.random.default_rng(11)
    shares = {str(cpu): rng.uniform(0.02, 0.1, 120) for cpu in range(64)}
    shares["3"], shares["35"] = np.full(120, 1.0), np.r_[np.full(30, 0.5), np.full(90, 0.99)]
    kind = {cpu: "irq" if cpu == "3" else "softirq" if cpu == "35" else "user" for cpu in shares} | {"all": "user"}
    found = saturation(tables(recorded("r", shares, kind=kind)))
    saturated = found.saturated().set_index("cpu")
    assert set(saturated.index) == {"3", "35"}
    assert saturated["kind"].to_dict() == {"3": "irq", "35": "softirq"}
    assert saturated["saturated_ratio"].to_dict() == {"3": 1.0, "35": 0.75}
    assert saturated["longest_s"].to_dict() == {"3": 120.0, "35": 90.0}
    hidden = found.hidden().iloc[0]
    assert hidden["mean_ratio"] < 0.1
    assert (hidden["n_cpus"], hidden["n_saturated"], hidden["saturated"]) == (64, 2, "3, 35")
    assert "2 of 64 processors were saturated" in found.sentence()
    assert "CPU 3 (irq, 100% of the time, longest 120 s), 35 (softirq, 75%" in found.sentence()
    assert "1 of 1 runs hide a saturated processor" in found.sentence()
    assert found.most_uneven() == "r"
    assert points_in_the_mean(2, 64) == 0.03125


def test_a_threshold_of_20_per_cent_as_the_article_reads_its_figure():
    shares = {"0": [0.1] * 9 + [0.3], "1": [0.9] * 10}
    found = saturation(tables(recorded("r", shares)), threshold=0.2).frame.set_index("cpu")
    assert found["saturated_ratio"].to_dict() == {"0": pytest.approx(0.1), "1": 1.0}


def test_nobody_saturated():
    found = saturation(tables(recorded("r", {"0": [0.5, 0.7], "1": [0.94, 0.2]}), recorded("s", {"0": [0.1, 0.1]})))
    assert found.hidden().empty
    assert "No processor was saturated" in found.sentence()
    assert (
        "the busiest, CPU 0, was 60% busy on average in r (2 windows), where the mean over all was 58%"
        in found.sentence()
    )


def test_the_whole_runs_means_beside_windows_are_not_counted_twice():
    frame = saturation(tables(recorded("r", {"0": [0.2, 0.4]}))).frame
    assert list(frame["n_windows"]) == [2]
    assert list(frame["observed_s"]) == [2.0]


def test_only_the_mean_over_all_is_refused_with_the_command():
    made = report("r", "mpstat")
    made.add("cpu_usage", cpu="all", time_s=1.0, window_s=1.0, busy_ratio=0.1)
    with pytest.raises(AnalysisError, match="only the mean over all processors: mpstat -P ALL 1"):
        saturation(tables(made))
    with pytest.raises(AnalysisError, match="no rows of cpu_usage"):
        saturation(tables(report("r")))
    both = saturation(tables(made, recorded("s", {"0": [0.2, 0.4]})))
    assert "1 reports have only the mean" in both.warnings[0]


def test_one_mean_over_the_whole_run_says_nothing_over_time():
    made = report("r", "diskspd")
    made.add("cpu_usage", cpu="0", time_s=60.0, window_s=60.0, busy_ratio=0.99, user_ratio=0.9, kernel_ratio=0.09)
    found = saturation(tables(made))
    assert found.frame["saturated_ratio"].isna().all()
    assert found.frame["busy_ratio"].iloc[0] == 0.99
    assert "is not known" in found.sentence()
    assert "nothing is known over time" in found.warnings[0]


def test_a_missing_window_ends_a_stretch_and_is_left_out():
    found = saturation(tables(recorded("r", {"0": [1.0, 1.0, None, 1.0, 0.0]})))
    row = found.frame.iloc[0]
    assert (row["n_windows"], row["longest_s"], row["saturated_ratio"]) == (4, 2.0, 0.75)
    assert "1 windows without a busy share" in found.warnings[0]


def test_busy_from_idle_and_steal_counts():
    made = report("r", "sar")
    for time in (1.0, 2.0):
        made.add(
            "cpu_usage",
            cpu="0",
            time_s=time,
            window_s=1.0,
            idle_ratio=0.0,
            iowait_ratio=0.02,
            user_ratio=0.1,
            steal_ratio=0.88,
        )
    row = saturation(tables(made)).frame.iloc[0]
    assert row["busy_ratio"] == pytest.approx(0.98)
    assert row["kind"] == "steal"
    assert row["saturated_ratio"] == 1


def test_nodes_and_sockets_are_groups():
    made = [
        recorded("r", {"0": [0.2, 0.4]}, node="0", socket="0"),
        recorded("r", {"1": [1.0, 1.0]}, node="1", socket="1", tool="sar"),
    ]
    groups = saturation(tables(*made)).groups
    assert groups[["node", "n_cpus", "mean_ratio", "largest_ratio"]].to_numpy().tolist() == [
        ["0", 1, pytest.approx(0.3), pytest.approx(0.3)], ["1", 1, 1.0, 1.0]]  # fmt: skip


def test_means_over_repeats():
    made = [recorded(f"r{i}", {"0": [share, share], "1": [0.1, 0.1]}) for i, share in enumerate((0.5, 0.6, 0.7))]
    found = processor_means(saturation(tables(*made)), {"p": ["r0", "r1", "r2"]})
    row = found.frame.set_index(["cpu", "measure"]).loc[("0", "busy_ratio")]
    assert row["mean_ratio"] == pytest.approx(0.6)
    assert row["high_ratio"] - row["low_ratio"] == pytest.approx(2 * 4.302652729911275 * 0.1 / np.sqrt(3))
    assert "CPU 0 on p 60% busy (35% to 85%, 95%, 3 runs)" in found.sentence()
    one = processor_means(saturation(tables(made[0])), {"p": ["r0", "gone"]})
    assert one.frame["low_ratio"].isna().all()
    assert one.warnings == ("1 runs of p have no single processors.",)
    with pytest.raises(AnalysisError, match="in the runs of q"):
        processor_means(saturation(tables(made[0])), {"q": ["gone"]})


@pytest.mark.parametrize(("n_full", "n_cpus"), [(-1, 4), (5, 4), (0, 0)])
def test_shares_of_a_mean_that_are_none(n_full, n_cpus):
    with pytest.raises(AnalysisError, match="at least one processor"):
        points_in_the_mean(n_full, n_cpus)


def autoregressive(phi, n, seed):
    noise = np.random.default_rng(seed).normal(scale=0.02, size=n + 200)
    values = np.zeros(n + 200)
    for i in range(1, n + 200):
        values[i] = phi * values[i - 1] + noise[i]
    return np.clip(0.6 + values[200:], 0, 1)


def test_a_processors_interval_knows_that_windows_remember_and_is_none_where_they_tell_too_little():
    shares = {"0": autoregressive(0.3, 120, 1), "1": autoregressive(0.99, 120, 2), "2": np.ones(120)}
    found = saturation(tables(recorded("r", shares))).frame.set_index("cpu")
    expected = series_mean(shares["0"]).estimate
    assert found.loc["0", ["low_ratio", "high_ratio"]].tolist() == [expected.low, expected.high]
    assert found.loc[["1", "2"], ["low_ratio", "high_ratio"]].isna().all(axis=None)
    assert found["busy_ratio"].tolist() == pytest.approx([values.mean() for values in shares.values()])
    short = saturation(tables(recorded("r", {"0": shares["0"][:59]}))).frame
    assert short[["low_ratio", "high_ratio"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("flags", "longest"), [([], 0), ([0, 0], 0), ([1], 1), ([1, 1, 0, 1, 1, 1], 3), ([1, 1, 1, 0, 1], 3), ([1] * 4, 4)]
)
def test_longest_stretch(flags, longest):
    assert longest_stretch(flags) == longest
