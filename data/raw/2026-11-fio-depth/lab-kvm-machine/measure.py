#!/usr/bin/env python3
"""Measure the campaign 2026-11-fio-depth: needs root, fio, zstd, losetup and 8 GiB under DIR.

    python3 measure.py DIR OUT

Writes OUT/<point>-r<repeat>.json.zst (fio JSON+), OUT/order.tsv (every command in the order run)
and OUT/machine.txt. Nothing outside DIR is written to; the loop devices are backed by files in DIR.
"""
import json
import pathlib
import random
import shlex
import subprocess
import sys
import time

SEED = 20261121
BASE = "fio --output-format=json+ --ioengine=libaio --direct=1 --bs=4k --time_based --ramp_time=1 --runtime=3 --randrepeat=1 --norandommap"


def sh(command):
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


def points(file, loops, rate_iops):
    """Yield (point, fio command, repeats)."""
    for rw, mix in (("randread", ""), ("randwrite", ""), ("randrw", " --rwmixread=70")):
        for depth in (1, 2, 4, 8, 16, 32, 64):
            for jobs in (1, 2):
                often = rw == "randread" and jobs == 1 and depth in (1, 8, 32)
                yield (f"{rw}-qd{depth}-j{jobs}",
                       f"{BASE} --name=depth --filename={file} --size=2g --rw={rw}{mix} --iodepth={depth} --numjobs={jobs}",
                       10 if often else 3)
    yield ("randread-qd8-j1-limited",
           f"{BASE} --name=depth --filename={file} --size=2g --rw=randread --iodepth=8 --numjobs=1 --rate_iops={rate_iops}", 10)
    for n in (1, 2, 3, 4):
        jobs = " ".join(f"--name=dev{i + 1} --filename={loops[i]}" for i in range(n))
        yield f"devices{n}-randread-qd8", f"{BASE} --rw=randread --iodepth=8 --size=1g {jobs}", 10


def machine():
    commands = ["uname -a", "cat /etc/os-release", "lscpu", "grep MemTotal /proc/meminfo", "fio --version",
                "lsblk -o NAME,SIZE,ROTA,SCHED,RQ-SIZE,LOG-SEC,PHY-SEC /dev/vda",
                "grep -H . /sys/block/vda/queue/scheduler /sys/block/vda/queue/write_cache /sys/block/vda/queue/fua /sys/block/vda/queue/nr_requests",
                "mount | grep ' / '", "losetup -l"]
    return "".join(f"$ {c}\n{sh(c + ' 2>&1 || true')}\n" for c in commands)


def main(directory, out):
    directory, out = pathlib.Path(directory), pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    file = directory / "depth.dat"
    sh(f"dd if=/dev/urandom of={file} bs=1M count=2048 conv=fsync")
    loops = []
    try:
        for i in range(4):
            image = directory / f"loop{i}.img"
            sh(f"dd if=/dev/urandom of={image} bs=1M count=1024 conv=fsync")
            loops.append(sh(f"losetup --direct-io=on --show -f {image}").strip())
        (out / "machine.txt").write_text(machine())
        probe = json.loads(sh(f"{BASE.replace('json+', 'json')} --name=probe --filename={file} --size=2g --rw=randread --iodepth=8"))
        rate_iops = round(probe["jobs"][0]["read"]["iops"] / 10)
        runs = [(p, c, r) for p, c, n in points(file, loops, rate_iops) for r in range(1, n + 1)]
        random.Random(SEED).shuffle(runs)
        with (out / "order.tsv").open("w") as order:
            order.write("order\tstarted_at\tpoint\trepeat\texit_status\tcommand\n")
            for i, (point, command, repeat) in enumerate(runs, 1):
                started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                name = f"{point}-r{repeat}.json"
                full = f"{command} --output={name}"
                status = subprocess.run(shlex.split(full), cwd=out).returncode
                sh(f"zstd -q -19 --rm -f {out / name}")
                order.write(f"{i}\t{started}\t{point}\t{repeat}\t{status}\t{full}\n")
                order.flush()
    finally:
        for device in loops:
            sh(f"losetup -d {device}")


if __name__ == "__main__":
    main(*sys.argv[1:])
