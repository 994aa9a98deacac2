#!/usr/bin/env bash
# CMake names all libraries that are missing at once, with Debian's packages and the options that build
# without them; and these options do.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
start_empty missing

# configure NAME OPTION...: on a machine that has a compiler and no library.
configure()
{
    cmake -S "$ELAPSE_SOURCE" -B "$1" -DCMAKE_FIND_ROOT_PATH="$PWD/none" \
        -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
        -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY "${@:2}" >"$1.txt" 2>&1
}

# names NAME PACKAGE...: this configuration fails, for want of exactly these packages.
names()
{
    local packages
    ! configure "$1" "${options[@]}" || fail "$1: it does without ${*:2}"
    packages=$(sed -n 's/.*On Debian: apt install //p' "$1.txt")
    [[ $packages == "${*:2}" ]] || fail "$1: it asks for $packages, not for ${*:2}"
    for package in "${@:2}"; do
        grep -q "(Debian: $package); to build without it: -DELAPSE_" "$1.txt" ||
            fail "$1: it does not say what builds without $package"
    done
}

options=()
names all libxxhash-dev zlib1g-dev libjansson-dev uthash-dev libevent-dev libssl-dev libcurl4-openssl-dev \
    libhiredis-dev libcmocka-dev
options=(-DELAPSE_TESTS=OFF -DELAPSE_SERVER=OFF)
names client libxxhash-dev zlib1g-dev libjansson-dev uthash-dev libssl-dev libcurl4-openssl-dev libhiredis-dev
options=(-DELAPSE_TESTS=OFF -DELAPSE_CLIENT=OFF)
names server libxxhash-dev zlib1g-dev libjansson-dev uthash-dev libevent-dev libssl-dev
options=(-DELAPSE_TESTS=OFF -DELAPSE_SERVER=OFF -DELAPSE_CLIENT=OFF)
names tool libxxhash-dev zlib1g-dev libjansson-dev uthash-dev
options=(-DELAPSE_TESTS=OFF -DELAPSE_TOOL=OFF)
names queue libxxhash-dev
configure nothing -DELAPSE_TESTS=OFF -DELAPSE_TOOL=OFF -DELAPSE_QUEUE=OFF || {
    cat nothing.txt
    fail "the library alone needs another library"
}
