#!/usr/bin/env python3
"""Measure the campaign 2026-11-postgres-budget: needs root, PostgreSQL 15, fio, perf, iostat, zstd; 1 GiB under DIR.

    python3 measure.py DIR OUT

Writes OUT/<run>/…, a folder a run, OUT/order.tsv (every command in the order run) and OUT/machine.txt. A server of its
own runs from DIR while it measures. Each repeat is an untraced insert and fio's write of the same size, in an order
drawn anew; the traced inserts come last.
"""
import pathlib
import random
import shlex
import subprocess
import sys
import time

WAITED = []  # the idle share of the processors before each run
SEED, REPEATS, TRACED = 20261121, 8, 6
BIN, PORT = "/usr/lib/postgresql/15/bin", 54331
SECONDS, SAMPLES, TRACED_SECONDS = 14, 10, 8  # of -T 2 s are the delay
CONF = f"""listen_addresses='127.0.0.1'
port={PORT}
unix_socket_directories='/tmp'
fsync=on
synchronous_commit=on
wal_sync_method=fdatasync
full_page_writes=on
track_io_timing=on
track_wal_io_timing=on
checkpoint_timeout=30min
max_wal_size=4GB
shared_buffers=256MB
autovacuum=off
"""
INSERT = "INSERT INTO ins(payload) VALUES (md5(random()::text));\n"
PGBENCH = f"pgbench -h 127.0.0.1 -p {PORT} -U postgres -n -c 1 -j 1 -M prepared -f insert.sql"
# A backend sleeps 2 s after it is let in: time to find it and to attach to it before its first transaction. -T counts them.
DELAY = {"PGOPTIONS": "-c post_auth_delay=2", "PATH": f"{BIN}:/usr/bin:/bin", "LC_ALL": "C"}
FIO = ("fio --name=wal --size=256m --rw=write --bs=8k --ioengine=psync --fdatasync=1 --overwrite=1 --iodepth=1"
       " --time_based --runtime=6 --output-format=json --output=fio.json")


def sh(command, **options):
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True, **options).stdout


def psql(sql, flags=""):
    return sh(f'runuser -u postgres -- {BIN}/psql -X {flags} -h 127.0.0.1 -p {PORT} -d postgres -c "{sql}"')


def backend():
    """The process id of pgbench's backend, which sleeps after it was let in: its second connection, the first one only looks."""
    seen = set()
    for _ in range(500):
        seen |= set(sh(f"pgrep -P $(head -1 {DIRECTORY}/data/postmaster.pid) -f '127.0.0.1' || true").split())
        if len(seen) == 2:
            return max(seen, key=int)
        time.sleep(0.02)
    raise SystemExit(f"expected two connections, found {len(seen)}")


def quiet(share=0.85, longest_s=25):
    """Wait until the processors are idle for a second, at most ``longest_s``; what was found goes into order.tsv."""
    begun = time.monotonic()
    while True:
        before = idle_time()
        time.sleep(1)
        after = idle_time()
        idle = (after[0] - before[0]) / (after[1] - before[1])
        if idle >= share or time.monotonic() - begun > longest_s:
            WAITED.append(f"{idle:.2f}")
            return


def idle_time():
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return fields[3] + fields[4], sum(fields)


class Order:
    def __init__(self, out):
        self.file, self.n = (out / "order.tsv").open("w"), 0
        self.file.write("order\tstarted_at\tpoint\trepeat\texit_status\tidle_share_before\tcommand\n")

    def note(self, started, point, repeat, status, command):
        self.n += 1
        self.file.write(f"{self.n}\t{started}\t{point}\t{repeat}\t{status}\t{WAITED[-1]}\t{command}\n")
        self.file.flush()


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def fresh_table():
    psql("drop table if exists ins; create table ins(id bigserial primary key, payload text, "
         "ts timestamptz default now())")
    psql("checkpoint")
    psql("select pg_stat_reset_shared('wal')")
    time.sleep(0.5)  # the last backend has gone


