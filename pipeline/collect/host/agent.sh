#!/bin/sh
# Works through the runs of a campaign on this host, alone and detached: `sh agent.sh VERB FOLDER …`.
#
#   submit FOLDER                 tar on stdin: `queue` and runs/<attempt>/…; what is here already stays as it is
#   start FOLDER                  let it work, detached; prints `started`, or `working` where it does
#   status FOLDER                 lines: now, agent, run, service, done; tab-separated
#   cancel FOLDER                 stop what runs, pack it, drop what waits, stop the services
#   service FOLDER NAME SECONDS   script on stdin: runs detached, at most so long; nothing happens where it runs
#   service-stop FOLDER NAME
#   version
#
# FOLDER is the campaign's spool: queue, runs/<attempt>/ (waiting or in hand), done/<attempt>.tar.zst and .json (packed;
# the JSON comes last), live/ and services/ (who runs: "group start boot"). A file is written under another name and
# renamed. A lock that its process holds tells who lives: the kernel gives it back, however that process ends.
set -eu
export LC_ALL=C
umask 077
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
readonly VERSION=1
readonly ROOM=1048576 # bytes; a file system with less is full
readonly START_S=50 # at most, from the start of a process until it runs; the client waits for 60 s
TAB=$(printf '\t')
NEWLINE='
'
readonly TAB NEWLINE
is_told=0 # to end, by a signal
is_expected=0

# ---- small things ----

now() { date -u +%Y-%m-%dT%H:%M:%SZ; }

say() { { printf '%s %s\n' "$(now)" "$1" >>"$folder/agent.log"; } 2>/dev/null || :; }

fail() {
  printf 'agent.sh: %s\n' "$1" >&2
  exit 1
}

# Seconds since the host was started: no change of the clock moves them.
clock() {
  read -r uptime _ </proc/uptime
  printf '%s' "${uptime%.*}"
}

# Sets line to the first line of a file; nothing where there is none. No process is started: loops over all runs call it.
read_line() {
  line=''
  { read -r line <"$1"; } 2>/dev/null || :
}

first_line() {
  read_line "$1"
  printf '%s' "$line"
}

free_bytes() { printf '%s' "$(($(stat -f -c '%a * %S' -- "$folder")))"; }

# An attempt's, a file's or a service's name: nothing that could lead elsewhere.
is_name() {
  if [ "${#1}" -gt 200 ]; then return 1; fi
  case $1 in '' | [!A-Za-z0-9]* | *[!A-Za-z0-9._+-]* | *..*) return 1 ;; esac
}

is_number() {
  case $1 in '' | *[!0-9]* | 0?* | ????????????????*) return 1 ;; esac
}

# Write a line into a file, whole or not at all; the agent stops where that cannot be done.
put() {
  if ! { printf '%s\n' "$2" >"$1.tmp" && [ -s "$1.tmp" ] && mv -f -- "$1.tmp" "$1"; } 2>/dev/null; then
    halt "$(why "cannot write $1")"
  fi
}

# A reason to stop; what a full disk explains is said so.
why() {
  if [ "$(free_bytes)" -lt "$ROOM" ]; then
    printf 'disk full: %s; free some of %s, then continue' "$1" "$folder"
  else printf '%s' "$1"; fi
}

