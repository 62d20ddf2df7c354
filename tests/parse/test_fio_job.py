"""What a golden case cannot hold: files of other programs, and what fio itself makes of a job file."""

import pytest

from pipeline.errors import ParseError
from pipeline.parse._source import Source
from pipeline.parse.fio import fio_job


def parse(text):
    return fio_job.parse(Source("job.fio", text.encode()))[0]


def rows(text):
    return [(row["job"], row["name"], row["value"]) for row in parse(text).rows["parameters"]]


@pytest.mark.parametrize(
    ("text", "is_fio"),
    [
        ("[global]\nioengine=libaio\nrw=randread\nbs=4k\n", True),
        ("; comment\n\n[job]\nrw=write\nsize=1g\niodepth=4\n", True),
        ("[job]\nrw=read\n", True),
        ("[job]\nstonewall\nrw=randrw\ntime_based\n", True),
        ("rw=read\nbs=4k\nioengine=sync\n", False),
        ("[mysqld]\nport=3306\nread_rnd_buffer_size=1M\nskip-external-locking\n", False),
        ("[Desktop Entry]\nName=fio\nExec=fio\nType=Application\n", False),
        ("[tool]\nname=fio\nsize=5\nthread=4\n", False),
        ("[disk]\nsize=10g\nfilename=/dev/sda\ndirectory=/mnt\n", False),
        ("[a]\nrw=read\nbs=4k\n" + "some prose about the job file of a run\n" * 9, False),
        ('{"fio version" : "fio-3.33"}\n', False),
        ("[global]\n", False),
        ("", False),
    ],
)
def test_recognise(text, is_fio):
    assert fio_job.recognise(text) == is_fio


def test_options_and_comments():
    text = "[global]  ; of all\n bs = 4k # each\n[a]\nrw=randread:2\nfilename=/dev/a:/dev/b\nverify_pattern=\ndirect\n"
    assert rows(text) == [
        (None, "bs", "4k"), ("a", "rw", "randread:2"), ("a", "filename", "/dev/a:/dev/b"),
        ("a", "verify_pattern", ""), ("a", "direct", None),
    ]  # fmt: skip


def test_sections():
    assert rows("[global_b]\nbs=4k\n[a]\nrw=read\n[a]\nrw=write\n[c [d]]\niodepth=2\n") == [
        (None, "bs", "4k"), ("a#1", "rw", "read"), ("a#2", "rw", "write"), ("c [d]", "iodepth", "2"),
    ]  # fmt: skip


def test_what_is_no_option_is_named():
    report = parse(
        "[a]\nrw=read\nbs=4k\nRun this with care!\n{% if x %}\ninclude b.fio\n[global]\nsize={{size}}\n[b]\nrw=write\n"
    )
    assert [row["code"] for row in report.rows["warnings"]] == ["unread_lines", "include", "later_global"]
    assert report.run["is_complete"]


def test_an_open_end_is_incomplete():
    assert not parse("[a]\nrw=read\nbs=4").run["is_complete"]


def test_nothing_to_read():
    with pytest.raises(ParseError, match="a job file of fio"):
        parse("[a]\n")
