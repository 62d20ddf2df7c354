#!/usr/bin/env python3
"""Measure the campaign 2026-11-fio-perf: needs root, fio, perf, sysstat, zstd and 1 GiB under DIR.

    python3 measure.py DIR OUT

Writes OUT/<point>-r<repeat>/ (fio JSON, perf stat CSV, perf script and perf report of the same samples, mpstat,
iostat), OUT/order.tsv (every command in the order run) and OUT/machine.txt. Writes to DIR and OUT alone.
"""
import pathlib
import random
import subprocess
import sys
import time

SEED = 20261121
REPEATS = 5
RUNTIME_S = 14
FIO = ("fio --name=perf --filename={file} --size=1g --rw=randread --bs=4k --direct=1 --time_based "
       f"--runtime={RUNTIME_S} --randrepeat=1 --norandommap --output-format=json --output=fio.json")
POINTS = {"psync-qd1": "--ioengine=psync", "io_uring-qd32": "--ioengine=io_uring --iodepth=32"}
EVENTS = "task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions"
STAT = f"perf stat -x, -e {EVENTS} -o perf_stat.csv --"
RECORD = "perf record -q -e cpu-clock -F 499 -g -o {data} --"
BESIDE = {"mpstat.txt": "mpstat -P ALL 1 12", "iostat.txt": "iostat -d -x -t 1 12"}
REPORT = "perf report -i {data} --stdio -n --no-children -g none -F overhead,sample,comm,dso,sym --percent-limit 0"


def sh(command, cwd=None):
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True, cwd=cwd).stdout


def machine():
    commands = ["uname -a", "cat /etc/os-release", "lscpu", "grep MemTotal /proc/meminfo", "fio --version",
                "perf version", "mpstat -V", "lsblk -o NAME,SIZE,ROTA,SCHED,RQ-SIZE,LOG-SEC,PHY-SEC /dev/vda",
                "grep virtio /proc/interrupts", "mount | grep ' / '"]
    return "".join(f"$ {c}\n{sh(c + ' 2>&1 || true')}\n" for c in commands)


def run(command, folder, data):
    """Run one repeat with the monitors beside it; return fio's exit status."""
    fio = subprocess.Popen(f"{RECORD.format(data=data)} {STAT} {command}", shell=True, cwd=folder)
    time.sleep(1)
    monitors = [subprocess.Popen(f"LC_ALL=C {c} > {name}", shell=True, cwd=folder) for name, c in BESIDE.items()]
    status = fio.wait()
    for monitor in monitors:
        monitor.wait()
    (folder / "perf_report.txt").write_text(sh(REPORT.format(data=data)))
    sh(f"perf script -i {data} | zstd -q -19 -f -o perf_script.txt.zst", cwd=folder)
    return status


def main(directory, out):
    directory, out = pathlib.Path(directory).resolve(), pathlib.Path(out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    file, data = directory / "perf.dat", directory / "perf.data"
    sh(f"dd if=/dev/urandom of={file} bs=1M count=1024 conv=fsync")
    (out / "machine.txt").write_text(machine())
    runs = [(point, repeat) for point in POINTS for repeat in range(1, REPEATS + 1)]
    random.Random(SEED).shuffle(runs)
    with (out / "order.tsv").open("w") as order:
        order.write("order\tstarted_at\tpoint\trepeat\texit_status\tcommand\n")
        for i, (point, repeat) in enumerate(runs, 1):
            folder = out / f"{point}-r{repeat}"
            folder.mkdir()
            started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            command = f"{FIO.format(file=file)} {POINTS[point]}"
            status = run(command, folder, data)
            order.write(f"{i}\t{started}\t{point}\t{repeat}\t{status}\t{command}\n")
            order.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