# End the agent, and say why in `status`. The file has its size already: so that a full disk takes the reason.
halt() {
  say "stopped: $1"
  printf 'agent.sh: %s\n' "$1" >&2
  { printf '%-500.500s\n' "$1" 1<>"$folder/stopped"; } 2>/dev/null || :
  is_expected=1
  for record in "$folder"/live/*.lock; do
    if [ -e "$record" ]; then end_group "${record%.lock}" 5 marked; fi
  done
  exit 1
}

forget_reason() { { printf '%-500s\n' '' >"$folder/stopped"; } 2>/dev/null || :; }

# shellcheck disable=SC2317  # called by a trap
on_exit() {
  if [ "$is_expected" = 0 ]; then
    is_expected=1
    halt "$(why "it ended unexpectedly (exit status $1); see $folder/agent.log")"
  fi
}

# ---- process groups ----

# When a process was started, in the kernel's ticks: with its number it is like no other of this boot.
start_of() {
  stat=$(first_line "/proc/$1/stat")
  # shellcheck disable=SC2086  # numbers
  set -- ${stat##*) }
  printf '%s' "${20:-}"
}

boot_id() { cat /proc/sys/kernel/random/boot_id; }

# Start a script in a session of its own, not as this shell's child: shells let their children ignore SIGINT.
# RECORD LIMIT_S SCRIPT. RECORD.lock is held for as long as it lives, RECORD.exit is its exit status. The caller
# redirects its output. The limit is a net, in case that the agent dies. A machine under load may take long to start it:
# who claims RECORD.begun decides whether the script runs, or is given up and never runs.
launch() (
  exec 6>>"$1.lock"
  if ! flock -w "$START_S" 6; then exit 1; fi # one that was given up and is still there
  rm -f -- "$1" "$1.exit" "$1.begun"
  BENCHMARK_RECORD=$1 setsid -f timeout --signal=INT --kill-after=30 "$2" sh "$self" step "$1" "$3" </dev/null
  exec 6>&-
  deadline=$(($(clock) + START_S))
  while ! [ -e "$1.begun" ]; do
    if ! is_locked "$1.lock" || [ "$(clock)" -ge "$deadline" ]; then
      if claim "$1.begun" || ! [ -e "$1.begun" ]; then exit 1; fi
    fi
    sleep 0.1
  done
)

# Make a file that is not there yet: of several who try, one can.
claim() { (set -C && : >"$1") 2>/dev/null; }

# What `launch` starts: notes which group it is, runs the script, notes its exit status. Signals are for the script.
step() {
  is_stopped=0
  trap 'is_stopped=1' INT TERM HUP
  stat=$(first_line /proc/$$/stat)
  record=$1 script=$2
  # shellcheck disable=SC3013  # dash, busybox, bash and ksh know it
  if ! [ /proc/$$/fd/6 -ef "$record.lock" ]; then return; fi # its agent died, and another has begun anew
  # shellcheck disable=SC2086  # numbers
  set -- ${stat##*) }
  printf '%s %s %s\n' "$3" "$(start_of "$3")" "$(boot_id)" >"$record.tmp"
  mv -f -- "$record.tmp" "$record"
  if ! claim "$record.begun"; then return; fi
  status=143
  if [ "$is_stopped" = 0 ]; then
    status=0
    sh -- "$script" 6>&- || status=$?
  fi
  printf '%s\n' "$status" >"$record.exit.tmp"
  mv -f -- "$record.exit.tmp" "$record.exit"
}

is_locked() { [ -e "$1" ] && ! flock -n "$1" true; }

# The processes of a group. RECORD PGID WHICH: `all`, or `marked`, those that tell from which record they come.
members() {
  for process in /proc/[0-9]*; do
    { read -r stat <"$process/stat"; } 2>/dev/null || continue
    rest=${stat##*) } # state, parent, group
    case $rest in [ZX]*) continue ;; esac
    rest=${rest#* }
    rest=${rest#* }
    if [ "${rest%% *}" != "$2" ]; then continue; fi
    if [ "$3" = marked ] && ! is_marked "$process" "$1"; then continue; fi
    printf '%s ' "${process#/proc/}"
  done
}

is_marked() {
  case "
$(tr '\0' '\n' <"$1/environ" 2>/dev/null || :)
" in *"
BENCHMARK_RECORD=$2
"*) return 0 ;; esac
  return 1
}

# Signal a process, as root where it is root's (a step through sudo).
signal() {
  if ! kill -s "$1" "$2" 2>/dev/null && [ -e "/proc/$2" ] && [ "$(id -u)" != 0 ]; then
    sudo -n kill -s "$1" "$2" 2>/dev/null || :
  fi
}

# Sets pgid, leader and which: whose processes of the group are ours. 1: none can be. A number may have been given anew,
# so a group is ours while its leader is the one that was noted; without it, what is marked (or what this agent began).
find_group() {
  pgid='' start='' boot='' leader='' which=$2
  { read -r pgid start boot <"$1"; } 2>/dev/null || :
  if ! is_number "$pgid" || [ "$boot" != "$(boot_id)" ]; then return 1; fi
  if [ -n "$start" ] && [ "$(start_of "$pgid")" = "$start" ]; then leader=$pgid which=all; fi
}

# SIGINT, so that tools write what they have: to the leader, `timeout`, which hands it on once.
interrupt() {
  if ! find_group "$1" "$2"; then return; fi
  if [ -n "$leader" ]; then signal INT "$leader"; fi
  for pid in $(members "$1" "$pgid" "$which"); do
    owner=$(stat -c %u "/proc/$pid" 2>/dev/null) || continue
    if [ -z "$leader" ] || [ "$owner" != "$(id -u)" ]; then signal INT "$pid"; fi
  done
}

# Wait until a group is gone. RECORD GRACE_S WHICH: then SIGTERM, at which tools write what they have, then SIGKILL.
reap() {
  if ! find_group "$1" "$3"; then return; fi
  for action in "wait $2" 'TERM 20' 'KILL 5'; do
    began=$(clock)
    while :; do
      pids=$(members "$1" "$pgid" "$which")
      if [ -z "$pids" ]; then return; fi
      waited=$(($(clock) - began))
      case $action in
        wait*) # children whose script is gone get 3 s: they did not take its signal
          if [ "$waited" -ge "$2" ] || { [ "$waited" -ge 3 ] && ! [ -d "/proc/$pgid" ]; }; then break; fi
          ;;
        *)
          if [ "$waited" = 0 ]; then for pid in $pids; do signal "${action% *}" "$pid"; done; fi
          if [ "$waited" -ge "${action#* }" ]; then break; fi
          ;;
      esac
      sleep 0.2
    done
  done
  say "still there after SIGKILL: $pids"
}

end_group() {
  interrupt "$1" "$3"
  reap "$1" "$2" "$3"
}

is_stopping() { [ "$is_told" = 1 ] || [ -e "$folder/cancel" ]; }

# Wait for what was launched. RECORD LIMIT_S: 0 it has ended, 1 the limit struck, 2 the agent shall stop.
# Nothing is polled: the machine is measured meanwhile.
await() {
  deadline=$(($(clock) + $2))
  while :; do
    if is_stopping; then return 2; fi
    left=$((deadline - $(clock)))
    if [ "$left" -le 0 ]; then return 1; fi
    flock -w "$left" "$1.lock" true </dev/null &
    waiter=$!
    status=0
    wait "$waiter" || status=$?
    case $status in
      0 | 1) return "$status" ;;
      *) kill "$waiter" 2>/dev/null || : ;;
    esac
  done
}

# Sleep, unless the agent shall stop.
rest_for() {
  if [ "$1" -gt 0 ] && ! is_stopping; then
    sleep "$1" &
    sleeper=$!
    wait "$sleeper" || :
    kill "$sleeper" 2>/dev/null || :
  fi
}

# ---- one run ----

set_status() {
  put "$run/status" "$1"
  say "$attempt: $1"
}

# A line for the person who looks at the run.
note() { { printf 'agent: %s\n' "$1" >>"$run/stderr"; } 2>/dev/null || :; }

# Integers only: the file is read, never run.
read_limits() {
  time_limit_s=86400 prepare_limit_s='' cool_down_s=0 needed_bytes=$ROOM
  while IFS='=' read -r key value; do
    if ! is_number "$value"; then continue; fi
    case $key in
      TIME_LIMIT_S) time_limit_s=$value ;;
      PREPARE_LIMIT_S) prepare_limit_s=$value ;;
      COOL_DOWN_S) cool_down_s=$value ;;
      FREE_BYTES) needed_bytes=$((value + ROOM)) ;;
    esac
  done <"$run/limits"
  prepare_limit_s=${prepare_limit_s:-$time_limit_s}
}

snapshot() {
  timeout 30 sh "${self%/*}/snapshot.sh" "$1" "$run/targets" >"$run/environment-$1.txt" 2>/dev/null </dev/null || :
}

# Whether nothing speaks against the targets; all reasons go to stderr. A guard that fails is a reason.
is_guarded() {
  status=0
  reasons=$(timeout 300 sh "${self%/*}/guard.sh" "${folder%/*}" <"$run/targets" 2>>"$run/stderr") || status=$?
  if [ "$status" = 0 ] && [ -z "$reasons" ]; then return 0; fi
  note "refused: ${reasons:-guard.sh ended with exit status $status}"
  state=refused
  return 1
}

# Run prepare.sh, measure.sh or finish.sh, if there is one. NAME LIMIT_S; sets state where it does not go well.
run_step() {
  record=$folder/live/$1
  if ! [ -f "$run/$1.sh" ]; then return 0; fi
  if is_stopping; then
    stop_state
    return 1
  fi
  if ! (cd -- "$run" && launch "$record" "$(($2 + 60))" "$run/$1.sh" >>stdout 2>>stderr); then
    if is_stopping; then
      stop_state
    else
      note "$1.sh could not be started"
      state=failed
    fi
    return 1
  fi
  if [ "$1" = measure ]; then put "$run/pid" "$(first_line "$record" | cut -d ' ' -f 1)"; fi
  answer=0
  await "$record" "$2" || answer=$?
  if [ "$answer" != 0 ]; then interrupt "$record" all; fi
  reap "$record" 10 all # also children that outlive the script
  step_status=$(first_line "$record.exit")
  is_number "$step_status" || step_status=137 # killed before it could say
  case $answer in
    1)
      note "$1.sh reached its time limit of $2 s"
      state=timed_out
      ;;
    2) stop_state ;;
    *) if [ "$step_status" != 0 ]; then
      note "$1.sh ended with exit status $step_status"
      state=failed
    fi ;;
  esac
  [ -z "$state" ]
}

stop_state() { if [ -e "$folder/cancel" ]; then state=cancelled; else state=interrupted; fi; }

# Note in made-files what prepare.sh makes of the run's target files: the guard lets nobody else's be overwritten.
# `making`: from when until when it may make them, so that they are known if the agent dies; `made`: which they are now.
note_files() {
  files=$(target_files)
  if [ -z "$files" ]; then return; fi
  from_s=$(($(date +%s) - 2)) # the kernel's times of files are a moment late
  text=$(
    if [ -f "$folder/made-files" ]; then
      while IFS= read -r noted; do
        case "$1 $NEWLINE$files$NEWLINE" in
          "made "*"$NEWLINE${noted%%"$TAB"*}$NEWLINE"*) ;;
          *) printf '%s\n' "$noted" ;;
        esac
      done <"$folder/made-files"
    fi
    printf '%s\n' "$files" | while IFS= read -r file; do
      if [ "$1" = making ]; then
        printf '%s\tmaking\t%s\t%s\n' "$file" "$from_s" "$((from_s + prepare_limit_s + 120))"
      elif [ -s "$file" ]; then printf '%s\t%s\n' "$file" "$(stat -c '%i:%W:%s' -- "$file")"; fi
    done
  )
  put "$folder/made-files" "$text"
  sync -- "$folder/made-files" "$folder" || :
}

# The paths of the run's target files, a line each. The guard has seen that they are plain.
target_files() {
  while IFS=$TAB read -r kind directory name _; do
    if [ "$kind" = file ]; then printf '%s/%s\n' "$directory" "$name"; fi
  done <"$run/targets"
}

prepare() {
  if ! [ -f "$run/prepare.sh" ]; then return 0; fi
  note_files making
  run_step prepare "$prepare_limit_s" || :
  note_files made
  [ -z "$state" ]
}

start_monitors() {
  for script in "$run"/monitor-*.sh; do
    if ! [ -f "$script" ]; then continue; fi
    name=${script##*/}
    record=$folder/live/${name%.sh}
    (cd -- "$run" && launch "$record" "$((time_limit_s + 120))" "$script" >>stdout 2>>stderr) ||
      note "$name could not be started"
  done
}

