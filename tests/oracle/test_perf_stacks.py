"""Stacks of perf script against what stackcollapse-perf.pl and inferno-collapse-perf made of the same text."""

import math
import re
from collections import Counter

import pytest

import pipeline

DELETED = "the file is (deleted): the others take `deleted)` for its name, or part of the symbol for the file"
NO_SYMBOL = "old perf prints nothing for an unknown symbol: here [file], there a blank"
LAST = "no empty line ends the last sample: here it counts and the report is incomplete, there it is left out"
OLD_JAVA = "with ids, collapsers of 2018 and before leave Java's L, for they know java by its whole name"
EVENTS = "two events, of which the other's option takes both"
# Script, folded, and why how many stacks may differ.
OURS = [
    ("script/own61_a_g_cpuclock_fio.txt.zst", "folded/own61_a_g_cpuclock_fio.folded", DELETED, 4),
    ("script/own61_a_g_cpuclock_fio.txt.zst", "folded/own61_a_g_cpuclock_fio-all.folded", DELETED, 4),
    ("script/own61_a_g_cpuclock_fio.txt.zst", "folded/own61_a_g_cpuclock_fio-tid.folded", DELETED, 4),
    ("script/own61_a_g_header_first3000.txt", "folded/own61_F_pidtid_first3000-kernel.folded", LAST, 1),
    ("script/own61_a_g_header_first3000.txt", "folded/own61_F_pidtid_first3000-all.folded", LAST, 1),
    ("large/own61_script_a_g_big.txt.zst", "large/own61_script_a_g_big.folded", DELETED, 28),
]
PUBLISHED = {
    "fg__perf-vertx-stacks-01.txt": (NO_SYMBOL + "; " + LAST, 3),
    "fg__perf-dd-stacks-01.txt": (LAST, 1),
    "fg__perf-iperf-stacks-pidtid-01.txt": (LAST, 1),
    "fg__perf-java-stacks-01.txt": (LAST, 1),
    "fg__perf-mirageos-stacks-01.txt": (LAST, 1),
    "inferno__single-line-stacks.txt": (EVENTS, 1),
    "inferno__single-event.txt": ("inferno completes Rust names that perf left half mangled", 2),
}
ANNOTATION = re.compile(r"_\[[kj]\]|(?<=\S) <[0-9a-f]+>(?=\])")
JAVA_L = re.compile(r"(?:^|(?<=;))L(?=[^;]*/)")  # OLD_JAVA
IDS = re.compile(r"-(?:\?|\d+)(?:/\d+)?$")


def folded(path, *, has_ids, is_plain):
    """Counts by command;stack as the file has them, without what only an option of the collapsers adds."""
    counts = Counter()
    for line in path.read_text("utf-8").splitlines():
        stack, _, n = line.rpartition(" ")
        command, _, rest = stack.partition(";")
        if has_ids:
            command = IDS.sub("", command)
            rest = JAVA_L.sub("", rest) if command == "java" else rest
        counts[command, rest if is_plain else ANNOTATION.sub("", rest)] += int(n)
    return counts


def ours(path, *, is_plain, as_samples):
    """Of the first event, as the collapsers count: periods where there are any."""
    stacks = pipeline.read(path).perf_stacks
    first = stacks[stacks["event"] == stacks["event"].iloc[0]]
    counts = Counter()
    for command, stack, n, period in zip(
        first["command"], first["stack"].fillna(""), first["n_samples"], first["period"], strict=True
    ):
        text = stack if is_plain else ANNOTATION.sub("", stack)
        counts[command.replace(" ", "_"), text] += int(n if as_samples or math.isnan(period) else period)
    return counts


def differences(left, right):
    return {key: (left[key], right[key]) for key in left.keys() | right.keys() if left[key] != right[key]}


def compare(script, collapsed, reason, n_most):
    name = collapsed.name
    has_ids = re.search(r"-[pt]id\.", name) is not None
    is_plain = re.search(r"-(all|kernel|jit|addrs)\.", name) is None
    theirs = folded(collapsed, has_ids=has_ids, is_plain=is_plain)
    # Older collapsers count samples whatever their periods.
    found = min(
        (differences(ours(script, is_plain=is_plain, as_samples=as_samples), theirs) for as_samples in (False, True)),
        key=len,
    )
    assert len(found) <= n_most, f"{name}: {reason}: {list(found.items())[:4]}"


@pytest.mark.parametrize(("script", "collapsed", "reason", "n_most"), OURS)
def test_own_stacks(samples, script, collapsed, reason, n_most):
    compare(samples / "perf" / script, samples / "perf" / collapsed, reason, n_most)


def test_published_stacks(samples):
    base = samples.parent / "published" / "perf"
    n_compared, problems = 0, []
    for script in sorted(base.glob("script/*")):
        file = script.name.removesuffix(".gz").removesuffix(".zst")
        stem = re.escape(file.rpartition(".")[0])
        reason, n_most = PUBLISHED.get(file, ("", 0))
        for collapsed in sorted(base.glob("folded/*")):
            if re.fullmatch(rf"{stem}(-collapsed.*\.txt|\.folded)", collapsed.name):
                n_compared += 1
                try:
                    compare(script, collapsed, reason, n_most)
                except AssertionError as error:
                    problems.append(f"{script.name}: {error}")
    assert not problems
    assert n_compared > 80
