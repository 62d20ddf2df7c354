#!/bin/sh
# Why the targets of a run must not be touched: `sh guard.sh [SPOOLS] < targets` prints a line a reason, and exits 1 if
# any. SPOOLS is the folder of the campaigns' spools: their agents note in made-files there what they made.
#
# A line of targets, tab-separated:
#   device  /dev/disk/by-id/NAME  SERIAL_OR_WWN   a block device that will be written
#   read    /dev/disk/by-id/NAME  SERIAL_OR_WWN   a block device that is only read
#   file    /absolute/directory   relative/name  N_BYTES   a file that will be written, inside that directory
# A line of output: target, tab, reason. What cannot be checked is a reason, too. Nothing is written anywhere.
set -eu
export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
readonly BY_ID=/dev/disk/by-id/
TAB=$(printf '\t')
NEWLINE='
'
readonly TAB NEWLINE
n_reasons=0
target=''
spools=${1:-/nowhere}
claims='' # of the files so far: "file system, bytes", a line each

# ---- what is printed ----

# A text from outside on one printable line: other bytes, and the backslash, in octal.
shown() {
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

refuse() {
  n_reasons=$((n_reasons + 1))
  printf '%s\t%s\n' "$(shown "$target")" "$(shown "$1")"
}

has() { command -v "$1" >/dev/null 2>&1; }

# The first line of a file of /sys or /proc, without the blanks around it; nothing where there is none.
first_line() {
  line=''
  { read -r line <"$1"; } 2>/dev/null || :
  printf '%s' "$line"
}

# ---- block devices ----

# Sets node (/dev/sda1), number (8:1), sys (its folder in /sys), disk (the whole disk's), or refuses and returns 1.
find_device() {
  name=${1#"$BY_ID"}
  case $1 in
    "$BY_ID"?*) ;;
    *)
      refuse "is not named by id: name it as one of $BY_ID*"
      return 1
      ;;
  esac
  case $name in
    */* | . | .. | *[![:graph:]]*)
      refuse "is not a name in $BY_ID: it holds a slash, a blank or a control character"
      return 1
      ;;
  esac
  if ! [ -e "$1" ]; then
    refuse "does not exist: is the device connected, and is this the right host? see ls -l $BY_ID"
    return 1
  fi
  node=$(readlink -f -- "$1") || node=''
  if ! [ -b "$node" ]; then
    refuse "does not lead to a block device, but to ${node:-nothing}"
    return 1
  fi
  find_in_sys
}

find_in_sys() {
  major=$(stat -c %t -- "$node") && minor=$(stat -c %T -- "$node") || major=''
  number=$((0x${major:-0})):$((0x${minor:-0}))
  sys=$(readlink -f -- "/sys/dev/block/$number") || sys=''
  if [ -z "$major" ] || ! [ -f "$sys/size" ]; then
    refuse "cannot be checked: /sys has no device $number ($node)"
    return 1
  fi
  disk=$sys
  if [ -e "$sys/partition" ]; then disk=${sys%/*}; fi
}

# Every name that the device has for itself, a line each.
identities() {
  for place in "$disk/serial" "$disk/wwid" "$disk/device/serial" "$disk/device/wwid" "$disk/dm/uuid" \
    "$disk/loop/backing_file"; do
    first_line "$place"
    printf '\n'
  done
  if has lsblk; then
    lsblk -dn -o SERIAL -- "/dev/${disk##*/}" 2>/dev/null || :
    lsblk -dn -o WWN -- "/dev/${disk##*/}" 2>/dev/null || :
  fi
}

check_identity() {
  expected=$1
  found=''
  while read -r one; do # blanks around it are padding
    case $one in
      '') continue ;;
      "$expected") return 0 ;;
    esac
    case "$NEWLINE$found$NEWLINE" in *"$NEWLINE$one$NEWLINE"*) ;; *) found=${found:+$found$NEWLINE}$one ;; esac
  done <<END
$(identities)
END
  if [ -z "$expected" ]; then expected='no serial'; fi
  if [ -z "$found" ]; then
    refuse "expected serial or WWN $expected, but $node tells none: it cannot be checked"
  else
    found=$(printf '%s' "$found" | tr '\n' ',')
    refuse "expected serial or WWN $expected, found $found at $node: this is another device, or the spec is wrong"
  fi
}