stop_monitors() {
  for lock in "$folder"/live/monitor-*.lock; do
    if ! [ -e "$lock" ]; then continue; fi
    record=${lock%.lock}
    is_locked "$lock" || note "${record##*/}.sh ended before the run did, with exit status $(first_line "$record.exit")"
    interrupt "$record" all
  done
  for lock in "$folder"/live/monitor-*.lock; do
    if [ -e "$lock" ]; then reap "${lock%.lock}" 10 all; fi
  done
  rm -f -- "$folder"/live/monitor-*
}

measure() {
  start_monitors
  put "$run/started_at" "$(now)"
  set_status running
  run_step measure "$time_limit_s" || :
  put "$run/stopped_at" "$(now)"
  put "$run/exit_status" "${step_status:-126}"
  set_status finishing
  stop_monitors
  if [ "$(free_bytes)" -lt "$ROOM" ]; then
    note "the disk of $folder is full: logs may be cut"
    state=${state:-failed}
  fi
  case $state in # reports are made of what there is, also after a failure
    '' | failed | timed_out)
      measured=$state state=''
      run_step finish "$time_limit_s" || :
      if [ "$state" = timed_out ]; then state=failed; fi # `timed_out` is said of the measurement
      state=${measured:-$state}
      ;;
  esac
  state=${state:-complete}
}

