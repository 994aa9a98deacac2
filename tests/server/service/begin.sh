#!/usr/bin/env bash
# begin.sh WORK [SYSTEM]: makes a system in WORK/tree from a copy of the system whose root is SYSTEM (/),
# and becomes the systemd of the new one, which does WORK/said/inside.sh. Called by `run`, and by
# tests/project/upgrade/run.sh, in namespaces.
set -euo pipefail
readonly tree=$1/tree said=$1/said system=${2-/}

mount --make-rprivate /
mount -t tmpfs tmpfs "$tree"
mkdir "$tree"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=$system,upperdir=$tree/upper,workdir=$tree/work" "$tree/root"
cd "$tree/root"
mount -t proc proc proc
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs tmpfs dev
for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/shm
mount -t tmpfs tmpfs dev/shm
mount -t sysfs -o ro sysfs sys
mount -t tmpfs tmpfs sys/fs/cgroup
mount -t cgroup2 cgroup2 sys/fs/cgroup
mkdir -p said old
mount --bind "$said" said
cat >etc/systemd/system/elapse-test.target <<'TEXT'
[Unit]
Requires=elapse-test.service
TEXT
cat >etc/systemd/system/elapse-test.service <<'TEXT'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/bash /said/inside.sh
TimeoutStartSec=280
ExecStopPost=/bin/systemctl exit 0
TEXT
ln -sf elapse-test.target etc/systemd/system/default.target
ip link set lo up
pivot_root . old
umount -l /old
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --log-target=console --show-status=no </dev/null
