#!/bin/bash
# One command from a fresh checkout to a running agent. See `systemd/up.sh --help`.
#
# Everything is done again on each run and gives the same result, so the script is also the
# way to update. Messages go to standard error; standard output has only alerts and status.
set -euo pipefail

repo=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

binary_path=/usr/bin/lapwing
unit_path=/etc/systemd/system/lapwing.service
catalog_path=/usr/lib/systemd/catalog/lapwing.catalog

say() { printf 'lapwing: %s\n' "$*" >&2; }
# Status 2: the call or the machine is not right; nothing has been changed.
refuse() { say "$*"; exit 2; }
fail() { say "$*"; exit 1; }

usage() {
  cat <<'END'
Usage: systemd/up.sh [OPTION...] [PATH...]

Installs what the build needs, builds the agent and runs it. On a host with systemd it is
installed as the service `lapwing`, started, and its alerts are shown until Ctrl-C (the
service goes on). Elsewhere it runs in the foreground and watches the PATHs (default: the
current directory). Needs root.

  --no-follow    show the last alerts of the service and exit
  --foreground   run in the foreground on a host with systemd as well; install nothing
  --uninstall    stop the service and remove it; settings and findings are kept
  --help         show this text

LAPWING_BIN=/path/to/lapwing in the environment uses that binary and skips the build.
END
}

parse_arguments() {
  action=run follow=yes foreground=no paths=()
  while [ $# -gt 0 ]; do
    case $1 in
      --no-follow) follow=no ;;
      --foreground) foreground=yes ;;
      --uninstall) action=uninstall ;;
      -h | --help) usage; exit 0 ;;
      --) shift; paths+=("$@"); break ;;
      -*) usage >&2; refuse "unknown option: $1" ;;
      *) paths+=("$1") ;;
    esac
    shift
  done
}

# The same test as sd_booted(3), and that PID 1 is systemd and not something that left the
# directory behind, as in some containers.
systemd_runs() {
  [ -d /run/systemd/system ] && [ "$(cat /proc/1/comm)" = systemd ]
}

# --- build --------------------------------------------------------------------------------

# sudo hides the caller's ~/.cargo/bin, which is where rustup puts cargo.
find_cargo() {
  local home
  for home in "${HOME:-/root}" "$(caller_home)"; do
    if [ -n "$home" ] && [ -x "$home/.cargo/bin/cargo" ]; then
      PATH=$home/.cargo/bin:$PATH
    fi
  done
  command -v cargo >/dev/null ||
    refuse "cargo was not found. Install Rust 1.88 or later, for example from https://rustup.rs"
}

caller_home() {
  if [ -n "${SUDO_USER:-}" ]; then getent passwd "$SUDO_USER" | cut -d: -f6; fi
}

# Each line: the Debian package, and how to see that it, or its like, is there. Looking for
# the thing itself and not for the package also works on other distributions.
missing_packages() {
  command -v cmake >/dev/null || echo cmake
  # cmake itself only recommends it.
  command -v make >/dev/null || echo make
  command -v g++ >/dev/null || echo g++
  [ -e /usr/include/boost/version.hpp ] || echo libboost-dev
  command -v pkg-config >/dev/null || echo pkg-config
}