# sh has one space of names: a loop whose body calls functions has a name of its own.
# What shares its bytes, as "folder in /sys", a line each: a disk and its partitions; a partition and its disk.
family() {
  printf '%s\n' "$sys"
  if [ "$sys" != "$disk" ]; then
    printf '%s\n' "$disk"
    return
  fi
  for part in "$disk"/*/partition; do
    if [ -e "$part" ]; then printf '%s\n' "${part%/partition}"; fi
  done
}

check_holders() {
  for holder in "$1"/holders/*; do
    if ! [ -e "$holder" ]; then continue; fi
    label=$(first_line "$holder/dm/name")
    refuse "${1##*/} is held by ${holder##*/}${label:+ ($label)}: LVM, RAID, encryption or multipath uses it"
  done
  for member in /sys/fs/btrfs/*/devices/"${1##*/}" /sys/fs/bcache/*/bdev*/dev/"${1##*/}"; do
    if [ -e "$member" ]; then refuse "${1##*/} is a member of a file system or cache that is in use ($member)"; fi
  done
}

# A process of each mount namespace, as its folder in /proc. Where a namespace is not told, each process is asked.
namespaces() {
  seen=' '
  for process in /proc/self /proc/[0-9]*; do
    namespace=$(readlink "$process/ns/mnt" 2>/dev/null) || namespace=''
    case $seen in *" $namespace "*) if [ -n "$namespace" ]; then continue; fi ;; esac
    seen="$seen$namespace "
    printf '%s\n' "$process"
  done
}

# Where a device is mounted, by its number or by its name (btrfs and others have numbers of their own).
check_mounts() {
  device=$1
  its_number=$(first_line "$device/dev")
  mapper=$(first_line "$device/dm/name")
  places=''
  for process in $mount_tables; do
    while read -r _ _ mounted _ place rest; do
      rest=${rest#*" - "}
      source=${rest#* }
      case "$mounted ${source%% *}" in
        "$its_number "* | *" /dev/${device##*/}" | *" /dev/mapper/${mapper:-/}")
          case "$places$NEWLINE" in *"$NEWLINE$place$NEWLINE"*) ;; *) places=$places$NEWLINE$place ;; esac
          ;;
      esac
    done <<END
$(cat "$process/mountinfo" 2>/dev/null || :)
END
  done
  while read -r place; do
    if [ -n "$place" ]; then refuse "${device##*/} is mounted at $place: unmount it, if nobody needs it"; fi
  done <<END
$places
END
}

check_swap() {
  if ! [ -r /proc/swaps ]; then
    refuse "cannot be checked: /proc/swaps is not readable"
    return
  fi
  its_number=$(first_line "$1/dev")
  while read -r place _; do
    place=$(printf '%b' "$place") # \040 stands for a blank
    if ! [ -b "$place" ]; then continue; fi
    swap=$((0x$(stat -L -c %t -- "$place"))):$((0x$(stat -L -c %T -- "$place")))
    if [ "$swap" = "$its_number" ]; then refuse "${1##*/} is in use as swap ($place): swapoff, if it is not needed"; fi
  done <<END
$(cat /proc/swaps)
END
}

check_signatures() {
  its_node=/dev/${1##*/}
  if ! has wipefs; then
    refuse "cannot be checked for signatures: wipefs is missing, install util-linux"
    return
  fi
  if ! held=$(wipefs -n -p -- "$its_node" 2>&1); then
    refuse "cannot be checked for signatures: wipefs $its_node: $held"
    return
  fi
  what=''
  while read -r signature; do
    case $signature in
      '#'* | '') ;;
      *) what="$what ${signature##*,}" ;;
    esac
  done <<END
$held
END
  what="$what$(second_opinion "$its_node" "$what")"
  if [ -n "$what" ]; then
    refuse "${1##*/} has signatures of$what: there is data on it; if nobody needs it, remove them with wipefs -a"
  fi
}

# What blkid, where it is, finds beyond the types that are known already.
second_opinion() {
  if ! has blkid; then return; fi
  status=0
  types=$(blkid -p -o value -s TYPE -s PTTYPE -- "$1" 2>/dev/null) || status=$?
  if [ "$status" != 0 ] && [ "$status" != 2 ]; then printf ' something that blkid does not understand'; fi
  for type in $types; do
    case "$2 " in *" $type "*) ;; *) printf ' %s' "$type" ;; esac
  done
}

