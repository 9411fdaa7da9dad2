#!/bin/bash
# Boots a real systemd in a throw-away container and runs a command against it.
#
#   tests/boot.sh [OPTION...] -- CMD [ARG...]
#
#   --disk FS:SIZE:PATH  a fresh file system (ext4:64M:/srv/data), mounted at PATH inside
#   --copy DIR           copies the tree DIR over the root before the boot; may be repeated
#   --outside            runs CMD beside the container and not in it. CMD finds in its
#                        environment BOOT_INSIDE, a program that runs its arguments inside,
#                        BOOT_ROOT, the container's root, and BOOT_DISK, where the disk is
#                        mounted on this side
#
# The container's root is an overlay of this machine's own: the same programs and libraries,
# and nothing that is written there lasts. The exit status is CMD's, or 125 when there was no
# system to run it in. Needs root, util-linux and systemd-nspawn; systemd need not be running.
#
# Everything is in private mount and process namespaces, which end with this script, however
# it ends. Only SIGKILL leaves an empty control group behind; the next run removes it.
set -euo pipefail

say() { printf 'boot.sh: %s\n' "$*" >&2; }
fail() { say "$*"; exit 125; }

parse_arguments() {
  disk='' copies=() outside=no command=()
  while [ $# -gt 0 ]; do
    case $1 in
      --disk) disk=${2:?--disk needs FS:SIZE:PATH}; shift ;;
      --copy) copies+=("${2:?--copy needs a directory}"); shift ;;
      --outside) outside=yes ;;
      --) shift; command=("$@"); break ;;
      *) fail "unknown option: $1" ;;
    esac
    shift
  done
  [ ${#command[@]} -gt 0 ] || fail "no command; see the head of this script"
}

# --- first stage: on the machine itself ---------------------------------------------------

# nspawn makes control groups below its own and does not remove them, so it gets one of ours.
# `outer` is for this script: controllers are handed down only from a group without processes.
make_group() {
  local root
  root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
  [ -n "$root" ] || fail "no cgroup2 is mounted"
  local old pid
  for old in "$root"/lapwing-boot-*; do
    pid=${old##*-}
    if [ -d "$old" ] && [ ! -d "/proc/$pid" ]; then remove_group "$old"; fi
  done
  group=$root/lapwing-boot-$$
  mkdir -p "$group/outer" "$group/container" || fail "cannot create $group"
}

# A group is busy for a moment after its last process has gone.
remove_group() {
  local try
  for ((try = 0; try < 40; try++)); do
    find "$1" -depth -type d -exec rmdir {} + 2>/dev/null || :
    [ -d "$1" ] || return 0
    sleep 0.05
  done
  say "$1 is still busy"
}

# Called by a trap, which shellcheck does not follow.
# shellcheck disable=SC2317
clean_up() {
  kill -KILL "$child" 2>/dev/null || :
  wait "$child" 2>/dev/null || :
  remove_group "$group"
}

first_stage() {
  parse_arguments "$@"
  [ "$(id -u)" = 0 ] || fail "must be run as root"
  local tool
  for tool in unshare nsenter setpriv systemd-nspawn; do
    command -v "$tool" >/dev/null || fail "$tool is not installed (systemd-container, util-linux)"
  done
  make_group
  # A job in the background would get /dev/null for its standard input: hand ours over.
  exec 3<&0
  # If this shell is killed, setpriv's signal ends unshare and --kill-child ends the rest.
  (
    echo "$BASHPID" >"$group/outer/cgroup.procs"
    BOOT_GROUP=${group##*/} exec setpriv --pdeathsig KILL unshare --mount --pid --fork \
      --kill-child --mount-proc --propagation private \
      bash "${BASH_SOURCE[0]}" --second-stage "$@"
  ) <&3 3<&- &
  child=$!
  trap clean_up EXIT
  trap 'exit 143' TERM
  trap 'exit 130' INT HUP
  local status=0
  wait "$child" || status=$?
  exit "$status"
}

# --- second stage: process 1 of private namespaces ----------------------------------------

prepare_root() {
  # The network, the logins and the like of the machine are not the container's.
  rm -rf "$root"/etc/systemd/system/*.wants "$root"/etc/rc?.d/S* "$root"/var/log/journal
  : >"$root/etc/fstab"
  # Not left empty: systemd would take this for the first boot and enable every unit it finds.
  tr -d - </proc/sys/kernel/random/uuid >"$root/etc/machine-id"
  # These would mount the machine's own debugging interfaces.
  local unit
  for unit in sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount \
    dev-hugepages.mount proc-sys-fs-binfmt_misc.automount console-getty.service; do
    ln -sfn /dev/null "$root/etc/systemd/system/$unit"
  done
  local tree
  for tree in "${copies[@]}"; do
    cp -a --no-preserve=ownership -- "$tree/." "$root/"
  done
}

# The image is in memory and the mount in this namespace: both go when the namespace goes.
make_disk() {
  local type size path
  IFS=: read -r type size path <<<"$disk"
  truncate -s "$size" /run/disk.img
  "mkfs.$type" -q /run/disk.img >/dev/null
  mkdir /run/disk
  mount -o loop -t "$type" /run/disk.img /run/disk
  chmod 1777 /run/disk
  nspawn_options+=("--bind=/run/disk:$path")
  export BOOT_DISK=/run/disk
}

prepare() {
  nspawn_options=() root=/run/root
  # nspawn refuses to work with a /run on a disk; this also hides the machine's /run.
  mount -t tmpfs -o mode=755 tmpfs /run
  mkdir -p /run/systemd /run/lock /run/root /run/layers
  # cgroup2 alone, as on a current distribution, also where the machine still has version 1.
  if [ "$(stat -fc %T /sys/fs/cgroup)" != cgroup2fs ]; then
    umount -R /sys/fs/cgroup
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
  fi
  # Not on /run itself: its default size is a part of the memory that a binary may exceed.
  mount -t tmpfs -o mode=755,size=2g tmpfs /run/layers
  mkdir /run/layers/upper /run/layers/work
  mount -t overlay overlay \
    -o lowerdir=/,upperdir=/run/layers/upper,workdir=/run/layers/work "$root"
  prepare_root
  if [ -n "$disk" ]; then make_disk; fi
}

start_container() {
  (
    echo "$BASHPID" >"/sys/fs/cgroup/$BOOT_GROUP/container/cgroup.procs"
    # nspawn's own filter of system calls refuses fanotify_init to the whole container. The
    # units inside still get theirs. Setting the clock and loading modules would be the machine's.
    # --register and --keep-unit: there may be no systemd outside to be told about it.
    SYSTEMD_SECCOMP=0 exec systemd-nspawn --quiet --directory="$root" --machine=lapwing-test \
      --register=no --keep-unit --link-journal=no --private-network --resolv-conf=off \
      --timezone=off --console=read-only --tmpfs=/var/tmp:mode=1777 --capability=all \
      --drop-capability=CAP_SYS_TIME,CAP_SYS_MODULE "${nspawn_options[@]}" --boot
  ) </dev/null >/run/console.log 2>&1 &
  nspawn=$!
}

# The container's process 1 is the child of nspawn that has become systemd.
find_leader() {
  local process children=()
  # Either file goes away when its process ends, which is no error here.
  read -r -a children 2>/dev/null <"/proc/$nspawn/task/$nspawn/children" || :
  for process in "${children[@]}"; do
    if [ "$(cat "/proc/$process/comm" 2>/dev/null)" = systemd ]; then leader=$process; fi
  done
}

wait_for_boot() {
  leader=''
  local state='' try
  for ((try = 0; try < 600; try++)); do
    kill -0 "$nspawn" 2>/dev/null || break
    find_leader
    if [ -n "$leader" ]; then
      make_inside_program
      state=$(timeout 60 /run/inside systemctl is-system-running --wait 2>/dev/null) || :
    fi
    case $state in
      running) return ;;
      degraded)
        # A unit of the machine's that cannot work in a container is no reason to stop.
        say "started, but these units failed:"
        /run/inside systemctl --failed --no-legend --plain >&2
        return ;;
    esac
    sleep 0.05
  done
  tail -n 40 /run/console.log >&2
  fail "the container did not start; its console is above"
}

# Entering by namespace needs neither machined nor a bus outside. The environment is emptied,
# as a login's would be.
make_inside_program() {
  cat >/run/inside <<END
#!/bin/bash
exec nsenter -t $leader -m -u -i -n -p -C -r -w -- env -i HOME=/root LANG=C.UTF-8 \\
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "\$@"
END
  chmod 755 /run/inside
}

second_stage() {
  parse_arguments "$@"
  # A failure in here is not the command's, and must not look like it.
  set -o errtrace
  trap 'fail "could not prepare the container (line $LINENO)"' ERR
  prepare
  trap - ERR
  start_container
  wait_for_boot
  export BOOT_INSIDE=/run/inside BOOT_ROOT=/proc/$leader/root
  local status=0
  if [ "$outside" = yes ]; then "${command[@]}"; else /run/inside "${command[@]}"; fi || status=$?
  # This shell is process 1 here: the container ends with it, no need to shut it down.
  exit "$status"
}

if [ "${1:-}" = --second-stage ]; then shift; second_stage "$@"; else first_stage "$@"; fi
