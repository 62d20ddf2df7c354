"""Single processors over time: what a mean over 64 hides, stretches, batch means, and what is refused."""

import numpy as np
import pytest
from frames import report, tables

from pipeline.analyse.processors.cpu_means import processor_means
from pipeline.analyse.processors.over_windows import MIN_WINDOWS, longest_stretch, memory, time_mean
from pipeline.analyse.processors.saturation import points_in_the_mean, saturation
from pipeline.errors import AnalysisError

N_DRAWS = 2000


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


def autoregressive(rng, phi, n_draws, n):
    noise = rng.normal(size=(n_draws, n + 200))
    values = np.zeros_like(noise)
    for i in range(1, n + 200):
        values[:, i] = phi * values[:, i - 1] + noise[:, i]
    return values[:, 200:]


@pytest.mark.parametrize(("phi", "n"), [(0.0, 60), (0.3, 120), (0.5, 300), (0.8, 600), (0.9, 2000)])
def test_batch_means_cover_a_series_that_remembers(phi, n):
    found = [time_mean(values) for values in autoregressive(np.random.default_rng(12), phi, N_DRAWS, n)]
    given = [estimate for estimate in found if estimate.has_interval]
    assert len(given) >= 0.95 * N_DRAWS
    assert 0.93 <= np.mean([estimate.low <= 0 <= estimate.high for estimate in given]) <= 0.97


def test_a_series_that_remembers_too_long_is_refused():
    found = [time_mean(values) for values in autoregressive(np.random.default_rng(13), 0.95, 500, 120)]
    refused = [estimate for estimate in found if not estimate.has_interval]
    assert len(refused) >= 0.98 * len(found)
    assert "need ≥" in refused[0].method
    assert memory(autoregressive(np.random.default_rng(14), 0.5, 1, 20000)[0]) == pytest.approx(3, rel=0.1)


def test_short_and_equal_series_have_no_interval():
    assert time_mean([0.5]).method == f"no interval: 1 windows, need ≥ {MIN_WINDOWS}"
    equal = time_mean([1.0] * 100)
    assert equal.value == 1
    assert not equal.has_interval
    for values in ([], [0.1, float("nan")]):
        with pytest.raises(AnalysisError, match="expected windows"):
            time_mean(values)


@pytest.mark.parametrize(
    ("flags", "longest"), [([], 0), ([0, 0], 0), ([1], 1), ([1, 1, 0, 1, 1, 1], 3), ([1, 1, 1, 0, 1], 3), ([1] * 4, 4)]
)
def test_longest_stretch(flags, longest):
    assert longest_stretch(flags) == longest