def insert(out, order, repeat):
    folder = out / f"insert-r{repeat}"
    folder.mkdir()
    (folder / "insert.sql").write_text(INSERT)
    fresh_table()
    quiet()
    command, started = f"{PGBENCH} -P 1 -r -T {SECONDS} postgres", now()
    with (folder / "pgbench.txt").open("w") as text, (folder / "pgbench.stderr.txt").open("w") as progress:
        client = subprocess.Popen(shlex.split(command), cwd=folder, stdout=text, stderr=progress, env=DELAY)
        # From before the first transaction until the server process ends.
        counters = subprocess.Popen(f"perf stat -x, -I 1000 -e task-clock,context-switches -p {backend()}"
                                    " -o perfstat_I1000.csv", shell=True, cwd=folder, env=DELAY)
        time.sleep(2.5)  # the transactions have begun: every sample lies inside the run
        samples = subprocess.Popen(f"iostat -x -t -y 1 {SAMPLES} vda > iostat_x.txt", shell=True, cwd=folder, env=DELAY)
        monitors = [counters, samples]
        status = client.wait()
        [monitor.wait() for monitor in monitors]
    (folder / "pg_stat_wal.txt").write_text(psql("select * from pg_stat_wal", "-x"))
    order.note(started, "insert", repeat, status, command)


def fio(out, order, repeat):
    folder = out / f"fio-r{repeat}"
    folder.mkdir()
    quiet()
    command, started = f"{FIO} --filename={DIRECTORY}/fio.dat", now()
    order.note(started, "seq8k-fdatasync", repeat, subprocess.run(shlex.split(command), cwd=folder).returncode, command)


def traced(out, order, repeat):
    folder = out / f"traced-r{repeat}"
    folder.mkdir()
    (folder / "insert.sql").write_text(INSERT)
    fresh_table()
    quiet()
    command, started = f"{PGBENCH} -l --log-prefix=pgbench_log -T {TRACED_SECONDS} postgres", now()
    with (folder / "pgbench.txt").open("w") as text:
        client = subprocess.Popen(shlex.split(command), cwd=folder, stdout=text, stderr=subprocess.STDOUT, env=DELAY)
        trace = subprocess.Popen(shlex.split(f"perf trace -m 4096 -T -e fdatasync,pwrite64 -p {backend()} -o perf_trace.txt"),
                                 cwd=folder, env=DELAY)
        status = client.wait()
        trace.wait()  # ends with the backend
    for path in [folder / "perf_trace.txt", *folder.glob("pgbench_log.*")]:
        sh(f"zstd -q -19 --rm {path}")
    order.note(started, "insert-traced", repeat, status, command)


def machine():
    commands = ["uname -a", "cat /etc/os-release", "lscpu", "grep MemTotal /proc/meminfo", "fio --version", "perf --version",
                "iostat -V", f"{BIN}/postgres --version", "lsblk -o NAME,SIZE,ROTA,SCHED,RQ-SIZE,LOG-SEC,PHY-SEC /dev/vda",
                "grep -H . /sys/block/vda/queue/scheduler /sys/block/vda/queue/write_cache /sys/block/vda/queue/fua",
                "mount | grep ' / '", "cat /proc/loadavg"]
    return "".join(f"$ {c}\n{sh(c + ' 2>&1 || true')}\n" for c in commands)


def main(directory, out):
    out.mkdir(parents=True)
    directory.mkdir(parents=True)
    order, draw = Order(out), random.Random(SEED)
    sh(f"chown postgres {directory}")
    control = f"runuser -u postgres -- {BIN}/pg_ctl -D {directory}/data"
    sh(f"runuser -u postgres -- {BIN}/initdb -D {directory}/data -A trust --no-instructions", cwd="/")
    with (directory / "data/postgresql.conf").open("a") as conf:
        conf.write(CONF)
    (out / "postgresql.conf").write_text(CONF)
    (out / "machine.txt").write_text(machine())
    sh(f"{control} -l {directory}/log -w start >/dev/null 2>&1", cwd="/")
    try:
        sh(f"fio --name=prep --filename={directory}/fio.dat --size=256m --rw=write --bs=1m --end_fsync=1")
        for repeat in range(1, REPEATS + 1):
            for measure in draw.sample([insert, fio], 2):
                measure(out, order, repeat)
        for repeat in range(1, TRACED + 1):
            traced(out, order, repeat)
    finally:
        sh(f"{control} -m fast -w stop", cwd="/")


if __name__ == "__main__":
    DIRECTORY = pathlib.Path(sys.argv[1])
    main(DIRECTORY, pathlib.Path(sys.argv[2]))