install_packages() {
  local packages
  mapfile -t packages < <(missing_packages)
  [ ${#packages[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null ||
    refuse "the build needs these packages (Debian's names), please install them: ${packages[*]}"
  say "installing ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive
  # The lists are fetched only when apt does not know a package, or knows a version that the
  # mirror no longer has.
  apt-get install -y --no-install-recommends "${packages[@]}" >&2 ||
    { apt-get update >&2 && apt-get install -y --no-install-recommends "${packages[@]}" >&2; } ||
    fail "could not install ${packages[*]}"
}

# Under sudo the caller builds, not root: the toolchain is theirs, and root would leave files
# in the checkout and in ~/.cargo that they cannot replace. Root builds where the checkout is
# not theirs to write.
build() {
  local as=()
  if [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then
    if runuser -u "$SUDO_USER" -- test -w "$repo"; then
      as=(runuser -u "$SUDO_USER" -- env "HOME=$(caller_home)" "PATH=$PATH")
    elif [ -d "$(caller_home)/.rustup" ]; then
      as=(env "RUSTUP_HOME=$(caller_home)/.rustup")
    fi
  fi
  say "building (the first time takes some minutes)"
  "${as[@]}" cargo build --release --locked --bin lapwing --target-dir "$repo/target" \
    --manifest-path "$repo/Cargo.toml" >&2 ||
    fail "the build failed (it needs Rust 1.88 or later)"
}

prepare_binary() {
  if [ -n "${LAPWING_BIN:-}" ]; then
    # With its directory, so that a bare name is not looked up in PATH later on.
    binary=$(realpath -- "$LAPWING_BIN") || refuse "LAPWING_BIN does not exist: $LAPWING_BIN"
    if [ ! -f "$binary" ] || [ ! -x "$binary" ]; then
      refuse "LAPWING_BIN is not a program: $LAPWING_BIN"
    fi
  else
    find_cargo
    install_packages
    build
    binary=$repo/target/release/lapwing
  fi
}

# --- service ------------------------------------------------------------------------------

# By rename, so that a running agent keeps the file it was started from, and an interrupted
# run leaves the old file or the new one, never half of one.
install_file() { # MODE SOURCE TARGET
  install -D -m "$1" -- "$2" "$3.new"
  mv -f -- "$3.new" "$3"
}

install_service() {
  install_file 0755 "$binary" "$binary_path"
  install_file 0644 "$repo/systemd/lapwing.service" "$unit_path"
  install_file 0644 "$repo/systemd/lapwing.catalog" "$catalog_path"
  journalctl --update-catalog
  systemctl daemon-reload
  systemctl --quiet enable lapwing.service
}

start_service() {
  # The service may have given up after failures that this very run has mended.
  systemctl reset-failed lapwing.service 2>/dev/null || :
  if ! systemctl restart lapwing.service; then
    journalctl --no-pager -u lapwing.service -n 30 -o short-iso >&2 || :
    fail "the service did not start; its last messages are above"
  fi
  systemctl --no-pager --full --lines=0 status lapwing.service ||
    fail "the service has stopped again: journalctl -xu lapwing"
}

show_alerts() {
  local show=(journalctl -u lapwing.service -n 20 -o short-iso)
  say "'journalctl -xu lapwing' explains each alert and says what to do"
  if [ "$follow" = no ]; then
    "${show[@]}" --no-pager
  else
    say "alerts follow; Ctrl-C ends this view, not the service"
    exec "${show[@]}" -f
  fi
}

uninstall_service() {
  if systemd_runs; then
    # Before the first installation there is nothing to disable, which is fine.
    systemctl --quiet disable --now lapwing.service 2>/dev/null || :
    ! systemctl --quiet is-active lapwing.service || fail "the service could not be stopped"
  fi
  rm -f -- "$unit_path" "$binary_path" "$catalog_path"
  if systemd_runs; then
    systemctl daemon-reload
    systemctl reset-failed lapwing.service 2>/dev/null || :
    journalctl --update-catalog
  fi
  say "removed; /etc/lapwing (settings) and /var/lib/lapwing (findings) are kept"
}

# ------------------------------------------------------------------------------------------

main() {
  parse_arguments "$@"
  [ "$(id -u)" = 0 ] ||
    refuse "must be run as root, for example with sudo: marks on whole file systems need it"
  if [ "$action" = uninstall ]; then
    uninstall_service
  elif systemd_runs && [ "$foreground" = no ]; then
    [ ${#paths[@]} -eq 0 ] ||
      refuse "the service takes no paths; add --foreground to watch only these: ${paths[*]}"
    prepare_binary
    install_service
    start_service
    show_alerts
  else
    [ ${#paths[@]} -gt 0 ] || paths=(.)
    prepare_binary
    say "watching ${paths[*]}; Ctrl-C ends"
    exec "$binary" watch -- "${paths[@]}"
  fi
}

main "$@"
