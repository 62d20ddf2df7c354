#!/usr/bin/env python3
"""Measure the campaign 2026-11-fio-steady: needs root, fio, zstd, losetup, cgroup v1 blkio, PostgreSQL, 12 GiB in DIR.

    python3 measure.py DIR OUT

Writes OUT/<point>-r<repeat>/ (fio.json, its logs, pgbench's log), OUT/order.tsv (every command in the order run) and
OUT/machine.txt. Files, loop devices and the server lie below DIR and are removed; the control group too.
"""
import os
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import time

SEED = 20261122
FIO = "fio --output-format=json --output=fio.json --direct=1 --name=job"
RATE = 500
GROUP = pathlib.Path("/sys/fs/cgroup/blkio/fio-steady")
PG = "/usr/lib/postgresql/15/bin"
FILL_GIB, SWITCH_AT, SLOW_BYTES_PER_S = 6, 0.4, 300_000_000


def sh(command):
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


class Runs:
    """Start each command in its own folder and write down when, with what load, and what was done to it."""

    def __init__(self, out):
        self.out, self.order = out, (out / "order.tsv").open("w")
        self.order.write("order\tstarted_at\tload_1min\tpoint\trepeat\texit_status\tcommand\tprovoked\n")
        self.n = 0

    def run(self, point, repeat, command, provoke=None):
        folder = self.out / f"{point}-r{repeat}"
        folder.mkdir(parents=True)
        started, load = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.getloadavg()[0]
        join = lambda: (GROUP / "tasks").write_text(str(os.getpid()))  # noqa: E731
        process = subprocess.Popen(shlex.split(command), cwd=folder, preexec_fn=join, stdout=(folder / "stdout.txt").open("w"),
                                   stderr=(folder / "stderr.txt").open("w"))
        begun = time.monotonic()
        done = provoke(process, begun) if provoke else ""
        status = process.wait()
        for path in folder.iterdir():
            if path.stat().st_size == 0:
                path.unlink()
            elif path.stat().st_size > 4000 and path.name != "fio.json":
                sh(f"zstd -q -19 --rm -f {path}")
            elif path.name == "fio.json":
                sh(f"zstd -q -19 --rm -f {path}")
        for path in folder.glob("*_[cs]lat.*"):
            path.unlink()
        self.n += 1
        self.order.write(f"{self.n}\t{started}\t{load:.2f}\t{point}\t{repeat}\t{status}\t{command}\t{done}\n")
        self.order.flush()
        print(self.n, point, repeat, status, done, flush=True)


def throttle(device, what, limit):
    number = pathlib.Path(f"/sys/block/{device.name}/dev").read_text().strip()
    (GROUP / f"blkio.throttle.{what}_device").write_text(f"{number} {limit}")


def device_stall(device, after_s, length_s):
    """Let the device complete next to nothing for a while: one read a second, then no limit."""
    def provoke(_, begun):
        time.sleep(max(0, begun + after_s - time.monotonic()))
        start = time.monotonic()
        throttle(device, "read_iops", 1)
        time.sleep(length_s)
        throttle(device, "read_iops", 0)
        return f"read_iops limited to 1 from {start - begun:.3f} s to {time.monotonic() - begun:.3f} s"
    return provoke


def slow_down(device, capacity):
    """Limit the writes from a stated share of the capacity on, as a drive does whose fast cells are used up."""
    def provoke(process, begun):
        stat = pathlib.Path(f"/sys/block/{device.name}/stat")
        first = int(stat.read_text().split()[6])
        while process.poll() is None:
            written = (int(stat.read_text().split()[6]) - first) * 512
            if written >= SWITCH_AT * capacity:
                throttle(device, "write_bps", SLOW_BYTES_PER_S)
                at = time.monotonic() - begun
                process.wait()
                throttle(device, "write_bps", 0)
                return f"write_bps limited to {SLOW_BYTES_PER_S} from {at:.3f} s on, {written} B of {capacity} B written"
            time.sleep(0.002)
        throttle(device, "write_bps", 0)
        return "ended before the limit"
    return provoke


def server_stall(psql, after_s, length_s):
    """Stop the server's process for pgbench's one client, then let it go on."""
    def provoke(_, begun):
        time.sleep(max(0, begun + after_s - time.monotonic()))
        pid = int(sh(f"{psql} -Atc \"select pid from pg_stat_activity where application_name = 'pgbench'\""))
        start = time.monotonic()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(length_s)
        os.kill(pid, signal.SIGCONT)
        return f"backend stopped from {start - begun:.3f} s to {time.monotonic() - begun:.3f} s"
    return provoke


