#!/usr/bin/env bash
# full_disk.sh PROGRAM [MIB SEGMENT_MIB]...: makes a file system (ext4, on a loop device) of each size,
# and runs PROGRAM, which is store-fill, on it. Needs root. Without sizes the script uses
# 100 MiB with segments of 4 MiB, and 1 GiB with segments of 64 MiB. It takes a minute or two, and is run
# by hand.
set -euo pipefail

program=${1?usage: full_disk.sh PROGRAM [MIB SEGMENT_MIB]...}
shift
(($# > 0)) || set -- 100 4 1024 64
work=$(mktemp -d)
trap 'umount "$work/disk" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/disk"
while (($# > 1)); do
    printf '%s MiB, segments of %s MiB\n' "$1" "$2"
    truncate --size="$1M" "$work/image"
    mkfs.ext4 -q -F "$work/image"
    mount -o loop "$work/image" "$work/disk"
    "$program" "$work/disk/queue" $(($2 << 20))
    umount "$work/disk"
    rm "$work/image"
    shift 2
done