check_zfs() {
  if ! has zpool; then return; fi
  case $(zpool status -LP 2>/dev/null) in
    *"/dev/${1##*/} "* | *"/dev/${1##*/}$NEWLINE"*) refuse "${1##*/} is a member of a ZFS pool: see zpool status" ;;
  esac
}

# Who has it open: fuser knows the device, the links in /proc its name, also in containers with a /dev of their own.
check_users() {
  its_node=/dev/${1##*/}
  pids=''
  if has fuser; then pids=$(timeout 20 fuser -- "$its_node" 2>/dev/null) || pids=${pids:-}; fi
  while read -r pid place; do
    if [ "$place" = "$its_node" ]; then pids="$pids $pid"; fi
  done <<END
$open_devices
END
  said=' '
  for pid in $pids; do
    case $said in *" $pid "*) continue ;; esac
    said="$said$pid "
    if ! [ -d "/proc/$pid" ]; then continue; fi # it has ended meanwhile
    refuse "${1##*/} is open in process $pid ($(first_line "/proc/$pid/comm")): end it, if nobody needs it"
  done
}

# "pid /dev/name" a line, of all block devices that processes have open.
list_open_devices() {
  process=0
  # shellcheck disable=SC2012  # one process for all of them; a name that is not plain is no device of /dev
  ls -lU /proc/[0-9]*/fd 2>/dev/null | while read -r first rest; do
    case $first in
      /proc/*)
        process=${first#/proc/}
        process=${process%%/*}
        ;;
    esac
    case $rest in *' -> /dev/'*) printf '%s /dev/%s\n' "$process" "${rest##* -> /dev/}" ;; esac
  done
}

# Users inside the kernel, who have no open file: loop devices over it, exports over the network.
check_kernel_users() {
  for file in /sys/block/loop*/loop/backing_file /sys/kernel/config/nvmet/subsystems/*/namespaces/*/device_path \
    /sys/kernel/config/target/core/*/*/udev_path; do
    place=$(first_line "$file")
    if [ -z "$place" ]; then continue; fi
    if [ "$(readlink -f -- "$place" || :)" = "/dev/${1##*/}" ]; then refuse "${1##*/} is used by the kernel: $file"; fi
  done
}

# The kernel's own answer, for all namespaces: it opens what is mounted, held or swap for nobody exclusively.
check_exclusive() {
  if has perl; then
    # shellcheck disable=SC2016  # Perl's variables
    answer=$(perl -MFcntl -e 'sysopen(F, $ARGV[0], O_RDONLY | O_EXCL | O_NONBLOCK) or print "$!"' "$node" 2>&1) || :
  elif has python3; then
    answer=$(python3 -c 'import os, sys
try: os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL | os.O_NONBLOCK)
except OSError as error: print(error.strerror)' "$node" 2>&1) || :
  else return; fi
  if [ -n "$answer" ]; then refuse "the kernel does not give $node exclusively: $answer; something uses it"; fi
}

# Another path to the same medium: what is mounted through that one is not seen at this one.
check_other_paths() {
  for other in /sys/block/*; do
    if [ "$(readlink -f -- "$other")" = "$disk" ]; then continue; fi
    # The kernel's own path below a multipath NVMe device: nobody can open it.
    if [ "$(first_line "$other/hidden")" = 1 ]; then continue; fi
    for place in wwid device/wwid; do
      wwid=$(first_line "$disk/$place")
      if [ -n "$wwid" ] && [ "$wwid" = "$(first_line "$other/$place")" ]; then
        refuse "${disk##*/} is also ${other##*/} (same WWN): use multipath, and name its device"
      fi
    done
  done
}

check_state() {
  if [ "$(first_line "$sys/ro")" != 0 ] || [ "$(first_line "$disk/ro")" != 0 ]; then
    refuse "is read-only: it cannot be written (blockdev --setrw, or a switch on the device)"
  fi
  if [ "$(first_line "$sys/size")" = 0 ]; then refuse "has no size: there is no medium in it, or no file behind it"; fi
}

# Runs the line again as root where that needs no password: only root sees who uses a device.
as_root() {
  if [ "$(id -u)" = 0 ] || ! has sudo || ! sudo -n true 2>/dev/null; then return 1; fi
  status=0
  answer=$(printf '%s\n' "$1" | sudo -n sh "$0") || status=$?
  if [ -n "$answer" ]; then
    printf '%s\n' "$answer"
  elif [ "$status" != 0 ]; then
    refuse "cannot be checked: sudo -n sh guard.sh ended with $status"
  fi
  if [ "$status" != 0 ]; then n_reasons=$((n_reasons + 1)); fi
}

