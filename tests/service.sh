#!/bin/bash
# Tests the agent as the service that users install, with a real systemd and journal.
#
#   tests/service.sh BINARY
#
# In a throw-away container (boot.sh) it installs BINARY with up.sh, and asserts that the
# service starts sandboxed, alerts on a secret that is written from outside of its namespaces,
# gives nothing of the secret away, stops cleanly and can be removed. Needs root.
set -euo pipefail

tests=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

# As in lapwing.catalog.
message_id_secret=b1f8a7c2e0d94f6c8a3e5d7f90124c61
watched=/srv/data
deadline_seconds=10

say() { printf 'service.sh: %s\n' "$*" >&2; }
inside() { "$BOOT_INSIDE" "$@"; }

fail() {
  say "FAILED: $*"
  if [ -n "${BOOT_INSIDE:-}" ]; then
    inside journalctl --no-pager -u lapwing.service -o short-precise -n 40 >&2 || :
  fi
  exit 1
}

assert_equal() { # WHAT EXPECTED ACTUAL
  [ "$2" = "$3" ] || fail "$1 is '$3', not '$2'"
}

property() { inside systemctl show lapwing.service --property "$1" --value; }

# --- the secret ---------------------------------------------------------------------------

# A token of GitHub's shape, made anew each time, so that none is in this repository. Its last
# six characters are the CRC-32 of the thirty before, in base 62; gzip's trailer has a CRC-32.
make_token() {
  local digits=0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz
  local body checksum='' number
  body=$(head -c 256 /dev/urandom | base64 -w 0 | tr -d '+/=')
  body=${body:0:30}
  number=$(printf %s "$body" | gzip -c | tail -c 8 | od -An -tu4 -N4 --endian=little)
  number=$((number))
  while [ ${#checksum} -lt 6 ]; do
    checksum=${digits:number%62:1}$checksum
    number=$((number / 62))
  done
  printf 'ghp_%s%s' "$body" "$checksum"
}

# The values of FIELD in the alerts for PATH, one a line.
alert_field() { # PATH FIELD
  inside journalctl --no-pager -o cat --output-fields="$2" -u lapwing.service \
    "MESSAGE_ID=$message_id_secret" "LAPWING_PATH=$1"
}

wait_for_alert() { # PATH
  local end=$((SECONDS + deadline_seconds))
  while [ $SECONDS -lt $end ]; do
    inside journalctl --sync
    if [ -n "$(alert_field "$1" MESSAGE)" ]; then return; fi
    sleep 0.05
  done
  fail "no alert for $1 within $deadline_seconds s"
}

# --- the steps ----------------------------------------------------------------------------

install_service() {
  mkdir -p "$BOOT_ROOT/opt/lapwing" "$BOOT_ROOT/etc/systemd/system/lapwing.service.d"
  install -m 0755 -- "$binary" "$BOOT_ROOT/opt/lapwing/lapwing"
  cp -r -- "$tests/../systemd" "$BOOT_ROOT/opt/lapwing/systemd"
  # Only the disk that this test writes to; the rest of the unit is as users get it.
  printf '%s\n' '[Service]' ExecStart= "ExecStart=/usr/bin/lapwing watch --journal $watched" \
    >"$BOOT_ROOT/etc/systemd/system/lapwing.service.d/test.conf"
  up --no-follow
  local first_pid
  first_pid=$(property MainPID)
  up --no-follow
  [ "$(property MainPID)" != "$first_pid" ] || fail "up.sh did not restart the service"
}

up() {
  inside env LAPWING_BIN=/opt/lapwing/lapwing /opt/lapwing/systemd/up.sh "$@" >/run/up.log 2>&1 ||
    { cat /run/up.log >&2; fail "up.sh $*"; }
}

assert_running() {
  assert_equal "the state" active "$(property ActiveState)"
  assert_equal "the state of the unit file" enabled "$(property UnitFileState)"
  assert_equal "the mode of the state directory" 700 "$(inside stat -c %a /var/lib/lapwing)"
}

assert_sandboxed() {
  local pid status
  pid=$(property MainPID)
  status=$(inside cat "/proc/$pid/status")
  # Capabilities 2, 19 and 21: DAC_READ_SEARCH, SYS_PTRACE and SYS_ADMIN.
  grep -q "^CapBnd:[[:space:]]*0000000000280004$" <<<"$status" || fail "capabilities: $status"
  grep -q "^NoNewPrivs:[[:space:]]*1$" <<<"$status" || fail "new privileges: $status"
  grep -q "^Seccomp:[[:space:]]*2$" <<<"$status" || fail "no filter of system calls: $status"
  [ "$(inside readlink "/proc/$pid/ns/net")" != "$(inside readlink /proc/1/ns/net)" ] ||
    fail "the service has the host's network"
  # The fifth word of a line is the mount point, the sixth its options.
  grep -q '^[^ ]* [^ ]* [^ ]* [^ ]* / ro[, ]' <<<"$(inside cat "/proc/$pid/mountinfo")" ||
    fail "the service may write to the root file system"
}

assert_alert() {
  token=$(make_token)
  printf 'colour = blue\n' >"$BOOT_DISK/clean.env"
  # Written by a process in other namespaces than the service's, through another mount.
  printf 'GITHUB_TOKEN=%s\n' "$token" >"$BOOT_DISK/leak.env"
  wait_for_alert "$watched/leak.env"
  assert_explained "$watched/leak.env"
}

# After the service has stopped, when everything that it had to say is in the journal.
assert_said_no_more() {
  assert_equal "the alerts for one leak" "$message_id_secret" \
    "$(alert_field "$watched/leak.env" MESSAGE_ID)"
  [ -n "$(alert_field "$watched/leak.env" LAPWING_RULE)" ] || fail "no rule in the alert"
  [[ $(alert_field "$watched/leak.env" PRIORITY) = [2-5] ]] || fail "no priority in the alert"
  assert_equal "the alert for a clean file" "" "$(alert_field "$watched/clean.env" MESSAGE)"
  # The first and last four characters may be shown, so twelve from the middle must not be.
  # Output is taken whole: a `grep -q` at the end of a pipe can make the writer fail.
  local middle=${token:10:12} journal
  journal=$(inside journalctl --no-pager --all -o json)
  [[ $journal != *"$middle"* ]] || fail "a part of the secret is in the journal"
  ! inside grep -r -F -q -- "$middle" /var/lib/lapwing ||
    fail "a part of the secret is in the state"
}

# up.sh has installed the catalog: the explanation names the file.
assert_explained() { # PATH
  local explained
  explained=$(inside journalctl --no-pager -x -u lapwing.service "MESSAGE_ID=$message_id_secret")
  [[ $explained = *"Subject: A secret was written to disk: "*" in $1"* ]] ||
    fail "no explanation for $1: $explained"
}

assert_stops_cleanly() {
  local begin=$SECONDS
  inside systemctl stop lapwing.service
  [ $((SECONDS - begin)) -le 5 ] || fail "stopping took $((SECONDS - begin)) s"
  assert_equal "the state" inactive "$(property ActiveState)"
  assert_equal "the result" success "$(property Result)"
  # 1 is CLD_EXITED: the agent ended itself, no signal did.
  assert_equal "the way it ended" 1 "$(property ExecMainCode)"
  assert_equal "the exit status" 0 "$(property ExecMainStatus)"
}

assert_uninstalls() {
  up --no-follow
  up --uninstall
  up --uninstall
  local file
  for file in usr/bin/lapwing etc/systemd/system/lapwing.service \
    usr/lib/systemd/catalog/lapwing.catalog; do
    [ ! -e "$BOOT_ROOT/$file" ] || fail "/$file was not removed"
  done
  ! inside systemctl --quiet is-active lapwing.service || fail "the service still runs"
  [ -d "$BOOT_ROOT/var/lib/lapwing" ] || fail "the state was removed"
}

beside_container() {
  binary=$1
  install_service
  assert_running
  assert_sandboxed
  assert_alert
  assert_stops_cleanly
  assert_said_no_more
  assert_uninstalls
  say "passed in $SECONDS s"
}

main() {
  if [ $# -ne 1 ] || [ ! -x "$1" ]; then
    say "usage: tests/service.sh BINARY"
    exit 2
  fi
  exec "$tests/boot.sh" --disk "ext4:64M:$watched" --outside -- \
    bash "${BASH_SOURCE[0]}" --beside-container "$(realpath -- "$1")"
}

if [ "${1:-}" = --beside-container ]; then beside_container "$2"; else main "$@"; fi
