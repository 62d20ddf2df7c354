"""Private to ``fio``: the options of a job that a spec may set.

What names a file, runs a command, loads code, changes the system or writes elsewhere than to the target is not here:
filename, directory, opendir, exec_prerun, write_…_log, read_iolog, replay_…, ioscheduler, cgroup, unlink, profile ….
Neither are aliases (``readwrite``, ``blocksize``), so that no option stands in a job twice.
"""

from __future__ import annotations

from pipeline.collect.tools._options import DURATION, SIZE, Kind, choice, flag, number, pattern, whole

_ENGINES = (
    "io_uring", "libaio", "mmap", "posixaio", "psync", "pvsync", "pvsync2", "splice", "sync", "vsync",
)  # fmt: skip
_SIZES = r"[0-9]{1,15}[kKmMgGtT]?(?:i?[bB])?"
_THREE = r"{0}(?:,{0}){{0,2}}"  # for reads, writes and trims
_TIME = r"[0-9]{1,12}(?:us|ms|s|m|h|d)?"
_PART = r"[0-9]{1,3}(?:\.[0-9]{1,6})?"
_SPLIT = rf"{_SIZES}(?:/[0-9]{{1,3}})?(?::{_SIZES}(?:/[0-9]{{1,3}})?)*"
_DISTRIBUTION = rf"random|(?:zipf|pareto|normal):{_PART}(?::{_PART})?|zoned:{_PART}/{_PART}(?::{_PART}/{_PART})*"
_CPUS = r"[0-9]{1,5}(?:-[0-9]{1,5})?(?:,[0-9]{1,5}(?:-[0-9]{1,5})?)*"
_NODES = rf"all|{_CPUS}"
_HEXADECIMAL = r"0x[0-9a-fA-F]{1,256}|[0-9]{1,9}"
_REGION = rf"{_SIZES}|[0-9]{{1,2}}%|100%"

RW = ("read", "write", "trim", "randread", "randwrite", "randtrim", "rw", "randrw", "trimwrite", "randtrimwrite")
_SET = flag(off="")  # fio takes it as on even where `=0` stands behind it in an old version: left out when off
_ON = flag()
_SIZES_THREE = pattern(_THREE.format(f"(?:{_SIZES})"), "bytes, such as 4k, up to three with commas between")
_WHOLE_THREE = pattern(_THREE.format("[0-9]{1,15}"), "a whole number, up to three with commas between")
_CPU_LIST = pattern(_CPUS, "processors such as 0-3,8")
_PERCENT = whole(0, 100)
_MICROSECONDS = pattern(_TIME, "µs, or a time such as 10ms")

WHERE: dict[str, Kind] = {  # only of a device: a file's region is its target's size
    "size": pattern(_REGION, "bytes such as 10g, or a share of the device such as 50%"),
    "offset": pattern(_REGION, "bytes such as 10g, or a share of the device such as 50%"),
    "offset_align": SIZE, "offset_increment": pattern(_REGION, "bytes such as 10g, or a share such as 10%"),
    "zonecapacity": SIZE, "zonemode": choice("none", "strided"), "zonerange": SIZE, "zonesize": SIZE, "zoneskip": SIZE,
}  # fmt: skip