check_device() {
  if ! find_device "$1"; then return; fi
  check_identity "$2"
  check_state
  if [ "$(id -u)" != 0 ]; then
    refuse "cannot be checked: only root sees who uses it; log in as root, or allow sudo without a password"
    return
  fi
  if ! [ -r /proc/self/mountinfo ]; then refuse "cannot be checked: /proc/self/mountinfo is not readable"; fi
  mount_tables=$(namespaces)
  open_devices=$(list_open_devices)
  for relative in $(family); do
    check_holders "$relative"
    check_mounts "$relative"
    check_swap "$relative"
    if [ "$relative" = "$sys" ] || [ "$sys" = "$disk" ]; then check_signatures "$relative"; fi
    check_zfs "$relative"
    check_users "$relative"
    check_kernel_users "$relative"
  done
  check_other_paths
  check_exclusive
}

check_read() {
  if ! find_device "$1"; then return; fi
  check_identity "$2"
  if ! [ -r "$node" ]; then refuse "is not readable for $(id -un): use sudo, or the group that $node belongs to"; fi
  if [ "$(first_line "$sys/size")" = 0 ]; then refuse "has no size: there is no medium in it"; fi
}

# ---- files ----

# Whether a path is made of plain components: none empty, `.` or `..`, no control characters.
is_plain() {
  case "/$1/" in
    *//* | */./* | */../* | *[![:print:]]*) return 1 ;;
  esac
}

check_directory() {
  if ! [ -d "$1" ]; then
    refuse "the directory does not exist: make it, as the user who runs the benchmark"
    return 1
  fi
  real=$(readlink -f -- "$1") || real=''
  if [ "$real" != "$1" ]; then
    refuse "the directory is, or is below, a link: name it by its real path, $real"
    return 1
  fi
  case $1/ in
    /dev/shm/*) ;;
    / | /proc/* | /sys/* | /dev/* | /etc/* | /boot/* | /bin/* | /sbin/* | /lib/* | /lib64/* | /usr/*)
      refuse "the directory belongs to the system: name another one"
      return 1
      ;;
  esac
  case $(stat -f -c %T -- "$1") in
    proc | sysfs | devpts | cgroup*fs | cgroup | debugfs | tracefs | securityfs | configfs | bpf_fs | efivarfs)
      refuse "the directory is one of the kernel, not of a disk: name another one"
      return 1
      ;;
  esac
  check_access "$1"
}

check_access() {
  if ! [ -w "$1" ] || ! [ -x "$1" ]; then
    refuse "$1 is not writable for $(id -un)"
    return 1
  fi
  mode=$(stat -c %a -- "$1")
  case $mode in
    1??? | 3??? | 5??? | 7???) ;; # sticky: others cannot rename what is ours
    *[2367]) refuse "$1 is writable for everybody, who may put a link there: chmod o-w" ;;
  esac
}

# The folders between the directory and the file: real ones.
check_folders() {
  at=$1
  rest=$2
  while [ "$rest" != "${rest#*/}" ]; do
    at=$at/${rest%%/*}
    rest=${rest#*/}
    if [ -L "$at" ]; then
      refuse "$at is a link: it may lead out of the directory"
      return 1
    fi
    if ! [ -d "$at" ]; then
      refuse "the folder $at does not exist: make it"
      return 1
    fi
    if ! check_access "$at"; then return 1; fi
  done
}