def rounds(runs, file):
    """25 rounds on a file whose blocks are allocated and not yet written, 12 on the same file after them all."""
    base = (f"{FIO} --ioengine=libaio --bs=4k --rw=randwrite --iodepth=8 --norandommap --filename={file} --size=4g "
            "--time_based --runtime=3 --write_bw_log=fio --log_avg_msec=100")
    for number in range(1, 26):
        runs.run(f"randwrite-fresh-round-{number:02}", 1, f"{base} --randseed={SEED + number}")
    sh(f"dd if=/dev/urandom of={file} bs=1M count=4096 oflag=direct conv=notrunc,fsync")
    for number in range(1, 13):
        runs.run(f"randwrite-written-round-{number:02}", 1, f"{base} --randseed={SEED + 100 + number}")


def long_runs(runs, file, repeat):
    sh(f"rm -f {file}; fallocate -l 2G {file}")
    runs.run("randwrite-fresh-long", repeat,
             f"{FIO} --ioengine=libaio --bs=4k --rw=randwrite --iodepth=8 --norandommap --filename={file} --size=2g "
             f"--time_based --runtime=20 --write_bw_log=fio --log_avg_msec=100 --randseed={SEED + 200 + repeat}")


def fill(runs, directory, repeat, *, limited):
    image = directory / "fill.img"
    image.unlink(missing_ok=True)
    sh(f"truncate -s {FILL_GIB}G {image}")
    device = pathlib.Path(sh(f"losetup --direct-io=on --show -f {image}").strip())
    try:
        capacity = FILL_GIB << 30
        runs.run("fill-limited" if limited else "fill", repeat,
                 f"{FIO} --ioengine=libaio --bs=128k --rw=write --iodepth=4 --filename={device} --size={FILL_GIB}g "
                 "--write_bw_log=fio --log_avg_msec=100", slow_down(device, capacity) if limited else None)
    finally:
        sh(f"losetup -d {device}")
        image.unlink()


def main(directory, out):
    directory, out = pathlib.Path(directory), pathlib.Path(out)
    out.mkdir(parents=True)
    GROUP.mkdir(exist_ok=True)
    (out / "machine.txt").write_text("".join(f"$ {c}\n{sh(c + ' 2>&1 || true')}\n" for c in (
        "uname -a", "lscpu", "grep MemTotal /proc/meminfo", "fio --version", f"{PG}/postgres --version",
        "lsblk -o NAME,SIZE,ROTA,SCHED,RQ-SIZE,LOG-SEC,PHY-SEC /dev/vda", "mount | grep ' / '")))
    runs = Runs(out)
    file, image, data = directory / "rounds.dat", directory / "read.img", directory / "pg"
    sh(f"fallocate -l 4G {file}")
    rounds(runs, file)
    file.unlink()
    sh(f"dd if=/dev/urandom of={image} bs=1M count=512 conv=fsync")
    device = pathlib.Path(sh(f"losetup --direct-io=on --show -f {image}").strip())
    user = "runuser -u postgres --"
    data.mkdir()
    sh(f"chmod 755 {directory}; chown postgres {data}; {user} {PG}/initdb -D {data} -A trust")
    with (data / "postgresql.conf").open("a") as conf:
        conf.write("port=54777\nunix_socket_directories='/tmp'\nlisten_addresses=''\nautovacuum=off\nshared_buffers=128MB\n")
    sh(f"{user} {PG}/pg_ctl -D {data} -l {data}/server.log -w start")
    psql = f"{PG}/psql -X -h /tmp -p 54777 -U postgres postgres"
    sh(f"{psql} -c 'create table ins(id bigserial primary key, payload text)'")
    script = directory / "insert.sql"
    script.write_text("INSERT INTO ins(payload) VALUES (md5(random()::text));\n")
    rated = (f"{FIO} --ioengine=psync --bs=4k --rw=randread --norandommap --filename={device} --size=512m --time_based "
             f"--runtime=12 --rate_iops={RATE} --write_lat_log=fio --log_offset=1")
    pgbench = f"{PG}/pgbench -h /tmp -p 54777 -U postgres -n -c 1 -j 1 -T 12 -R 300 -M prepared -f {script} -l postgres"
    todo = [(kind, repeat) for repeat in range(1, 7) for kind in (
        "linear", "linear-stall", "poisson-stall", "pgbench", "fill", "fill-limited", "long")]
    random.Random(SEED).shuffle(todo)
    try:
        for kind, repeat in todo:
            stall = device_stall(device, 5, 1)
            if kind == "linear":
                runs.run("randread-rate500", repeat, rated)
            elif kind == "linear-stall":
                runs.run("randread-rate500-stall", repeat, rated, stall)
            elif kind == "poisson-stall":
                runs.run("randread-poisson500-stall", repeat, f"{rated} --rate_process=poisson", stall)
            elif kind == "pgbench":
                runs.run("insert-rate300-stall", repeat, pgbench, server_stall(psql, 5, 1))
            elif kind == "long":
                long_runs(runs, file, repeat)
            else:
                fill(runs, directory, repeat, limited=kind == "fill-limited")
    finally:
        sh(f"{user} {PG}/pg_ctl -D {data} -m fast -w stop; losetup -d {device}; rm -rf {image} {file} {data} {script}")
        GROUP.rmdir()


if __name__ == "__main__":
    main(*sys.argv[1:])
