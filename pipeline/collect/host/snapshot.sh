#!/bin/sh
# The environment of a measurement: `sh snapshot.sh [before|after] [TARGETS]`; TARGETS are guard.sh's lines.
#
# The first line is "environment-snapshot 1", then "key, tab, value" a line, then "end, tab, number of those lines".
# In values, bytes that are not printable ASCII, and the backslash, are octal escapes. What is not there, or not
# permitted, is left out. Left out on purpose: environment variables, the machine's names and serials, the kernel's
# command line as a whole. Reads /sys and /proc; only the targets themselves are asked, and none that sleeps.
set -u
export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
n_lines=0
tab=$(printf '\t')

# ---- what is printed ----

escaped() {
  case $1 in
    *[![:print:]]* | *\\*) ;;
    *)
      printf '%s' "$1"
      return
      ;;
  esac
  printf '%s' "$1" | od -An -v -to1 | tr -s ' ' '\n' | while read -r byte; do
    case $byte in
      '') ;;
      [01][0-7][0-7]) if [ "$byte" -ge 40 ] && [ "$byte" -le 176 ] && [ "$byte" != 134 ]; then
        # shellcheck disable=SC2059  # the format is one octal escape
        printf "\\$byte"
      else printf '\\%s' "$byte"; fi ;;
      *) printf '\\%s' "$byte" ;;
    esac
  done
}

# A key and its value; nothing where there is none.
tell() {
  if [ -z "$2" ]; then return; fi
  n_lines=$((n_lines + 1))
  printf '%s\t%s\n' "$1" "$(escaped "$2")"
}

# The first line of a file, as the value of a key. Not of /proc/sys: some shells read byte by byte, and its files give
# only the first one then.
tell_file() {
  line=''
  { read -r line <"$2"; } 2>/dev/null || :
  tell "$1" "$line"
}

# Each of a folder's files that are named. PREFIX FOLDER NAME…
tell_files() {
  prefix=$1 folder=$2
  shift 2
  for name in "$@"; do tell_file "$prefix.$name" "$folder/$name"; done
}

has() { command -v "$1" >/dev/null 2>&1; }

# ---- the machine ----

tell_system() {
  tell time.utc "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  for name in sysname release version machine; do
    case $name in sysname) option=-s ;; release) option=-r ;; version) option=-v ;; *) option=-m ;; esac
    tell "kernel.$name" "$(uname "$option" 2>/dev/null)"
  done
  tell_command_line
  for place in vm/dirty_ratio vm/dirty_background_ratio vm/dirty_bytes vm/swappiness vm/zone_reclaim_mode \
    vm/nr_hugepages kernel/numa_balancing kernel/sched_autogroup_enabled kernel/perf_event_paranoid fs/aio-max-nr; do
    tell "sysctl.$(printf %s "$place" | tr / .)" "$(cat "/proc/sys/$place" 2>/dev/null)"
  done
  tell_files transparent_hugepage /sys/kernel/mm/transparent_hugepage enabled defrag
  tell_files clocksource /sys/devices/system/clocksource/clocksource0 current_clocksource available_clocksource
  tell_files dmi /sys/class/dmi/id sys_vendor product_name product_version board_vendor board_name bios_vendor \
    bios_version bios_date
  if has systemd-detect-virt; then tell virtualisation.kind "$(systemd-detect-virt 2>/dev/null)"; fi
  tell_file virtualisation.hypervisor /sys/hypervisor/type
  tell_file uptime.s /proc/uptime
  tell_file load.average /proc/loadavg
  tell_os
}

# Of the command line only what is known to matter: it may hold passwords.
tell_command_line() {
  { read -r line </proc/cmdline; } 2>/dev/null || return
  set -f
  for word in $line; do
    case $word in
      mitigations=* | isolcpus=* | nohz_full=* | rcu_nocbs=* | intel_pstate=* | amd_pstate=* | idle=* | nosmt* | \
        processor.max_cstate=* | intel_idle.max_cstate=* | transparent_hugepage=* | hugepages* | \
        default_hugepagesz=* | iommu=* | intel_iommu=* | amd_iommu=* | iommu.* | nvme.* | nvme_core.* | scsi_mod.* | elevator=* | \
        numa_balancing=* | maxcpus=* | clocksource=* | tsc=* | pcie_aspm=* | spectre_v2=* | nopti | preempt=*)
        tell "kernel.parameter.${word%%=*}" "${word#*=}"
        ;;
    esac
  done
  set +f
}

