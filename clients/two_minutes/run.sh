#!/usr/bin/env bash
# run.sh python|javascript|go: from a bare Debian with the server's packages to a job done by a program of some fifteen
# lines (in Go, thirty): what a user does in the first two minutes. The packages are those of build/package, which
# ./dev package makes. Each run has a copy of a Debian of its own, which debootstrap makes once; what is mounted in it
# is mounted for its processes alone. It ends with 77, and a line, where something is missing.
set -euo pipefail
language=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
readonly here language place=$PWD/build/two_minutes suite=bookworm

skip()
{
    echo "skipped: $*"
    exit 77
}

version=$(sed -n 's/.*ELAPSE_VERSION_TEXT *"\(.*\)"/\1/p' include/elapse/version.h)
debs=(build/package/elapse_"$version"_*.deb build/package/elapse-server_"$version"_all.deb)
((EUID == 0)) || skip 'only root can use debootstrap'
for program in debootstrap unshare chroot; do
    command -v "$program" >/dev/null || skip "$program is not installed"
done
for deb in "${debs[@]}"; do
    [[ -e $deb ]] || skip "$deb is missing: ./dev package makes it"
done

# make_wheel FOLDER
make_wheel()
{
    local source=$1/source
    mkdir "$source"
    cp -r clients/python/{src,README.md,pyproject.toml} "$source"
    /usr/bin/python3 -c 'import importlib.util as u; assert all(map(u.find_spec, ("pip", "setuptools", "wheel")))' 2>/dev/null ||
        skip 'python3-pip, python3-setuptools or python3-wheel is not installed'
    /usr/bin/python3 -m pip wheel --quiet --no-build-isolation --no-deps --no-index -w "$1" "$source"
    rm -r "$source"
}

# make_tarballs FOLDER: that of the package, and those of node-redis and its parts, in the version that Debian's Node
# takes.
make_tarballs()
{
    local modules=build/clients/javascript/four/node_modules module said status=0
    said=$(clients/javascript/build.sh "$1") || status=$?
    ((status == 0)) || {
        echo "$said"
        exit "$status"
    }
    for module in "$modules"/[!@.]* "$modules"/@*/*; do
        npm pack --silent --ignore-scripts --pack-destination "$1" "$PWD/$module" >/dev/null
    done
}

mkdir -p "$place"
exec 9>"$place/lock"
flock 9
if [[ ! -e $place/base/etc/debian_version || ! -e $place/made ]]; then
    rm -rf --one-file-system "$place/base" "$place/made"
    debootstrap --variant=minbase "$suite" "$place/base" >"$place/debootstrap.log" 2>&1 ||
        skip "debootstrap cannot make a Debian here: $(tail -n 1 "$place/debootstrap.log")"
    touch "$place/made"
fi
flock -u 9

root=$(mktemp -d -p "$place" "$language.XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT
cp -a --reflink=auto "$place/base/." "$root"
mkdir "$root/given"
case $language in
    python) make_wheel "$root/given" ;;
    javascript) make_tarballs "$root/given" ;;
    go) cp -r clients/go "$root/given/" ;;
    *) exit 2 ;;
esac
cp "${debs[@]}" "$here/inside.sh" "$here"/mine.* "$root/given"
# shellcheck disable=SC2016 # the inner shell expands them
unshare --mount --pid --fork --kill-child bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" bash /given/inside.sh "$1"' \
    "$root" "$language"