OPTIONS: dict[str, Kind] = {
    # what is done
    "rw": pattern(rf"(?:{'|'.join(RW)})(?::[+-]?{_SIZES})?", f"one of {', '.join(RW)}"),
    "rwmixread": _PERCENT, "rwmixwrite": _PERCENT, "rw_sequencer": choice("sequential", "identical"),
    "bs": _SIZES_THREE, "ba": _SIZES_THREE,
    "bsrange": pattern(_THREE.format(f"(?:{_SIZES}-{_SIZES})"), "a range of bytes such as 4k-64k"),
    "bssplit": pattern(_THREE.format(f"(?:{_SPLIT})"), "sizes and their shares such as 4k/60:64k/40"),
    "bs_unaligned": _SET, "bs_is_seq_rand": _ON,
    "io_size": SIZE, "number_ios": whole(1), "loops": whole(1, 10**6), "numjobs": whole(1, 4096),
    "runtime": DURATION, "time_based": _SET, "startdelay": DURATION,
    "percentage_random": _WHOLE_THREE, "random_distribution": pattern(_DISTRIBUTION, "random, zipf:1.2, pareto:0.9, …"),
    "random_generator": choice("tausworthe", "lfsr", "tausworthe64"), "norandommap": _SET, "softrandommap": _ON,
    "randrepeat": _ON, "allrandrepeat": _ON, "randseed": whole(),
    # how
    "ioengine": choice(*_ENGINES), "iodepth": whole(1, 10**6), "iodepth_batch": whole(1, 10**6),
    "iodepth_batch_complete_min": whole(0, 10**6), "iodepth_batch_complete_max": whole(0, 10**6),
    "iodepth_low": whole(1, 10**6), "io_submit_mode": choice("inline", "offload"), "serialize_overlap": _ON,
    "direct": _ON, "buffered": _ON, "atomic": _ON, "invalidate": _ON, "overwrite": _ON, "pre_read": _ON,
    "sync": choice("none", "0", "sync", "1", "dsync"), "fsync": whole(), "fdatasync": whole(), "end_fsync": _ON,
    "fsync_on_close": _ON, "write_barrier": whole(),
    "sync_file_range": pattern(r"(?:wait_before|write|wait_after)(?:,(?:wait_before|write|wait_after)){0,2}:[0-9]{1,9}",
                               "such as wait_before,write:8"),
    "fallocate": choice("none", "native", "posix", "keep", "truncate"), "fadvise_hint": choice("0", "1", "random",
                                                                                              "sequential", "noreuse"),
    "write_hint": choice("none", "not_set", "short", "medium", "long", "extreme"),
    "userspace_reap": _SET, "nowait": _ON, "hipri": _SET, "hipri_percentage": _PERCENT, "fixedbufs": _SET,
    "registerfiles": _SET, "sqthread_poll": _SET, "sqthread_poll_cpu": whole(0, 10**5), "nonvectored": whole(0, 1),
    "uncached": whole(0, 1), "force_async": whole(0, 10**6),
    "cmdprio_percentage": _WHOLE_THREE, "cmdprio_class": _WHOLE_THREE, "cmdprio": _WHOLE_THREE,
    "prio": whole(0, 7), "prioclass": whole(0, 3), "nice": whole(-20, 19),
    "thread": _SET, "cpus_allowed": _CPU_LIST, "cpus_allowed_policy": choice("shared", "split"),
    "numa_cpu_nodes": pattern(_NODES, "NUMA nodes such as 0-1, or all"),
    "numa_mem_policy": pattern(rf"default|local|(?:prefer|bind|interleave):(?:{_CPUS})", "such as bind:0"),
    "mem": choice("malloc", "shm", "shmhuge", "mmap", "mmapshared"), "iomem_align": SIZE, "lockmem": SIZE,
    "hugepage-size": SIZE,
    # how fast
    "rate": _SIZES_THREE, "rate_min": _SIZES_THREE, "rate_iops": _WHOLE_THREE, "rate_iops_min": _WHOLE_THREE,
    "rate_process": choice("linear", "poisson"), "rate_cycle": whole(1), "rate_ignore_thinktime": _ON,
    "thinktime": _MICROSECONDS, "thinktime_spin": _MICROSECONDS, "thinktime_blocks": whole(1),
    "thinktime_blocks_type": choice("complete", "issue"), "thinktime_iotime": _MICROSECONDS,
    "latency_target": _MICROSECONDS, "latency_window": _MICROSECONDS, "latency_percentile": number(0, 100),
    "latency_run": _ON, "max_latency": pattern(_THREE.format(f"(?:{_TIME})"), "µs, or a time such as 10ms"),
    "steadystate": pattern(r"(?:iops|bw|iops_slope|bw_slope):[0-9]{1,12}(?:\.[0-9]{1,6})?%?", "such as iops:0.3%"),
    "steadystate_duration": DURATION, "steadystate_ramp_time": DURATION,
    # what is in the buffers
    "zero_buffers": _SET, "refill_buffers": _SET, "scramble_buffers": _ON, "buffer_compress_percentage": _PERCENT,
    "buffer_compress_chunk": SIZE, "buffer_pattern": pattern(_HEXADECIMAL, "a number such as 0xdeadbeef"),
    "dedupe_percentage": _PERCENT,
    "verify": choice("0", "md5", "crc64", "crc32c", "crc32", "crc16", "crc7", "xxhash", "sha512", "sha256", "sha1",
                     "sha3-256", "sha3-512", "pattern"),
    "verify_pattern": pattern(_HEXADECIMAL, "a number such as 0xdeadbeef"), "verify_fatal": _ON, "do_verify": _ON,
    "verify_interval": SIZE, "verify_backlog": whole(),
    # what is reported
    "group_reporting": _SET, "unified_rw_reporting": choice("none", "mixed", "both", "0", "1", "2"),
    "clat_percentiles": _ON, "lat_percentiles": _ON, "slat_percentiles": _ON,
    "percentile_list": pattern(rf"{_PART}(?::{_PART}){{0,19}}", "percentiles such as 50:99:99.9"),
    "significant_figures": whole(1, 10), "disk_util": _ON, "gtod_reduce": _ON, "disable_lat": _ON,
    "disable_clat": _ON, "disable_slat": _ON, "disable_bw_measurement": _ON, "clocksource": choice("gettimeofday",
                                                                                                  "clock_gettime",
                                                                                                  "cpu"),
    "continue_on_error": choice("none", "read", "write", "io", "verify", "all"),
    # how its logs are written
    "log_avg_msec": whole(0, 10**7), "log_hist_msec": whole(1, 10**7), "log_hist_coarseness": whole(0, 6),
    "log_max_value": _ON, "log_offset": _ON, "log_unix_epoch": _ON,
}  # fmt: skip

REFUSED = {
    **dict.fromkeys(("filename", "directory", "opendir", "filesize", "nrfiles", "filename_format"),
                    "no file: the target says it"),
    **dict.fromkeys(("exec_prerun", "exec_postrun"), "nothing: no command is run beside fio"),
    **dict.fromkeys(("write_lat_log", "write_bw_log", "write_iops_log", "write_hist_log"),
                    "nothing: `logs: [latency, histogram, bandwidth, iops]` writes them"),
    "ramp_time": "nothing: `warm_up_s` sets it",
    "readwrite": "this option under the name rw", "blocksize": "this option under the name bs",
    **dict.fromkeys(WHERE, "a device as target: of a file, size_bytes says how large it is"),
}  # fmt: skip