tell_os() {
  while IFS='=' read -r key value; do
    case $key in ID | VERSION_ID | PRETTY_NAME)
      value=${value#\"}
      tell "distribution.$key" "${value%\"}"
      ;;
    esac
  done 2>/dev/null </etc/os-release
}

# ---- processors and memory ----

tell_processors() {
  cpu=/sys/devices/system/cpu
  if has lscpu; then
    while IFS=':' read -r key value; do
      value=${value#"${value%%[! ]*}"}
      case $key in
        Vulnerability* | 'CPU op-mode'* | 'Address sizes'* | *BogoMIPS* | 'CPU(s) scaling'*) continue ;;
      esac
      tell "cpu.$(key_of "$key")" "$value"
    done <<END
$(timeout 2 lscpu 2>/dev/null)
END
  fi
  for file in "$cpu"/vulnerabilities/*; do tell_file "mitigation.${file##*/}" "$file"; done
  tell_files cpu "$cpu" online offline isolated nohz_full
  tell_files cpu.smt "$cpu/smt" active control
  tell_files cpu.frequency "$cpu/cpufreq" boost
  tell_files cpu.intel_pstate "$cpu/intel_pstate" status no_turbo min_perf_pct max_perf_pct
  tell_file cpu.microcode "$cpu/cpu0/microcode/version"
  tell_same scaling_driver scaling_governor scaling_min_freq scaling_max_freq energy_performance_preference
  for state in "$cpu"/cpu0/cpuidle/state*; do
    if [ -d "$state" ]; then tell_files "cpu.idle.${state##*/}" "$state" name disable latency; fi
  done
}

# What each processor has for itself: its different values, and how many have each.
tell_same() {
  for name in "$@"; do
    values=$(cat /sys/devices/system/cpu/cpu[0-9]*/cpufreq/"$name" 2>/dev/null | sort | uniq -c | tr -s ' \n' ' ')
    values=${values# }
    tell "cpu.frequency.$name" "${values% }"
  done
}

tell_memory() {
  while IFS=': ' read -r key value unit; do
    case $key in MemTotal | MemAvailable | SwapTotal | SwapFree | HugePages_Total | HugePages_Free | Hugepagesize | Dirty)
      tell "memory.$key" "$value${unit:+ $unit}"
      ;;
    esac
  done 2>/dev/null </proc/meminfo
  for node in /sys/devices/system/node/node[0-9]*; do
    if ! [ -d "$node" ]; then continue; fi
    tell "numa.${node##*/}.cpulist" "$(cat "$node/cpulist" 2>/dev/null)"
    tell_file "numa.${node##*/}.distance" "$node/distance"
    while read -r _ _ key value unit; do
      if [ "$key" = MemTotal: ]; then tell "numa.${node##*/}.MemTotal" "$value${unit:+ $unit}"; fi
    done 2>/dev/null <"$node/meminfo"
  done
}

# ---- storage ----