run_one() {
  attempt=$1 run=$folder/runs/$1 state='' step_status=''
  read_limits
  if [ "$(free_bytes)" -lt "$needed_bytes" ]; then
    halt "disk full: $(free_bytes) bytes are free in $folder, $attempt may take $needed_bytes; free some, then continue"
  fi
  put "$run/started_at" "$(now)"
  put "$run/boot_id" "$(boot_id)"
  set_status preparing
  : >>"$run/stdout"
  : >>"$run/stderr"
  snapshot before
  # The second look is the one that counts: preparing may have taken hours.
  if is_guarded && prepare && is_guarded; then measure; fi
  snapshot after
  if ! [ -e "$run/stopped_at" ]; then put "$run/stopped_at" "$(now)"; fi
  set_status "$state"
  pack "$attempt"
}

# ---- packing ----

# Only plain files are packed: what else a tool left is named in stderr and removed.
sift() (
  for entry in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    if [ -d "$entry" ] && ! [ -L "$entry" ]; then
      sift "$entry"
    elif [ -L "$entry" ] || { [ -e "$entry" ] && ! [ -f "$entry" ]; }; then
      note "left out, as it is no regular file: ${entry#"$run"/}"
      rm -f -- "$entry"
    fi
  done
)

# Steps through sudo leave files that are root's.
own_files() {
  if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then sudo -n chown -hR "$(id -u):$(id -g)" "$1" || :; fi
}

