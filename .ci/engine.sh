#!/usr/bin/env bash
# A Docker engine of one's own where the machine has none: its data, socket and pid stand under DIR.
#
#   eval "$(.ci/engine.sh start DIR)"   start (or find) it, then export DOCKER_HOST
#   .ci/engine.sh stop DIR              end it by its pid and unmount what it left; images stay in DIR/data
#
# Needs root, and Debian's packages docker.io and iptables (installed by apt when absent).
# ENGINE_FLAGS: further flags of dockerd, as of an engine beside another (--bridge none --iptables=false).
# Only `export DOCKER_HOST=...` goes to stdout; all else goes to stderr and DIR/dockerd.log.
set -euo pipefail

START_LIMIT_S=60
STOP_LIMIT_S=30

fail() { echo "engine.sh: $*" >&2; exit 1; }

usage="usage: .ci/engine.sh start|stop DIR"
[ $# -eq 2 ] || fail "$usage"
action=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
socket=$dir/docker.sock
pid_file=$dir/docker.pid
log=$dir/dockerd.log

answers() {
  [ -S "$socket" ] && curl -sf --max-time 2 --unix-socket "$socket" http://engine/_ping >/dev/null 2>&1
}

running_pid() {
  # A pid file outlives a crash, and its number may since be another program's.
  local pid
  pid=$(cat "$pid_file" 2>/dev/null) || return 1
  [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = dockerd ] || return 1
  echo "$pid"
}

install_engine() {
  local missing=()
  [ -x "$(command -v dockerd || true)" ] || missing+=(docker.io)
  [ -x "$(command -v iptables || true)" ] || missing+=(iptables)
  [ -x "$(command -v curl || true)" ] || missing+=(curl)
  [ ${#missing[@]} -eq 0 ] && return
  # The package would start a daemon of its own where an init system runs; ours is started by hand.
  (apt-get update && RUNLEVEL=1 apt-get install -y --no-install-recommends "${missing[@]}") >&2 ||
    fail "apt could not install ${missing[*]}. Install them by hand, then call this again."
}

start() {
  if ! answers; then
    [ "$(id -u)" = 0 ] || fail "dockerd needs root. Use sudo, or an engine that already runs (DOCKER_HOST)."
    install_engine
    running_pid >/dev/null || rm -f "$pid_file" "$socket"
    echo '{}' >"$dir/daemon.json" # not the host's own configuration
    # setsid and closed inputs: the engine outlives the step that started it.
    setsid dockerd --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$pid_file" \
      --host "unix://$socket" --config-file "$dir/daemon.json" ${ENGINE_FLAGS:-} >>"$log" 2>&1 </dev/null &
    local launched=$!
    local deadline=$((SECONDS + START_LIMIT_S))
    until answers; do
      kill -0 "$launched" 2>/dev/null || fail "dockerd ended at once: $(tail -n 3 "$log")"
      [ $SECONDS -lt $deadline ] || fail "dockerd did not answer in $START_LIMIT_S s; its log is $log."
      sleep 0.2
    done
  fi
  echo "export DOCKER_HOST=unix://$socket"
}

stop() {
  local pid
  if pid=$(running_pid); then
    kill -TERM "$pid"
    local deadline=$((SECONDS + STOP_LIMIT_S))
    while kill -0 "$pid" 2>/dev/null; do
      [ $SECONDS -lt $deadline ] || { echo "engine.sh: dockerd $pid did not end; killing it" >&2; kill -KILL "$pid"; sleep 1; break; }
      sleep 0.2
    done
  fi
  # A killed engine leaves its overlay and network mounts behind; the deepest goes first.
  awk -v under="$dir/" 'index($2, under) == 1 { print $2 }' /proc/mounts | sort -r | while read -r mount; do
    umount -l "$mount" || true
  done
  rm -rf "$dir/exec"
  rm -f "$socket" "$pid_file"
}

case $action in
  start) start ;;
  stop) stop ;;
  *) fail "$usage" ;;
esac