tell_blocks() {
  for block in /sys/block/*; do
    disk=block.${block##*/}
    size=0
    { read -r size <"$block/size"; } 2>/dev/null || :
    if [ "$size" = 0 ]; then continue; fi # loop devices and card readers without a medium
    tell "$disk.size_sectors" "$size"
    tell_files "$disk" "$block" ro removable dev cache_type
    tell_files "$disk" "$block/device" model rev firmware_rev vendor queue_depth numa_node
    tell_files "$disk.queue" "$block/queue" scheduler nr_requests rotational write_cache fua logical_block_size \
      physical_block_size minimum_io_size optimal_io_size hw_sector_size max_sectors_kb max_hw_sectors_kb max_segments \
      nomerges rq_affinity read_ahead_kb io_poll io_poll_delay wbt_lat_usec add_random iostats discard_granularity \
      discard_max_bytes chunk_sectors zoned nr_zones dax
    tell_file "$disk.dm_name" "$block/dm/name"
    tell_file "$disk.backing_file" "$block/loop/backing_file"
    set -- "$block"/mq/*
    if [ -d "$1" ]; then tell "$disk.n_queues" $#; fi
  done
}

# Mounts of disks: where, what, and how.
tell_mounts() {
  number=0
  while read -r _ _ _ _ place options rest; do
    rest=${rest#*"- "}
    # shellcheck disable=SC2086  # file system, source, options of the file system
    set -- $rest
    case ${2:-} in
      /dev/*) ;;
      *) if [ "${1:-}" != zfs ]; then continue; fi ;;
    esac
    number=$((number + 1))
    if [ "$number" -gt 200 ]; then break; fi
    tell "mount.$number" "$place $1 $2 $options ${3:-}"
  done 2>/dev/null </proc/self/mountinfo
}

# The devices and the file systems that the run is about.
tell_targets() {
  number=0
  while IFS= read -r line; do
    number=$((number + 1))
    kind=${line%%"$tab"*}
    rest=${line#*"$tab"}
    path=${rest%%"$tab"*}
    tell "target.$number.kind" "$kind"
    tell "target.$number.path" "$path"
    case $kind in
      file) tell_file_system "target.$number" "$path" ;;
      device | read)
        node=$(readlink -f -- "$path" 2>/dev/null)
        if [ -b "$node" ]; then
          tell "target.$number.node" "$node"
          tell_health "target.$number" "$node"
        fi
        ;;
    esac
  done <"$1"
}

tell_file_system() {
  form='type %T, block %S, blocks %b, free %f, available %a'
  tell "$1.file_system" "$(timeout 2 stat -f -c "$form" -- "$2" 2>/dev/null)"
  if has findmnt; then
    tell "$1.mount" "$(timeout 2 findmnt -n -o TARGET,FSTYPE,SOURCE,OPTIONS -T "$2" 2>/dev/null | tr -s ' \n' ' ')"
  fi
}

# SMART, where the tools are there and may; a disk that sleeps is not woken.
tell_health() {
  case $2 in
    /dev/nvme*)
      if has nvme; then
        tell_lines "$1.nvme" "$(timeout 3 nvme smart-log "$2" 2>/dev/null)"
        tell_lines "$1.nvme_identity" "$(timeout 3 nvme id-ctrl "$2" 2>/dev/null | head -n 40)"
      elif has smartctl; then tell_lines "$1.smart" "$(timeout 3 smartctl -n standby -A "$2" 2>/dev/null)"; fi
      ;;
    *) if has smartctl; then tell_lines "$1.smart" "$(timeout 3 smartctl -n standby -i -A "$2" 2>/dev/null)"; fi ;;
  esac
}

# A tool's output under a prefix.
tell_lines() {
  while IFS="$tab" read -r key value; do
    if [ -n "$key" ]; then tell "$1.$key" "$value"; fi
  done <<END
$(printf '%s\n' "$2" | pairs)
END
}

# From "key : value" lines, and from the attributes of ATA's SMART: key, tab, value; without serials.
pairs() {
  while IFS= read -r line; do
    case $line in
      *[Ss]erial* | sn\ * | *WWN* | *subnqn* | *IEEE* | *=* | /dev/* | 'Local Time'* | Copyright* | '') ;;
      *:*)
        value=${line#*:}
        printf '%s\t%s\n' "$(key_of "${line%%:*}")" "${value#"${value%%[! ]*}"}"
        ;;
      *[0-9]' '*0x[0-9a-f]*)
        set -f
        # shellcheck disable=SC2086  # number, name, flag, value, worst, threshold, …, raw value
        set -- $line
        if [ $# -ge 10 ]; then printf '%s\t%s\n' "$(key_of "$2")" "${10}"; fi
        ;;
    esac
  done
}

key_of() {
  key=$(printf %s "$1" | tr -cs 'A-Za-z0-9' '_')
  key=${key#_}
  printf %s "${key%_}"
}

# ---- tools ----

tell_tools() {
  for command in 'fio --version' 'perf --version' 'iostat -V' 'mpstat -V' 'stress-ng --version' 'iperf3 --version' \
    'pgbench --version' 'zstd --version' 'tar --version' 'nvme version' 'smartctl --version'; do
    program=${command%% *}
    if has "$program"; then
      # shellcheck disable=SC2086  # a program and its option
      version=$(timeout 1 $command 2>&1 </dev/null | head -n 1)
      tell "version.$program" "$version"
    fi
  done
}

main() {
  printf 'environment-snapshot 1\n'
  case ${1:-} in before | after) tell moment "$1" ;; esac
  tell_system
  tell_processors
  tell_memory
  tell_blocks
  tell_mounts
  if [ -f "${2:-}" ]; then tell_targets "$2"; fi
  tell_tools
  printf 'end\t%s\n' "$n_lines"
}

main "$@"
exit 0