# tar's exit status; 1 says that a file changed meanwhile, its archive is whole. In sh a pipe tells only zstd's.
write_archive() {
  plain=''
  case $(tar --help 2>&1) in *--hard-dereference*) plain='--hard-dereference --numeric-owner' ;; esac
  {
    {
      status=0
      # shellcheck disable=SC2086  # options
      tar -C "$folder/runs" $plain -cf - -- "$1" || status=$?
      printf '%s' "$status" >&3
    } | zstd -q -3 -c >"$2"
  } 3>&1
}

pack() {
  run=$folder/runs/$1 archive=$folder/done/$1.tar.zst temporary=$folder/done/.$1.tar.zst
  own_files "$run"
  sift "$run"
  packed=$(write_archive "$1" "$temporary") || packed=zstd
  case $packed in
    0 | 1) ;;
    *) packed=failed ;;
  esac
  if [ "$packed" = failed ] || ! sync -- "$temporary" || ! zstd -q -t -- "$temporary"; then
    reason=$(why "cannot pack $1")
    rm -f -- "$temporary"
    halt "$reason"
  fi
  sha256=$(sha256sum <"$temporary")
  n_bytes=$(stat -c %s -- "$temporary")
  mv -f -- "$temporary" "$archive"
  put "$folder/done/.$1.json" "$(describe "$1" "${sha256%% *}" "$n_bytes")"
  sync -- "$folder/done/.$1.json" "$folder/done"
  mv -f -- "$folder/done/.$1.json" "$folder/done/$1.json"
  sync -- "$folder/done"
  rm -rf -- "$run"
}

# A text of our own in quotes, null where there is none; no text of ours holds what JSON escapes.
quoted() {
  case $1 in
    '' | *[!A-Za-z0-9:._+-]*) printf null ;;
    *) printf '"%s"' "$1" ;;
  esac
}

# `run` is what the client said of it: JSON, in which a line's end has no meaning.
describe() {
  exit_status=$(first_line "$run/exit_status")
  is_number "$exit_status" || exit_status=null
  said=$(tr -d '\n\r' <"$run/command.json" 2>/dev/null) || said=''
  printf '{"attempt": %s, "state": %s, "exit_status": %s, "started_at": %s, "stopped_at": %s, ' "$(quoted "$1")" \
    "$(quoted "$(first_line "$run/status")")" "$exit_status" "$(quoted "$(first_line "$run/started_at")")" \
    "$(quoted "$(first_line "$run/stopped_at")")"
  printf '"sha256": "%s", "n_bytes": %s, "run": %s}' "$2" "$3" "${said:-null}"
}

