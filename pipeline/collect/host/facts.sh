#!/bin/sh
# Facts about this host, for `doctor`: looks, and changes nothing (a temporary folder comes and goes).
#
# Sent to `sh -s`, with these variables set above this text:
#   QUESTIONS  a line each, tab-separated: number, kind, arguments
#     program NAME VERSION_ARGUMENT…   → path (- : missing), first line of its version
#     space FOLDER                     → is there, writable, free bytes, free inodes, file system, mount options, mode
#     file PATH                        → bytes that it occupies
#     port NUMBER                      → free or used
#     sudo                             → yes, or what sudo says
#     agents SPOOL                     → the campaigns of this spool whose agents are at work
#     probe COMMAND ARGUMENT…          → exit status, lines of its output
#   GUARD, TARGETS, SPOOL, CAMPAIGN    guard.sh's text and lines; not asked where the campaign's own agent is at work
# Output, tab-separated: the question's number, its kind, the answer. Number 0: facts for which nobody asked. The last
# line is `0 end`. A figure that is not known is `-`.
export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
: "${QUESTIONS:=}" "${GUARD:=}" "${TARGETS:=}" "${SPOOL:=}" "${CAMPAIGN:=}"
TAB=$(printf '\t')
readonly TAB

has() { command -v "$1" >/dev/null 2>&1; }

# A text on one line of at most 400 bytes, without what a terminal would obey.
clean() { printf '%s' "$1" | head -c 400 | tr -c '[:print:]' '?'; }

# Print a line: number, kind, values.
put() {
  number=$1 kind=$2
  shift 2
  printf '%s\t%s' "$number" "$kind"
  for value in "$@"; do printf '\t%s' "$(clean "${value:--}")"; done
  printf '\n'
}

first_line() {
  line=''
  { read -r line <"$1"; } 2>/dev/null
  printf '%s' "$line"
}

# Bounded in time, where that can be done.
briefly() {
  if has timeout; then timeout -k 2 15 "$@"; else "$@"; fi
}

# ---- answers ----

program() {
  asked=$1 name=$2
  shift 2
  path=$(command -v "$name" 2>/dev/null)
  if [ -z "$path" ] || { [ "${path#/}" != "$path" ] && ! [ -f "$path" ]; }; then
    put "$asked" program - -
    return
  fi
  version=''
  if [ $# -gt 0 ]; then version=$(briefly "$path" "$@" 2>&1 | head -c 4096 | tr -d '\0' | grep -m 1 '[^[:space:]]'); fi
  put "$asked" program "$path" "$version"
}

# A folder of the spec, or the nearest one above it that is there.
space() {
  asked=$1 folder=$(expanded "$2") is_there=yes is_writable=no
  if ! [ -d "$folder" ]; then is_there=no; fi
  while ! [ -e "$folder" ] && [ "$folder" != / ] && [ -n "$folder" ]; do
    folder=${folder%/*}
    folder=${folder:-/}
  done
  if [ -d "$folder" ] && [ -w "$folder" ] && [ -x "$folder" ]; then is_writable=yes; fi
  free=$(briefly stat -f -c '%a %S %d %c' -- "$folder" 2>/dev/null)
  # shellcheck disable=SC2086  # numbers
  set -- ${free:-- - - -}
  n_bytes=-
  if [ "$1" != - ]; then n_bytes=$(($1 * $2)); fi
  inodes=$3
  if [ "$4" = 0 ]; then inodes=-; fi # file systems without a table of inodes say 0
  options=''
  if has findmnt; then options=$(briefly findmnt -n -o OPTIONS -T "$folder" 2>/dev/null | tail -n 1); fi
  put "$asked" space "$is_there" "$is_writable" "$n_bytes" "$inodes" \
    "$(briefly stat -f -c %T -- "$folder" 2>/dev/null)" "$options" "$(stat -c %a -- "$folder" 2>/dev/null)"
}

expanded() {
  case $1 in
    "~"/*) printf '%s' "${HOME:-}/${1#"~"/}" ;;
    *) printf '%s' "$1" ;;
  esac
}

occupied() {
  # Not what a hard link or a link elsewhere holds: guard.sh refuses those.
  put "$1" file "$(($(stat -c '%b * %B' -- "$2" 2>/dev/null || echo 0)))"
}

# Ports are hexadecimal in the kernel's tables; 0A: somebody listens.
port() {
  if ! [ -r /proc/net/tcp ]; then
    put "$1" port -
    return
  fi
  wanted=$(printf ':%04X' "$2")
  answer=free
  while read -r _ address _ state _; do
    if [ "$state" = 0A ] && [ "${address%"$wanted"}" != "$address" ]; then answer=used; fi
  done <<END
$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null)
END
  put "$1" port "$answer"
}

sudo_without_password() {
  if said=$(briefly sudo -n true 2>&1); then said=yes; fi
  put "$1" sudo "$said"
}

# Whether an agent holds its lock; it is tried for a moment, as the agent's own `status` does.
is_working() { [ -f "$1/agent.lock" ] && has flock && ! flock -n "$1/agent.lock" true 2>/dev/null; }

agents() {
  for folder in "$(expanded "$2")"/*; do
    if is_working "$folder"; then put "$1" agents "${folder##*/}"; fi
  done
}

probe() {
  asked=$1
  shift
  if said=$(briefly "$@" 2>&1); then status=0; else status=$?; fi
  put "$asked" probe "$status"
  printf '%s\n' "$said" | head -n 120 | grep '[^[:space:]]' | while IFS= read -r one; do
    put "$asked" probe_line "$one"
  done
}

answer() {
  set -f
  IFS=$TAB
  # shellcheck disable=SC2086  # the fields of a line
  set -- $1
  unset IFS
  set +f
  asked=$1 what=$2
  shift 2
  case $what in
    program) program "$asked" "$@" ;;
    space) space "$asked" "$1" ;;
    file) occupied "$asked" "$1" ;;
    port) port "$asked" "$1" ;;
    sudo) sudo_without_password "$asked" ;;
    agents) agents "$asked" "$1" ;;
    probe) probe "$asked" "$@" ;;
  esac
}

