"""Columns of sysstat's tables (sar, sadf, mpstat), by activity, and the metric that each becomes, in SI units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from pipeline import units

# The columns of each activity in all versions, 8 … 12.7; the name of the activity begins the names of its metrics.
GROUPS = {
    group: columns.split()
    for group, columns in {
        "cpu": "%user %usr %nice %system %sys %iowait %irq %soft %steal %guest %gnice %idle",
        "device": "tps rd_sec/s wr_sec/s dc_sec/s rkB/s wkB/s dkB/s avgrq-sz areq-sz avgqu-sz aqu-sz await svctm %util "
        "blks/s sect/s",
        "task": "proc/s cswch/s",
        "swap": "pswpin/s pswpout/s",
        "paging": "pgpgin/s pgpgout/s activepg inadtypg inaclnpg inatarpg fault/s majflt/s pgfree/s pgscank/s "
        "pgscand/s pgsteal/s %vmeff pgprom/s pgdem/s",
        "io": "tps rtps wtps dtps bread/s bwrtn/s bdscd/s",
        "memory": "kbmemfree kbavail kbmemused %memused kbmemshrd kbbuffers kbcached kbcommit %commit kbactive kbinact "
        "kbdirty kbshmem kbanonpg kbslab kbkstack kbpgtbl kbvmused frmpg/s shmpg/s bufpg/s campg/s",
        "swap_space": "kbswpfree kbswpused %swpused kbswpcad %swpcad",
        "hugepages": "kbhugfree kbhugused %hugused kbhugrsvd kbhugsurp",
        "kernel": "dentunusd file-nr inode-nr pty-nr file-sz inode-sz super-sz %super-sz dquot-sz %dquot-sz rtsig-sz "
        "%rtsig-sz %file-sz",
        "queue": "runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked",
        "tty": "rcvin/s xmtin/s txmtin/s framerr/s prtyerr/s brk/s ovrun/s",
        "net": "rxpck/s txpck/s rxbyt/s txbyt/s rxkB/s txkB/s rxcmp/s txcmp/s rxmcst/s %ifutil",
        "net_errors": "rxerr/s txerr/s coll/s rxdrop/s txdrop/s txcarr/s rxfram/s rxfifo/s txfifo/s",
        "nfs": "call/s retrans/s read/s write/s access/s getatt/s",
        "nfsd": "scall/s badcall/s packet/s udp/s tcp/s hit/s miss/s sread/s swrite/s saccess/s sgetatt/s",
        "sock": "totsck tcpsck udpsck rawsck ip-frag tcp-tw",
        "ip": "irec/s fwddgm/s idel/s orq/s asmrq/s asmok/s fragok/s fragcrt/s",
        "ip_errors": "ihdrerr/s iadrerr/s iukwnpr/s idisc/s odisc/s onort/s asmf/s fragf/s",
        "icmp": "imsg/s omsg/s iech/s iechr/s oech/s oechr/s itm/s itmr/s otm/s otmr/s iadrmk/s iadrmkr/s oadrmk/s "
        "oadrmkr/s",
        "icmp_errors": "ierr/s oerr/s idstunr/s odstunr/s itmex/s otmex/s iparmpb/s oparmpb/s isrcq/s osrcq/s "
        "iredir/s oredir/s",
        "tcp": "active/s passive/s iseg/s oseg/s",
        "tcp_errors": "atmptf/s estres/s retrseg/s retrans/s isegerr/s orsts/s",
        "udp": "idgm/s odgm/s noport/s idgmerr/s",
        "sock6": "tcp6sck udp6sck raw6sck ip6-frag",
        "ip6": "irec6/s fwddgm6/s idel6/s orq6/s asmrq6/s asmok6/s imcpck6/s omcpck6/s fragok6/s fragcr6/s",
        "ip6_errors": "ihdrer6/s iadrer6/s iukwnp6/s i2big6/s idisc6/s odisc6/s inort6/s onort6/s asmf6/s fragf6/s "
        "itrpck6/s",
        "icmp6": "imsg6/s omsg6/s iech6/s iechr6/s oechr6/s igmbq6/s igmbr6/s ogmbr6/s igmbrd6/s ogmbrd6/s irtsol6/s "
        "ortsol6/s irtad6/s inbsol6/s onbsol6/s inbad6/s onbad6/s",
        "icmp6_errors": "ierr6/s idtunr6/s odtunr6/s itmex6/s otmex6/s iprmpb6/s oprmpb6/s iredir6/s oredir6/s "
        "ipck2b6/s opck2b6/s",
        "udp6": "idgm6/s odgm6/s noport6/s idgmer6/s",
        "cpu_frequency": "MHz wghMHz",
        "fan": "rpm drpm",
        "temperature": "degC %temp",
        "voltage": "inV %in",
        "usb": "maxpower",
        "filesystem": "MBfsfree MBfsused %fsused %ufsused Ifree Iused %Iused",
        "fc_host": "fch_rxf/s fch_txf/s fch_rxw/s fch_txw/s",
        "softnet": "total/s dropd/s squeezd/s rx_rps/s flw_lim/s blg_len",
        "pressure_cpu": "%scpu-10 %scpu-60 %scpu-300 %scpu",
        "pressure_io": "%sio-10 %sio-60 %sio-300 %sio %fio-10 %fio-60 %fio-300 %fio",
        "pressure_memory": "%smem-10 %smem-60 %smem-300 %smem %fmem-10 %fmem-60 %fmem-300 %fmem",
        "battery": "%cap cap/min",
    }.items()
}
# Columns that name what a row is about, and the label that each becomes.
KEYS = {
    "CPU": "cpu", "NODE": "node", "CORE": "core", "SOCK": "socket", "DEV": "device", "IFACE": "iface", "TTY": "tty",
    "INTR": "interrupt", "FILESYSTEM": "filesystem", "MOUNTPOINT": "mountpoint", "FCHOST": "fc_host", "FAN": "fan",
    "TEMP": "sensor", "IN": "input", "DEVICE": "device", "BUS": "bus", "idvendor": "vendor_id",
    "idprod": "product_id", "manufact": "manufacturer", "product": "product", "BAT": "battery", "status": "status",
}  # fmt: skip
SOFTIRQS = {"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "BLOCK_IOPOLL", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER"}


@dataclass(frozen=True)
class Metric:
    """A metric: its name, its unit, the factor from what is printed, and whether ``7.8k`` means bytes there."""

    name: str
    unit: str
    factor: float = 1.0
    is_bytes: bool = False


_SPECIAL = {
    "bread/s": ("bread_bytes_per_s", "B/s", units.SECTOR_BYTES),
    "bwrtn/s": ("bwrtn_bytes_per_s", "B/s", units.SECTOR_BYTES),
    "bdscd/s": ("bdscd_bytes_per_s", "B/s", units.SECTOR_BYTES),
    "rxbyt/s": ("rx_bytes_per_s", "B/s", 1), "txbyt/s": ("tx_bytes_per_s", "B/s", 1),
    "pgpgin/s": ("pgpgin_bytes_per_s", "B/s", units.KIBI),
    "pgpgout/s": ("pgpgout_bytes_per_s", "B/s", units.KIBI), "MHz": ("hz", "1/s", units.MEGA),
    "wghMHz": ("weighted_hz", "1/s", units.MEGA), "rpm": ("rotations_per_s", "1/s", 1 / units.SECONDS["m"]),
    "drpm": ("rotations_above_minimum_per_s", "1/s", 1 / units.SECONDS["m"]), "degC": ("celsius", "°C", 1),
    "inV": ("volts", "V", 1), "maxpower": ("maxpower_amperes", "A", units.MILLI),
    "cap/min": ("capacity_ratio_per_s", "1/s", units.PERCENT / units.SECONDS["m"]),
    "%cap": ("capacity_ratio", "1", units.PERCENT),
    "tps": ("transfers_per_s", "1/s", 1), "rtps": ("reads_per_s", "1/s", 1), "wtps": ("writes_per_s", "1/s", 1),
    "dtps": ("discards_per_s", "1/s", 1),
}  # fmt: skip


@cache
def group_of(columns: frozenset[str]) -> str | None:
    """The activity that has most of the columns; None when none has any."""
    shares = {group: len(columns & set(names)) for group, names in GROUPS.items()}
    if "DEV" not in columns:
        shares.pop("device")
    best = max(shares, key=lambda group: shares[group])
    return best if shares[best] else None


def metric(group: str, column: str) -> Metric:
    """The metric of a column: the activity's name and the column's, spelt out, in SI."""
    name, unit, factor = _SPECIAL.get(column) or _by_spelling(column)
    return Metric(f"{group}_{name}", unit, factor, is_bytes=unit in ("B", "B/s"))


def _by_spelling(column: str) -> tuple[str, str, float]:
    """Name, unit and factor by how the column is spelt: ``%memused``, ``kbcached``, ``rxkB/s``, ``rxpck/s``."""
    if column.startswith("%"):
        return f"{_snake(column[1:])}_ratio", "1", units.PERCENT
    if column.startswith("kb"):
        return f"{_snake(column[2:])}_bytes", "B", units.KIBI
    if column.startswith("MB"):
        return f"{_snake(column[2:])}_bytes", "B", units.MEBI
    if column.endswith("kB/s"):
        return f"{_snake(column[:-4])}_bytes_per_s", "B/s", units.KIBI
    if column.endswith("/s"):
        return f"{_snake(column[:-2])}_per_s", "1/s", 1.0
    return _snake(column), "1", 1.0


def _snake(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_").lower()
