"""ACT 5 and 6: ``act_storage`` or ``act_index`` with its configuration in ``act.conf``, its log in ``act.log``.

Parameters are ACT's own settings, beside ``test`` (storage or index), ``x_rating`` (N times the 2000 reads and 1000
writes a second of a device that ACT calls 1x, in place of the two rates) and ``prep`` (true: ``act_prep`` writes the
device twice from end to end before the run, as ACT wants it of a device that is new to it).
ACT writes its device always, and mostly needs root: ``sudo: true``. It exits with 0 when it gave up; its reader tells.
"""

from __future__ import annotations

import re
from dataclasses import replace

from pipeline.collect.tools import _options as options
from pipeline.collect.tools._options import flag, whole
from pipeline.collect.tools._programs import as_asked, beside, needs, program
from pipeline.collect.work import DeviceTarget, Request, Requirement, Step, Work
from pipeline.errors import SpecError

READS_OF_1X, WRITES_OF_1X = 2000, 1000  # a second, of a device
ASSUMED_DEVICE_BYTES = 2e12
ASSUMED_BYTES_PER_S = 500e6  # of act_prep, which writes large blocks from 8 threads
PACKAGE = "no Debian package: build github.com/aerospike/act with make, and name it as `binary: /path/to/act_storage`"

_RATES = ("read-reqs-per-sec", "write-reqs-per-sec")
_RATE = whole(0, 100_000_000)
_YES = flag("yes", "no")
_BOTH = {
    "service-threads": whole(1, 65536), "test-duration-sec": whole(1, 10**7), "report-interval-sec": whole(1, 86400),
    "microsecond-histograms": _YES, "read-reqs-per-sec": _RATE, "write-reqs-per-sec": _RATE,
    "replication-factor": whole(1, 100), "defrag-lwm-pct": whole(0, 99), "disable-odsync": _YES,
    "max-lag-sec": whole(0, 10**6), "max-reqs-queued": whole(1, 10**9),
}  # fmt: skip
_OF = {
    "index": _BOTH | {"cache-threads": whole(1, 65536)},
    "storage": _BOTH | {
        "record-bytes": whole(1, 8 << 20), "record-bytes-range-max": whole(0, 8 << 20),
        "large-block-op-kbytes": whole(1, 8192), "update-pct": whole(0, 100), "no-defrag-reads": _YES,
        "compress-pct": whole(0, 100), "commit-to-device": _YES, "tomb-raider": _YES,
        "tomb-raider-sleep-usec": whole(0, 10**9), "commit-min-bytes": whole(0, 8 << 20),
    },
}  # fmt: skip
_OWN = {"test": options.choice("storage", "index"), "x_rating": options.number(0.001, 100_000), "prep": flag()}
_REFUSED = {
    "device-names": "nothing: the target is the device",
    "file-size-mbytes": "nothing: the target is a device",
    "scheduler-mode": "nothing: ACT is not to change the system; set the scheduler on the host",
}
_DEVICE = re.compile(r"/dev/[A-Za-z0-9+./:=@_-]{1,110}", re.ASCII)  # ACT keeps 127 characters, and parts words by , ; #
_BLOCK_BYTES = 20_000  # of histograms in an interval


def work(request: Request) -> Work:
    """The configuration and commands of a point; SpecError names a setting that is not allowed."""
    target = request.target
    if not isinstance(target, DeviceTarget):
        raise SpecError(f"target: expected a device for ACT, found {'none' if target is None else 'a file'}")
    if not _DEVICE.fullmatch(target.path) or ".." in target.path.split("/"):
        expected = "/dev/… of letters, digits and +./:=@_-, at most 115 characters (ACT's configuration has no quotes)"
        raise SpecError(f"target: expected {expected}, found {ascii(target.path)[:200]}")
    own = options.read(_OWN, {n: v for n, v in request.parameters.items() if n in _OWN}, "parameters")
    test = own.get("test", "storage")
    settings = _settings(request, test, own.get("x_rating"))
    act = program(request, f"act_{test}")
    prepare: tuple[Step, ...] = ()
    requirements = [Requirement(act, PACKAGE)]
    if options.is_on(own, "prep"):
        act_prep = beside(act, "act_prep")
        prepare = as_asked(request, [Step((act_prep, target.path), "act_prep.txt")])
        requirements.append(Requirement(act_prep, PACKAGE))
    duration_s = int(settings["test-duration-sec"])
    n_blocks = duration_s / int(settings.get("report-interval-sec", 1))
    lines = [f"device-names: {target.path}", *(f"{name}: {word}" for name, word in settings.items())]
    return Work(
        measure=as_asked(request, [Step((act, "act.conf"), "act.log")]), duration_s=float(duration_s), prepare=prepare,
        prepare_s=2 * ASSUMED_DEVICE_BYTES / ASSUMED_BYTES_PER_S if prepare else 0.0,
        files={"act.conf": "\n".join((*lines, ""))}, targets=(replace(target, is_written=True),),
        requirements=needs(request, *requirements), logs=("act.log",),
        free_bytes=(1 << 24) + int(n_blocks * _BLOCK_BYTES),
    )  # fmt: skip


def _settings(request: Request, test: str, rating: str | None) -> dict[str, str]:
    """ACT's settings: those of the spec, the rates from the x-rating where it names that."""
    given = {name: value for name, value in request.parameters.items() if name not in _OWN}
    settings = options.read(_OF[test], given, "parameters", _REFUSED)
    options.need("parameters", settings, "test-duration-sec")
    if rating is not None:
        for name, rate in zip(_RATES, (READS_OF_1X, WRITES_OF_1X), strict=True):
            if name in settings:
                raise options.wrong("parameters", name, "either it or x_rating", settings[name])
            settings[name] = str(round(float(rating) * rate))
    options.need("parameters", settings, *_RATES)
    if all(settings[name] == "0" for name in _RATES):
        raise options.wrong("parameters", _RATES[0], "a rate above 0 of reads or of writes", 0)
    return settings
