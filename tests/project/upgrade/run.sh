#!/usr/bin/env bash
# run.sh: the Debian packages of 0.2.0 with jobs in them are upgraded to those of build/package, removed, installed
# again and purged, in a bare Debian, as apt does it for a user. inside.sh says what is looked at. Then every job that
# 0.2.0 had is compared with what this version exports.
#
# systemd runs the service there, as the first process of its own namespaces; where it cannot run, the command of the
# unit is started as its user, which is said. Root only; it ends with 77, and a line, where something is missing. The
# packages of 0.2.0 are built once, from the history of this project.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../../.."
readonly here place=$PWD/build/upgrade suite=bookworm
# The state of the release 0.2.0: the commit by which the changelog got its section.
readonly old_commit=0f7cd42add6e550ee310171a3d7b5f495fce6a5d

skip()
{
    echo "skipped: $*"
    exit 77
}

# Builds the packages of 0.2.0. While the present version is still 0.2.0, they are called 0.2.0~release, so that this
# one is an upgrade.
build_old()
{
    local source=$place/source
    rm -rf "$source" "$place/old"
    mkdir -p "$source" "$place/old"
    git archive "$old_commit" | tar -x -C "$source"
    sed -i '1s/(0\.2\.0)/(0.2.0~release)/' "$source/debian/changelog"
    echo "Building: Debian packages of 0.2.0" >&2
    if ! (cd "$source" && dpkg-buildpackage -d -us -uc -b) >"$place/build.log" 2>&1 </dev/null; then
        tail -n 20 "$place/build.log" >&2
        echo "Build failed: Debian packages of 0.2.0 (the whole output is in $place/build.log)" >&2
        exit 1
    fi
    rm -f "$place"/*-dbgsym_*
    mv "$place"/*.deb "$place/old"
    rm -rf "$source" "$place"/*.buildinfo "$place"/*.changes
}

((EUID == 0)) || skip 'only root can use debootstrap'
for program in debootstrap unshare chroot dpkg-buildpackage ip python3; do
    command -v "$program" >/dev/null || skip "$program is not installed"
done
git cat-file -e "$old_commit" 2>/dev/null || skip 'the history of this project is not here, so there is no 0.2.0 to upgrade'
compgen -G 'build/package/elapse-server_*.deb' >/dev/null || skip 'no packages in build/package: ./dev package makes them'

mkdir -p "$place"
[[ -e $place/old/made ]] || {
    build_old
    touch "$place/old/made"
}
if [[ ! -e $place/base/made ]]; then
    rm -rf --one-file-system "$place/base"
    debootstrap --variant=minbase "$suite" "$place/base" >"$place/debootstrap.log" 2>&1 ||
        skip "debootstrap cannot make a Debian here: $(tail -n 1 "$place/debootstrap.log")"
    touch "$place/base/made"
fi

work=$(mktemp -d -p "$place" run.XXXXXX)
hierarchy=$(findmnt -n -t cgroup2 -o TARGET | head -n 1 || true)
group=$hierarchy/elapse-upgrade-$$
trap '[[ -z $hierarchy ]] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    rm -rf --one-file-system "$work"' EXIT
mkdir "$work/debian" "$work/said" "$work/said/old" "$work/said/new" "$work/tree"
cp -a --reflink=auto "$place/base/." "$work/debian"
cp "$place"/old/*.deb "$work/said/old"
for file in build/package/*.deb; do
    [[ $file == *-dbgsym_* ]] || cp "$file" "$work/said/new"
done
cp "$here"/inside.sh "$here"/fetch.sh "$work/said"

# in_debian SCRIPT [plain]: runs a script of said in the bare Debian, without systemd; with `plain` also without the
# network, so that the port is its own. What it mounts is gone when it ends.
in_debian()
{
    local network=()
    (($# == 1)) || network=(--net)
    # shellcheck disable=SC2016 # the inner shell expands them
    unshare --mount --pid --fork --kill-child "${network[@]}" bash -c '[[ $# == 2 ]] || ip link set lo up
        mkdir -p "$0/said" && mount --bind "$1" "$0/said" &&
        mount -t proc proc "$0/proc" && exec chroot "$0" bash "/said/$2" "${@:3}"' \
        "$work/debian" "$work/said" "$@"
}

# What both versions need, so that the upgrade itself needs no network.
in_debian fetch.sh || exit

if [[ -n $hierarchy ]] && mkdir "$group" 2>/dev/null; then
    (
        echo "$BASHPID" >"$group/cgroup.procs"
        exec timeout 300 unshare --pid --fork --kill-child --mount --uts --ipc --net --cgroup \
            tests/server/service/begin.sh "$work" "$work/debian"
    ) >"$work/log" 2>&1 || true
fi
if [[ ! -s $work/said/log ]]; then
    echo 'systemd cannot run here: the command of the unit is started as its user'
    in_debian inside.sh plain
fi
if ! grep -q '^upgrade: ok$' "$work/said/log"; then
    cat "$work/log" "$work/said/log" 2>/dev/null || true
    echo 'FAILED: the upgrade does not do what it should' >&2
    exit 1
fi
sed '/^upgrade: ok$/d' "$work/said/log"
python3 -B "$here/same_jobs.py" "$work/said/old.jsonl" "$work/said/new.jsonl"
