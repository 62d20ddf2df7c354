"""Private to ``stress_ng``: the stressors and options that a spec may set.

Stressors that only use processor, memory, pipes and sockets inside the machine, or a file in the folder given. Not
here: whatever changes or breaks the system (reboot, cpu-online, module, oom-inducing ones …), sends packets, needs
root, or runs classes of stressors at once.
"""

from __future__ import annotations

from pipeline.collect.tools._options import WHOLE_DURATION, Kind, flag, pattern, whole

PLAIN = (
    "af-alg", "atomic", "bsearch", "branch", "cache", "context", "cpu", "crypt", "eventfd", "fork", "fp", "fma",
    "futex", "getrandom", "hash", "heapsort", "hsearch", "l1cache", "lsearch", "malloc", "matrix", "matrix-3d",
    "memcpy", "memrate", "memthrash", "mergesort", "mq", "msg", "mutex", "nanosleep", "pipe", "poll", "prefetch",
    "prime", "qsort", "radixsort", "sem", "sem-sysv", "shellsort", "skiplist", "str", "stream", "switch", "timer",
    "tlb-shootdown", "tree", "trig", "tsearch", "vecfp", "vecmath", "vecwide", "vm", "vm-rw", "wcs", "yield", "zlib",
)  # fmt: skip
ON_DISK = ("aio", "fallocate", "hdd", "iomix", "readahead", "seek", "sync-file")  # they write to --temp-path
BYTES = {"fallocate": "fallocate-bytes", "hdd": "hdd-bytes", "iomix": "iomix-bytes", "readahead": "readahead-bytes",
         "seek": "seek-size", "sync-file": "sync-file-bytes"}  # fmt: skip
AIO_BYTES = 1 << 20  # of a worker of aio, whose file has some KiB

_COUNT = whole(0, 65536)
_COUNT_ON_DISK = whole(1, 4096)  # 0, one a processor, would leave open how much is written
_OPS = whole(1)
_METHOD = pattern(r"[a-z0-9][a-z0-9_-]{0,40}", "the name of a method")
_SIZE = r"[0-9]{1,15}[kKmMgGtT]?"
_MEMORY = pattern(rf"{_SIZE}|[1-8]?[0-9]%|90%", "bytes such as 256m, or a share of the memory, at most 90%")
_BYTES = pattern(_SIZE, "bytes such as 4096, 4k or 1g")
SWITCH = flag(off="")

OPTIONS: dict[str, Kind] = {
    "timeout": WHOLE_DURATION,
    **dict.fromkeys(PLAIN, _COUNT), **dict.fromkeys(ON_DISK, _COUNT_ON_DISK),
    **{f"{name}-ops": _OPS for name in (*PLAIN, *ON_DISK)},
    **{f"{name}-method": _METHOD for name in (
        "cpu", "fp", "hash", "l1cache", "matrix", "matrix-3d", "memcpy", "memthrash", "prime", "str", "switch", "tree",
        "trig", "vm", "wcs", "zlib")},
    **{f"{name}-size": _BYTES for name in ("bsearch", "heapsort", "hsearch", "lsearch", "matrix", "matrix-3d",
                                           "mergesort", "qsort", "radixsort", "shellsort", "tree", "tsearch")},
    **dict.fromkeys(BYTES.values(), _BYTES),
    "cpu-load": whole(0, 100), "cpu-load-slice": whole(-1000, 1000), "cpu-old-metrics": SWITCH,
    "cache-level": whole(1, 5), "cache-ways": whole(1, 64), "cache-flush": SWITCH, "cache-fence": SWITCH,
    "cache-prefetch": SWITCH, "fork-max": whole(1, 1024), "hdd-write-size": _BYTES,
    "hdd-opts": pattern(r"[a-z-]{2,20}(?:,[a-z-]{2,20}){0,10}", "options such as direct,sync"),
    "malloc-bytes": _MEMORY, "malloc-max": whole(1), "malloc-pthreads": whole(0, 32), "malloc-touch": SWITCH,
    "memrate-bytes": _MEMORY, "memrate-rd-mbs": whole(1), "memrate-wr-mbs": whole(1), "aio-requests": whole(1, 4096),
    "pipe-data-size": _BYTES, "pipe-size": _BYTES, "poll-fds": whole(1, 8192), "sem-procs": whole(2, 64),
    "mutex-procs": whole(2, 64), "mutex-affinity": SWITCH, "nanosleep-threads": whole(1, 1024),
    "stream-index": whole(0, 3), "stream-l3-size": _BYTES, "switch-freq": whole(0, 10**9),
    "timer-freq": whole(1, 10**9), "timer-rand": SWITCH, "vm-bytes": _MEMORY, "vm-rw-bytes": _MEMORY, "vm-keep": SWITCH,
    "vm-hang": whole(0, 3600), "vm-locked": SWITCH, "vm-populate": SWITCH, "zlib-level": whole(0, 9),
    "taskset": pattern(r"[0-9]{1,5}(?:-[0-9]{1,5})?(?:,[0-9]{1,5}(?:-[0-9]{1,5})?)*", "processors such as 0-3,8"),
    "seed": whole(), "no-rand-seed": SWITCH, "perf": SWITCH, "verify": SWITCH,
}  # fmt: skip

REFUSED = {
    **dict.fromkeys(("temp-path", "yaml", "log-file", "job", "stressors"), "nothing: it names a file"),
    **dict.fromkeys(("all", "sequential", "class", "random"), "each stressor by its name"),
    **dict.fromkeys(("oomable", "pathological", "sched", "ionice-class", "syslog", "ftrace", "iostat", "vmstat"),
                    "an option of the load itself"),
}  # fmt: skip
