#!/bin/bash
# Everything that must pass before a change is merged, with all set-up, in one command.
#
#   tests/run.sh
#
# Made for a bare Debian 12 with cargo, as root: the end-to-end tests mark file systems, start
# a journal and boot a container. A step that fails does not stop the next ones; the exit
# status is 0 only if every step passed. Nothing is skipped.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

packages=(
  # the build
  cmake make g++ libboost-dev pkg-config
  # the tests: repositories, a journal and a container, file systems to watch
  git python3 systemd systemd-container util-linux e2fsprogs xfsprogs btrfs-progs
  # this script
  shellcheck
)
# The version is part of the path, so that a new one is installed beside the old.
deny_version=0.20.2
deny_root=$PWD/target/tools/cargo-deny-$deny_version
deny_log=$PWD/target/tools/cargo-deny-install.log
deny_installer=''
failed=() passed=0

say() { printf '== %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# --- set-up -------------------------------------------------------------------------------

install_packages() {
  local package missing=()
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system; these must be there: ${packages[*]}"
    return
  fi
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  # The lists are fetched only when apt does not know a package, or knows a version that the
  # mirror no longer has.
  apt-get install -y --no-install-recommends "${missing[@]}" ||
    { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } ||
    fail "could not install ${missing[*]}"
}

check_toolchain() {
  # A root shell that did not read the profile lacks the directory where rustup puts cargo.
  if [ -d "${HOME:-/root}/.cargo/bin" ]; then PATH=${HOME:-/root}/.cargo/bin:$PATH; fi
  command -v cargo >/dev/null || fail "cargo was not found; install Rust 1.88 or later"
  local component
  for component in fmt clippy; do
    cargo "$component" --version >/dev/null 2>&1 && continue
    command -v rustup >/dev/null ||
      fail "cargo $component is missing, and so is rustup that could add it"
    rustup component add rustfmt clippy || fail "could not add rustfmt and clippy"
  done
}

# It takes minutes, so it goes on beside the other steps, and only the first time.
start_deny_install() {
  [ ! -x "$deny_root/bin/cargo-deny" ] || return 0
  say "installing cargo-deny $deny_version in the background"
  mkdir -p "${deny_log%/*}"
  nice cargo install cargo-deny --locked --version "$deny_version" --root "$deny_root" \
    </dev/null >"$deny_log" 2>&1 &
  deny_installer=$!
  trap 'kill "$deny_installer" 2>/dev/null || :' EXIT
}

# --- steps --------------------------------------------------------------------------------

step() { # NAME COMMAND...
  local name=$1 begin=$SECONDS result=passed
  shift
  say "$name"
  # In a shell of its own that is no part of a condition: within one, bash ignores `set -e`.
  set +e
  (set -e; "$@")
  local status=$?
  set -e
  if [ "$status" = 0 ]; then
    passed=$((passed + 1))
  else
    result=FAILED
    failed+=("$name")
  fi
  say "$name: $result, $((SECONDS - begin)) s"
}

check_docs() {
  RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked
}

# `advisories` is not asked for: its database would have to be fetched at each run, and a new
# entry in it must not fail a change that has nothing to do with it.
check_dependencies() {
  if [ -n "$deny_installer" ]; then
    # A shell of this step cannot wait for a process of its parent; the file is the sign.
    while kill -0 "$deny_installer" 2>/dev/null; do sleep 1; done
    [ -x "$deny_root/bin/cargo-deny" ] || { tail -n 20 "$deny_log" >&2; return 1; }
  fi
  PATH=$deny_root/bin:$PATH cargo deny --locked --config .deny.toml check bans licenses sources
}

# In directories of its own: `verify` wants the program of the unit to exist, which it does
# only where the agent is installed, and the catalog must not get into the machine's.
check_unit_and_catalog() {
  local directory
  directory=$(mktemp -d)
  # The path is fixed now, as the variable is gone when the trap runs.
  # shellcheck disable=SC2064
  trap "rm -rf -- '$directory'" EXIT
  sed 's|^ExecStart=/usr/bin/lapwing |ExecStart=/bin/true |' systemd/lapwing.service \
    >"$directory/lapwing.service"
  local complaints
  complaints=$(systemd-analyze verify "$directory/lapwing.service" 2>&1) || :
  [ -z "$complaints" ] || { printf '%s\n' "$complaints" >&2; return 1; }
  # The sandbox may not become weaker unnoticed: it has 1.9 of 10 (less is better).
  systemd-analyze security --no-pager --offline=true --threshold=20 "$directory/lapwing.service" \
    >"$directory/security" || { cat "$directory/security" >&2; return 1; }
  install -D -m 0644 -t "$directory/usr/lib/systemd/catalog" systemd/lapwing.catalog
  mkdir -p "$directory/var/lib/systemd/catalog"
  journalctl --update-catalog --root="$directory"
  local entries
  entries=$(journalctl --list-catalog --root="$directory" | wc -l)
  [ "$entries" = "$(grep -c '^-- ' systemd/lapwing.catalog)" ]
}

main() {
  [ "$(id -u)" = 0 ] || { say "must be run as root"; exit 2; }
  install_packages
  check_toolchain
  start_deny_install
  step "format" cargo fmt --all --check
  step "shell scripts" shellcheck .ci/run systemd/*.sh tests/*.sh
  step "unit and catalog" check_unit_and_catalog
  step "lints" cargo clippy --workspace --all-targets --locked -- -D warnings
  step "tests" cargo test --workspace --locked
  step "documentation" check_docs
  # Compiling them optimised takes long and finds no more.
  step "benches compile" cargo check --workspace --benches --locked
  step "dependencies" check_dependencies
  if [ ${#failed[@]} -gt 0 ]; then
    local list
    printf -v list ', %s' "${failed[@]}"
    fail "FAILED after $SECONDS s: ${#failed[@]} of $((passed + ${#failed[@]})) steps: ${list:2}"
  fi
  say "all $passed steps passed in $SECONDS s"
}

main "$@"