# ---- the queue ----

# What an agent left that died, or whose host was rebooted: it is ended, called by its name, and packed.
recover() {
  rm -f -- "$folder"/done/.*.tar.zst "$folder"/done/.*.json "$folder"/done/.*.json.tmp
  for lock in "$folder"/live/*.lock; do
    if [ -e "$lock" ]; then end_group "${lock%.lock}" 10 marked; fi
  done
  rm -rf -- "$folder/live"
  mkdir -- "$folder/live"
  for run in "$folder"/runs/*; do
    attempt=${run##*/}
    if ! [ -d "$run" ] || ! is_name "$attempt"; then continue; fi
    if [ -e "$folder/done/$attempt.json" ]; then
      rm -rf -- "$run"
      continue
    fi
    case $(first_line "$run/status") in
      waiting) continue ;;
      complete | failed | timed_out | cancelled | interrupted | refused) ;;
      *) if [ -e "$folder/cancel" ]; then set_status cancelled; else set_status interrupted; fi ;;
    esac
    pack "$attempt"
  done
}

# The first attempt that waits; nothing where none does.
next_waiting() {
  while read -r one; do
    if ! is_name "$one"; then continue; fi
    read_line "$folder/runs/$one/status"
    if [ "$line" = waiting ]; then
      printf '%s' "$one"
      return
    fi
  done <"$folder/queue"
}

# Under queue.lock: the queue without what waits, and what waits is gone.
drop_waiting() {
  : >"$folder/queue.tmp"
  while read -r one; do
    if ! is_name "$one"; then continue; fi
    read_line "$folder/runs/$one/status"
    if [ "$line" = waiting ]; then
      rm -rf -- "$folder/runs/$one"
    else printf '%s\n' "$one" >>"$folder/queue.tmp"; fi
  done <"$folder/queue"
  mv -f -- "$folder/queue.tmp" "$folder/queue"
}

stop_services() {
  for lock in "$folder"/services/*.lock; do
    if [ -e "$lock" ]; then end_group "${lock%.lock}" 5 marked; fi
  done
}

clean_up_cancelled() {
  stop_services
  (
    exec 8>"$folder/queue.lock"
    flock 8
    drop_waiting
  )
}

work_through() {
  put "$folder/agent.pid" "$$ $(start_of $$)"
  recover
  cool_down_s=0
  while ! is_stopping; do
    attempt=$(next_waiting)
    if [ -z "$attempt" ]; then return; fi
    rest_for "$cool_down_s"
    if ! is_stopping; then run_one "$attempt"; fi
  done
  if [ -e "$folder/cancel" ]; then
    clean_up_cancelled
  else halt "it was told to end by a signal; continue when the host is ready"; fi
}

# Holds agent.lock (9) for its life; nothing that it starts has it. `inherited`: from `start`.
work() {
  if [ "${1:-}" != inherited ]; then exec 9>>"$folder/agent.lock"; fi
  flock -w 1 9 || fail "another agent works in $folder"
  forget_reason
  trap 'is_told=1' TERM INT HUP
  trap 'on_exit $?' EXIT
  exec 8>"$folder/queue.lock"
  while :; do
    work_through 9>&- 8>&-
    # A submission is before this look, or sees the agent gone when it starts one: none is left lying.
    flock 8
    if is_stopping || [ -z "$(next_waiting)" ]; then break; fi
    flock -u 8
  done
  is_expected=1
}

# ---- verbs ----

start() {
  exec 9>>"$folder/agent.lock"
  if ! flock -w 1 9; then # a look of `status` holds it for a moment
    echo working
    return
  fi
  rm -f -- "$folder/cancel"
  setsid -f nohup sh "$self" work "$folder" inherited </dev/null >>"$folder/agent.log" 2>&1
  echo started
}

# The tar's members: names that lead nowhere else, plain files and folders, and its end, so that it is not cut.
check_tar() {
  n_bytes=$(stat -c %s -- "$1")
  if [ "$n_bytes" -lt 1024 ] || [ "$(tail -c 1024 -- "$1" | tr -d '\0' | wc -c)" -ne 0 ]; then
    fail 'submit: the tar is cut: nothing was taken'
  fi
  tar -tvf "$1" >"$1.types" || fail 'submit: expected a tar: nothing was taken'
  tar -tf "$1" >"$1.names" || fail 'submit: expected a tar: nothing was taken'
  while IFS= read -r type; do
    case $type in
      -* | d*) ;;
      *) fail 'submit: the tar holds other things than files and folders: nothing was taken' ;;
    esac
  done <"$1.types"
  while IFS= read -r member; do
    is_member "$member" || fail 'submit: the tar holds a name that is not allowed: nothing was taken'
  done <"$1.names"
}

# queue, runs/, runs/ATTEMPT/, runs/ATTEMPT/FILE
is_member() {
  case $1 in queue | runs/) return 0 ;; runs/?*) ;; *) return 1 ;; esac
  inner=${1#runs/}
  inner=${inner%/}
  case $inner in
    */*) is_name "${inner%%/*}" && is_name "${inner#*/}" ;;
    *) is_name "$inner" ;;
  esac
}

