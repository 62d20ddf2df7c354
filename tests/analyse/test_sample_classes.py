"""Classes: the rules that come with the package, users' own, and what is wrong with a file of rules."""

import pandas as pd
import pytest
import yaml
from frames import tables
from hypothesis import given, settings
from hypothesis import strategies as st
from profile_frames import hotspots

from pipeline.analyse.processors.hotspots import hot_spots
from pipeline.analyse.processors.profiles import Profile, symbol_profile
from pipeline.analyse.processors.sample_classes import UNCLASSIFIED, class_rules, classified, unclassified_symbols
from pipeline.errors import AnalysisError, SpecError
from pipeline.report.class_rules import load_class_rules

OWN = load_class_rules()
NAMES = {rule.name for rule in OWN}


def class_of(symbol, shared_object="[kernel.kallsyms]", privilege="k", command="fio", rules=OWN):
    row = {"symbol": symbol, "n_samples": 1, "shared_object": shared_object, "privilege": privilege, "command": command}
    profile = symbol_profile(tables(hotspots("a", row)), {"side": ["a"]})
    return classified(profile, rules).frame["class"].iloc[0]


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("xen_hypercall_event_channel_op", "hypervisor"),  # of the article on i3.metal
        ("xen_hypercall_xen_version", "hypervisor"),
        ("iowrite16", "hypervisor"),
        ("kvm_vcpu_halt", "hypervisor"),
        ("pv_native_safe_halt", "idle"),
        ("mwait_idle_with_hints.constprop.0", "idle"),
        ("handle_softirqs", "interrupt"),
        ("__do_softirq", "interrupt"),
        ("asm_common_interrupt", "interrupt"),
        ("handle_irq_event_percpu", "interrupt"),
        ("finish_task_switch.isra.0", "scheduler"),
        ("try_to_wake_up", "scheduler"),
        ("_raw_spin_unlock_irqrestore", "interrupts off"),
        ("_raw_spin_lock", "locks"),
        ("native_queued_spin_lock_slowpath", "locks"),
        ("ext4_file_read_iter", "file system"),
        ("xfs_file_dio_read", "file system"),
        ("blk_mq_submit_bio", "kernel I/O"),
        ("nvme_queue_rq", "kernel I/O"),
        ("io_submit_sqes", "kernel I/O"),
        ("tcp_sendmsg_locked", "network"),
        ("napi_gro_receive", "network"),
        ("__alloc_pages_noprof", "memory"),
        ("ktime_get", "clock and timers"),
        ("entry_SYSCALL_64", "system call entry"),
        ("_copy_to_iter", "copying"),
        ("something_nobody_knows", "other kernel"),
    ],
)
def test_kernel_symbols(symbol, name):
    assert class_of(symbol) == name


@pytest.mark.parametrize(
    ("symbol", "shared_object", "name"),
    [
        ("fio_gettime", "fio", "application"),
        ("tcp_input", "/opt/seastar/scylla", "application"),  # a name like the kernel's in user code
        ("blk_read", "diskspd.exe", "application"),
        ("schedule", "java", "application"),
        ("__libc_pread", "/usr/lib/x86_64-linux-gnu/libc.so.6", "C library"),
        ("__vdso_clock_gettime", "[vdso]", "clock and timers"),
        ("pthread_mutex_lock", "libpthread-2.31.so", "locks"),
    ],
)
def test_user_symbols(symbol, shared_object, name):
    assert class_of(symbol, shared_object, ".") == name


def test_a_module_tells_its_class_and_an_unknown_place_has_none():
    assert class_of("0x00000000000012ab", "[nvme]") == "kernel I/O"
    assert class_of("[unknown]", "[unknown]", None) == UNCLASSIFIED


def test_the_first_rule_that_matches_wins_and_all_its_expressions_must():
    rules = class_rules({"format": 1, "rules": [
        {"class": "mine", "symbol": "^f", "command": "^fio$"}, {"class": "second", "symbol": "f"}]})  # fmt: skip
    assert class_of("foo", rules=rules) == "mine"
    assert class_of("foo", command="java", rules=rules) == "second"
    assert class_of("bar", rules=rules) == UNCLASSIFIED


def test_what_no_rule_takes_is_listed_with_its_share():
    profile = symbol_profile(tables(hotspots("a", ("f", 30), ("g", 60), ("h", 10))), {"side": ["a"]})
    rules = class_rules({"format": 1, "rules": [{"class": "mine", "symbol": "^h$"}]})
    found = unclassified_symbols(classified(profile, rules))
    assert list(zip(found["symbol"], found["share_ratio"], strict=True)) == [("g", 0.6), ("f", 0.3)]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(max_size=20), st.sampled_from(["k", ".", "g", "H", None]), st.integers(1, 99)), min_size=1
    )
)
def test_every_sample_is_in_one_class(rows):
    frame = pd.DataFrame(rows, columns=["symbol", "privilege", "n_samples"])
    frame = frame.assign(side="s", run_id="a", shared_object=None, command="fio", overhead_ratio=None)
    found = hot_spots(classified(Profile(frame, "cycles", ("s",), ()), OWN), by=["class"])
    assert found.shares["n_samples"].sum() == sum(n for _, _, n in rows)
    assert found.shares["class"].is_unique
    assert set(found.shares["class"]) <= {*NAMES, UNCLASSIFIED}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "expected a mapping with format"),
        ({"format": 2, "rules": []}, "expected a mapping with format"),
        ({"format": 1, "rules": []}, "expected a list of rules"),
        ({"format": 1, "rules": [{"symbol": "f"}]}, "rule 1: expected a mapping with a class"),
        ({"format": 1, "rules": [{"class": "a"}]}, r"rule 1 \(a\): expected at least one"),
        (
            {"format": 1, "rules": [{"class": "a", "symbol": "f"}, {"class": "b", "name": "f"}]},
            r"rule 2: unknown \['name'\]",
        ),
        ({"format": 1, "rules": [{"class": "a", "symbol": "("}]}, "no regular expression"),
        ({"format": 1, "rules": [{"class": "a", "symbol": 3}]}, "as text, found 3"),
    ],
)
def test_rules_that_are_none_are_refused(content, message):
    with pytest.raises(AnalysisError, match=message):
        class_rules(content)


def test_a_file_of_rules_by_a_user(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({"format": 1, "rules": [{"class": "mine", "symbol": "."}]}), "utf-8")
    assert [rule.name for rule in load_class_rules(str(path))] == ["mine"]
    path.write_text("format: 1\nrules: [{class: a, symbol: (}]\n", "utf-8")
    with pytest.raises(SpecError, match=r"mine\.yaml: "):
        load_class_rules(str(path))
    path.write_text("!!python/object/apply:os.getcwd []\n", "utf-8")
    with pytest.raises(SpecError, match="could not determine a constructor"):
        load_class_rules(str(path))
    with pytest.raises(SpecError, match="No such file"):
        load_class_rules(str(tmp_path / "none.yaml"))