# ---- facts for which nobody asked ----

property() {
  briefly busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager "$1" 2>/dev/null
}

# Whether logind ends what a user leaves behind, and whether this session is one that it knows.
logind() {
  case $(cat /proc/self/cgroup 2>/dev/null) in *session-*.scope*) put 0 session yes ;; *) put 0 session no ;; esac
  if ! [ -d /run/systemd/system ] || ! has busctl; then return; fi
  put 0 kill_user_processes "$(property KillUserProcesses)"
  put 0 kill_only_users "$(property KillOnlyUsers)"
  put 0 kill_exclude_users "$(property KillExcludeUsers)"
}

governors() {
  found=$(cat /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor 2>/dev/null | sort | uniq -c)
  if [ -n "$found" ]; then put 0 governor "$(printf '%s' "$found" | tr -s ' \n' ' ')"; fi
}

swap() {
  total='' free=''
  while read -r name value _; do
    case $name in
      SwapTotal:) total=$value ;;
      SwapFree:) free=$value ;;
    esac
  done </proc/meminfo
  if [ -n "$total" ] && [ -n "$free" ]; then put 0 swap_bytes "$(((total - free) * 1024))"; fi
}

system() {
  put 0 system "$(uname -s)" "$(uname -r)" "$(uname -m)"
  put 0 user "$(id -u)" "$(id -un)"
  put 0 paranoid "$(first_line /proc/sys/kernel/perf_event_paranoid)"
  load=$(first_line /proc/loadavg)
  put 0 load "${load%% *}" "$(getconf _NPROCESSORS_ONLN 2>/dev/null)"
  if [ -e /run/reboot-required ] || [ -e /var/run/reboot-required ]; then put 0 reboot yes; fi
}

# Why the campaign's targets must not be touched. guard.sh must be a file: it may call itself through sudo.
guard() {
  if is_working "$(expanded "$SPOOL")/$CAMPAIGN"; then
    put 0 guard working
    return
  fi
  if ! folder=$(umask 077 && mktemp -d 2>&1); then
    put 0 guard failed "$folder"
    return
  fi
  trap 'rm -rf -- "$folder"' EXIT
  trap 'exit 1' HUP INT TERM
  if ! said=$(printf '%s\n' "$GUARD" 2>&1 >"$folder/guard.sh"); then
    put 0 guard failed "$said"
    return
  fi
  status=0
  printf '%s\n' "$TARGETS" >"$folder/targets"
  reasons=$(timeout 300 sh "$folder/guard.sh" "$(expanded "$SPOOL")" <"$folder/targets" 2>"$folder/errors") || status=$?
  printf '%s\n' "$reasons" | head -n 500 | while IFS=$TAB read -r target reason; do
    if [ -n "$target" ]; then put 0 reason "$target" "$reason"; fi
  done
  put 0 guard "$status" "$(head -c 400 "$folder/errors" 2>/dev/null)"
}

main() {
  system
  logind
  governors
  swap
  while IFS= read -r question; do
    if [ -n "$question" ]; then (answer "$question") </dev/null; fi # whatever one does, the others are answered
  done <<END
$QUESTIONS
END
  if [ -n "$TARGETS" ]; then (guard); fi
  put 0 end
}

main </dev/null