# Whether an agent noted that it made this file: as which file, or from when until when it might make it.
is_made() {
  identity=$(stat -c '%i:%W:%s' -- "$1") && modified_s=$(stat -c %Y -- "$1") || return 1
  for made in "$spools"/*/made-files; do
    if ! [ -f "$made" ] || [ "$(stat -c %u -- "$made")" != "$(id -u)" ]; then continue; fi
    while IFS=$TAB read -r path which from_s until_s; do
      if [ "$path" != "$1" ]; then continue; fi
      case $which in
        "$identity") return 0 ;;
        making) if [ "$modified_s" -ge "$from_s" ] && [ "$modified_s" -le "$until_s" ]; then return 0; fi ;;
      esac
    done <"$made"
  done 2>/dev/null
  return 1
}

check_existing() {
  if [ -L "$1" ]; then
    refuse "is a link: it may lead out of the directory; remove it"
  elif [ -e "$1" ]; then
    if ! [ -f "$1" ]; then refuse "exists, and is no regular file, but a $(stat -c %F -- "$1")"; fi
    if [ -f "$1" ] && [ "$(stat -c %h -- "$1")" != 1 ]; then
      refuse "exists under other names as well (hard links): what they hold would be overwritten"
    fi
    if [ "$(stat -c %u -- "$1")" != "$(id -u)" ]; then
      refuse "exists, and belongs to $(stat -c %U -- "$1"), not to $(id -un)"
    elif ! [ -w "$1" ]; then refuse "exists, and is not writable for $(id -un)"; fi
    if [ -f "$1" ] && [ -s "$1" ] && ! is_made "$1"; then
      refuse "exists, and no campaign noted that it made it (earlier versions did not): remove it, or name another file"
    fi
    check_open_file "$1"
  fi
}

check_open_file() {
  for process in /proc/[0-9]*; do
    for file in "$process"/fd/*; do
      # shellcheck disable=SC3013  # dash, busybox, bash and ksh know it
      if [ "$file" -ef "$1" ]; then
        refuse "is open in process ${process#/proc/} ($(first_line "$process/comm")): end it, if nobody needs it"
        break
      fi
    done
  done 2>/dev/null
}

# Whether what all files so far may take is free there; what an existing file occupies counts as free.
check_space() {
  folder=$1
  n_bytes=$2
  blocks=$(stat -f -c %a -- "$folder") && size=$(stat -f -c %S -- "$folder") || blocks=''
  if [ -z "$blocks" ]; then
    refuse "cannot be checked: how much is free in $folder is not told"
    return
  fi
  if [ -f "$3" ]; then
    n_bytes=$((n_bytes - $(stat -c '%b * %B' -- "$3")))
    if [ "$n_bytes" -lt 0 ]; then n_bytes=0; fi
  fi
  where=$(stat -c %d -- "$folder")
  claims="$claims$NEWLINE$where $n_bytes"
  needed=0
  while read -r one claimed; do
    if [ "$one" = "$where" ]; then needed=$((needed + claimed)); fi
  done <<END
$claims
END
  if [ "$needed" -gt $((blocks * size)) ]; then
    refuse "needs $needed more bytes (with the files before it), but only $((blocks * size)) are free there"
  fi
}

check_file() {
  case $1 in
    /?*) ;;
    *)
      refuse "the directory is not an absolute path, or is the root"
      return
      ;;
  esac
  if ! is_plain "${1#/}" || ! is_plain "$2"; then
    refuse "is not a plain path: no '..', no empty parts, no control characters"
    return
  fi
  case $3 in
    '' | *[!0-9]* | ????????????????*)
      refuse "expected a number of bytes, found $3"
      return
      ;;
  esac
  if ! check_directory "$1" || ! check_folders "$1" "$2"; then return; fi
  check_existing "$1/$2"
  last=$1/$2
  check_space "${last%/*}" "$3" "$1/$2"
}

# ---- lines ----

check_line() {
  case $1 in
    device"$TAB"* | read"$TAB"*)
      rest=${1#*"$TAB"}
      target=${rest%%"$TAB"*}
      if [ "$rest" = "$target" ]; then
        refuse "expected device, path and serial, found no serial: it cannot be checked"
      elif as_root "$1"; then
        return
      elif [ "${1%%"$TAB"*}" = read ]; then
        check_read "$target" "${rest#*"$TAB"}"
      else check_device "$target" "${rest#*"$TAB"}"; fi
      ;;
    file"$TAB"*"$TAB"*"$TAB"*)
      rest=${1#*"$TAB"}
      directory=${rest%%"$TAB"*}
      rest=${rest#*"$TAB"}
      target=$directory/${rest%%"$TAB"*}
      check_file "$directory" "${rest%%"$TAB"*}" "${rest#*"$TAB"}"
      ;;
    *)
      target=$1
      refuse "expected a line of targets (device, read or file, tab-separated): it is not understood"
      ;;
  esac
}

main() {
  exec 3<&0 </dev/null # no program that is called here may take the lines
  while IFS= read -r line <&3 || [ -n "$line" ]; do
    current=$line # `line` is used elsewhere
    check_line "$current"
    line=''
  done
  if [ "$n_reasons" -gt 0 ]; then exit 1; fi
  exit 0
}

main
