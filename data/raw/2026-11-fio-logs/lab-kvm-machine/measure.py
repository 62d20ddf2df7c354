#!/usr/bin/env python3
"""Measure the campaign 2026-11-fio-logs: needs root, fio with io_uring, zstd, losetup, mkfs.ext4 and 300 MiB under DIR.

    python3 measure.py DIR OUT

Two jobs write to files of an ext4 on a loop device, each at a limited rate: small blocks fast, large blocks slowly.
OUT/<point>-r<repeat>/ gets fio's report and logs, compressed with zstd; OUT/machine/ gets order.tsv (every command in
the order run), freezes.tsv (when the file system was frozen and thawed, seconds since fio was started) and machine.txt.
Nothing outside DIR and OUT is written to.
"""
import pathlib
import random
import shlex
import subprocess
import sys
import time

SEED = 20261121
COMMON = ("fio --output-format=json+ --output=fio.json --ioengine=io_uring --force_async=1 --direct=1 --rw=randwrite --norandommap --randrepeat=1 "
          "--time_based --lat_percentiles=1 --clat_percentiles=1 --size=64m --iodepth=8")
JOBS = ("--name=small --filename={0}/small --bs=4k --rate_iops=400 {1} "
        "--name=large --filename={0}/large --bs=256k --rate_iops=40 {1}")
POINTS = {  # repeats, seconds, log options of each job
    "steady": (6, 10, "--write_hist_log=h --log_hist_msec=1000"),
    "freeze": (1, 30, "--write_hist_log=h --log_hist_msec=1000 --write_lat_log=io"),
    "averaged": (1, 10, "--write_lat_log=avg --log_avg_msec=1000"),
}
FREEZES = ((10.0, 1.0), (20.0, 0.3))  # seconds after the start, and how long


def sh(command):
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


def freeze(folder, started):
    """Freeze and thaw the file system as a snapshot does; yields when it happened."""
    for after, length in FREEZES:
        time.sleep(max(0.0, started + after - time.monotonic()))
        sh(f"fsfreeze -f {folder}")
        frozen = time.monotonic() - started
        try:
            time.sleep(length)
        finally:
            sh(f"fsfreeze -u {folder}")
        yield frozen, time.monotonic() - started


def machine():
    commands = ["uname -a", "cat /etc/os-release", "lscpu", "grep MemTotal /proc/meminfo", "fio --version", "losetup -l"]
    return "".join(f"$ {c}\n{sh(c + ' 2>&1 || true')}\n" for c in commands)


def main(directory, out):
    directory, out = pathlib.Path(directory).resolve(), pathlib.Path(out).resolve()
    about, image, folder = out / "machine", directory / "logs.img", directory / "logs"
    about.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    sh(f"dd if=/dev/urandom of={image} bs=1M count=256 conv=fsync")
    device = sh(f"losetup --direct-io=on --show -f {image}").strip()
    try:
        sh(f"mkfs.ext4 -q {device} && mount -o noatime {device} {folder}")
        for name in ("small", "large"):
            sh(f"dd if=/dev/urandom of={folder / name} bs=1M count=64 conv=fsync")
        (about / "machine.txt").write_text(machine())
        runs = [(point, r) for point, (repeats, _, _) in POINTS.items() for r in range(1, repeats + 1)]
        random.Random(SEED).shuffle(runs)
        with (about / "order.tsv").open("w") as order, (about / "freezes.tsv").open("w") as freezes:
            order.write("order\tstarted_at\tpoint\trepeat\texit_status\tcommand\n")
            freezes.write("point\trepeat\tfrozen_s\tthawed_s\n")
            for number, (point, repeat) in enumerate(runs, 1):
                _, seconds, logs = POINTS[point]
                command = f"{COMMON} --runtime={seconds} " + JOBS.format(folder, logs)
                into = out / f"{point}-r{repeat}"
                into.mkdir()
                started_at, started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.monotonic()
                fio = subprocess.Popen(shlex.split(command), cwd=into)
                if point == "freeze":
                    for frozen, thawed in freeze(folder, started):
                        freezes.write(f"{point}\t{repeat}\t{frozen:.3f}\t{thawed:.3f}\n")
                status = fio.wait()
                sh(f"zstd -q -19 --rm -f {into}/*.log" if list(into.glob("*.log")) else "true")
                sh(f"zstd -q -19 --rm -f {into}/fio.json")
                order.write(f"{number}\t{started_at}\t{point}\t{repeat}\t{status}\t{command}\n")
                order.flush()
    finally:
        sh(f"mountpoint -q {folder} && umount {folder} || true")
        sh(f"losetup -d {device}")
        image.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
