#!/bin/bash
# Runs a command beside a real systemd-journald of its own.
#
#   tests/journald.sh CMD [ARG...]
#
# The command can write to /run/systemd/journal/socket and read with journalctl; it sees only
# its own entries, and the machine's journal sees none of them. There is no systemd: no units,
# no /dev/log. The exit status is the command's, or 125 when the journal could not be started.
#
# Everything is in private mount and process namespaces, which end with this script, however
# it ends: nothing is left behind. Needs root and util-linux.
set -euo pipefail

fail() { printf 'journald.sh: %s\n' "$*" >&2; exit 125; }

outside() {
  [ $# -gt 0 ] || fail "usage: tests/journald.sh CMD [ARG...]"
  [ "$(id -u)" = 0 ] || fail "must be run as root"
  [ -x /lib/systemd/systemd-journald ] || fail "systemd-journald is not installed"
  # The shell stays to take signals, since unshare ignores them while it waits. If the shell is
  # killed, setpriv's signal ends unshare and --kill-child ends all that is inside.
  # A job in the background would get /dev/null for its standard input: hand ours over.
  exec 3<&0
  setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc \
    --propagation private bash "${BASH_SOURCE[0]}" --inside "$@" <&3 3<&- &
  child=$!
  trap 'kill -KILL "$child"; exit 143' TERM
  trap 'kill -KILL "$child"; exit 130' INT HUP
  local status=0
  wait "$child" || status=$?
  exit "$status"
}

prepare() {
  mount -t tmpfs -o mode=755 tmpfs /run
  mkdir -p /run/systemd/journal /run/systemd/journald.conf.d /run/log/journal
  # Kernel and audit messages are the machine's. A test may write faster than the default
  # limit, and an entry that is dropped there would look like one the agent never sent.
  printf '%s\n' '[Journal]' Storage=volatile ReadKMsg=no Audit=no RateLimitIntervalSec=0 \
    >/run/systemd/journald.conf.d/test.conf
  # journald refuses to work without the number of its machine; containers may have none.
  if [ ! -s /etc/machine-id ]; then
    tr -d - </proc/sys/kernel/random/uuid >/run/machine-id
    [ -e /etc/machine-id ] || fail "/etc/machine-id is missing: touch /etc/machine-id"
    mount --bind /run/machine-id /etc/machine-id
  fi
}

start_journald() {
  # No socket units here: journald makes its sockets itself when it is passed none.
  /lib/systemd/systemd-journald </dev/null >/dev/null 2>/run/journald.err &
  journald=$!
  local try
  for ((try = 0; try < 200; try++)); do
    if [ -S /run/systemd/journal/socket ] && [ -S /run/systemd/journal/stdout ] &&
      [ -S /run/systemd/journal/io.systemd.journal ]; then
      return
    fi
    kill -0 "$journald" 2>/dev/null || break
    sleep 0.02
  done
  cat /run/journald.err >&2
  fail "systemd-journald did not start"
}

inside() {
  # A failure in here is not the command's, and must not look like it.
  set -o errtrace
  trap 'fail "could not set up the journal"' ERR
  prepare
  start_journald
  trap - ERR
  local status=0
  "$@" || status=$?
  # Being process 1 here, this shell takes everything that still runs down with it.
  exit "$status"
}

if [ "${1:-}" = --inside ]; then shift; inside "$@"; else outside "$@"; fi