check_unpacked() {
  for entry in "$1"/runs/*/*; do
    if [ -L "$entry" ] || { [ -e "$entry" ] && ! [ -f "$entry" ]; }; then
      fail 'submit: expected plain files in runs/<attempt>: nothing was taken'
    fi
  done
  [ -f "$1/queue" ] || fail 'submit: expected a queue: nothing was taken'
  while IFS= read -r one; do
    is_name "$one" || fail 'submit: the queue holds a name that is not allowed: nothing was taken'
    if ! [ -d "$1/runs/$one" ]; then continue; fi
    for file in measure.sh targets limits; do
      [ -f "$1/runs/$one/$file" ] || fail "submit: $one has no $file: nothing was taken"
    done
  done <"$1/queue"
}

submit() {
  mkdir -p -- "$folder/runs" "$folder/done" "$folder/live" "$folder/services"
  exec 8>"$folder/queue.lock"
  flock 8 # nobody sweeps between the making of a folder and its lock
  sweep_incoming
  incoming=$(mktemp -d -- "$folder/incoming.XXXXXX")
  trap 'rm -rf -- "$incoming"' EXIT
  exec 7>"$incoming/lock"
  flock 7
  flock -u 8
  cat >"$incoming/tar" || fail 'submit: cannot write what comes: is the disk full?'
  check_tar "$incoming/tar"
  mkdir -- "$incoming/new"
  tar -xf "$incoming/tar" -C "$incoming/new" --no-same-owner --no-same-permissions ||
    fail 'submit: cannot unpack the tar: is the disk full?'
  mkdir -p -- "$incoming/new/runs"
  check_unpacked "$incoming/new"
  flock 8
  install_runs "$incoming/new"
}

# What a submission left that was cut: nobody holds its lock.
sweep_incoming() {
  for left in "$folder"/incoming.*; do
    if [ -e "$left/lock" ] && ! is_locked "$left/lock"; then rm -rf -- "$left"; fi
  done
}

# Each attempt appears at once, by renaming; then the queue names it. Cut between the two, a second submission mends it.
install_runs() {
  touch -- "$folder/queue"
  cat -- "$folder/queue" >"$1/queue.all"
  known=" $(tr '\n' ' ' <"$folder/queue") "
  while IFS= read -r one; do
    new=$1/runs/$one
    if [ -d "$new" ] && ! [ -e "$folder/runs/$one" ] && ! [ -e "$folder/done/$one.json" ]; then
      printf 'waiting\n' >"$new/status"
      sync -- "$new"/*
      mv -- "$new" "$folder/runs/$one"
    fi
    case $known in *" $one "*) continue ;; esac
    if [ -d "$folder/runs/$one" ]; then
      printf '%s\n' "$one" >>"$1/queue.all"
      known="$known$one "
    fi
  done <"$1/queue"
  sync -- "$1/queue.all" "$folder/runs"
  mv -f -- "$1/queue.all" "$folder/queue"
}

# Why nobody works: what the agent said, or what is left lying.
agent_state() {
  if is_locked "$folder/agent.lock"; then
    printf working
    return
  fi
  reason=$(first_line "$folder/stopped")
  if [ -n "$reason" ]; then
    printf 'stopped: %s' "$reason"
  elif [ -e "$folder/cancel" ]; then
    printf 'stopped: cancelled'
  elif [ "$(left_lying)" = 1 ]; then
    printf 'stopped: the agent was killed or the host was rebooted in mid-run; continue'
  else printf idle; fi
}

left_lying() {
  for one in "$folder"/runs/*/status; do
    read_line "$one"
    case $line in '' | waiting) ;; *)
      printf 1
      return
      ;;
    esac
  done
}

# The runs in hand before those that are done: one that is packed meanwhile is seen twice rather than not at all.
status() {
  printf 'now\t%s\n' "$(now)"
  printf 'agent\t%s\n' "$(agent_state)"
  if [ -e "$folder/queue" ]; then
    while read -r one; do
      if ! is_name "$one" || ! [ -d "$folder/runs/$one" ]; then continue; fi
      read_line "$folder/runs/$one/status"
      if [ -z "$line" ]; then continue; fi # it is being removed
      printf 'run\t%s\t%s' "$one" "$line"
      for moment in started_at stopped_at; do
        read_line "$folder/runs/$one/$moment"
        printf '\t%s' "$line"
      done
      printf '\n'
    done <"$folder/queue"
  fi
  for record in "$folder"/services/*.lock; do
    if ! [ -e "$record" ]; then continue; fi
    word=ended
    if is_locked "$record"; then word=running; fi
    record=${record##*/}
    printf 'service\t%s\t%s\n' "${record%.lock}" "$word"
  done
  for one in "$folder"/done/*.json; do
    content=''
    { IFS= read -r content <"$one"; } 2>/dev/null || :
    if [ -n "$content" ]; then printf 'done\t%s\n' "$content"; fi
  done
}

# Wake the agent; again and again, as a signal just before it waits would be missed.
cancel() {
  mkdir -p -- "$folder/runs" "$folder/done" "$folder/live"
  touch -- "$folder/cancel" "$folder/queue"
  exec 9>>"$folder/agent.lock"
  deadline=$(($(clock) + 75))
  until flock -w 1 9; do
    pid='' start=''
    { read -r pid start <"$folder/agent.pid"; } 2>/dev/null || :
    if is_number "$pid" && [ "$(start_of "$pid")" = "$start" ]; then kill -s TERM "$pid" 2>/dev/null || :; fi
    if [ "$(clock)" -ge "$deadline" ]; then fail 'cancel: it is stopping, but is not done yet (packing?); see status'; fi
  done
  forget_reason
  recover 9>&-
  clean_up_cancelled 9>&-
  echo cancelled
}

service() {
  is_name "${1:-}" || fail 'service: expected a name'
  is_number "${2:-}" || fail 'service: expected a number of seconds'
  mkdir -p -- "$folder/services"
  record=$folder/services/$1
  if is_locked "$record.lock"; then
    echo running
    return
  fi
  cat >"$record.sh.tmp"
  mv -f -- "$record.sh.tmp" "$record.sh"
  (cd -- "$folder/services" && launch "$record" "$2" "$record.sh" >>"$record.log" 2>&1) ||
    fail "service $1 could not be started"
  echo started
}

service_stop() {
  is_name "${1:-}" || fail 'service-stop: expected a name'
  end_group "$folder/services/$1" 5 marked
}

main() {
  verb=${1:-}
  case $0 in /*) self=$0 ;; *) self=$PWD/$0 ;; esac
  if [ "$verb" = version ]; then
    echo "$VERSION"
    return
  fi
  if [ "$verb" = step ]; then
    step "$2" "$3"
    return
  fi
  folder=${2:-}
  case $folder in /?*) ;; *) fail 'expected: sh agent.sh VERB /absolute/folder …' ;; esac
  [ -d "$folder" ] || mkdir -p -- "$folder"
  shift 2
  case $verb in
    submit) submit ;;
    start) start ;;
    work) work "$@" ;;
    status) status ;;
    cancel) cancel ;;
    service) service "$@" ;;
    service-stop) service_stop "$@" ;;
    *) fail "expected submit, start, work, status, cancel, service, service-stop or version, found $verb" ;;
  esac
}

main "$@"
exit
