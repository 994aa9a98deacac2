#!/usr/bin/env bash
# carry.sh THERE...: runs two builds of store-carry on one directory, one after the other. One build is for
# this machine, and one is for another machine. Compares what each finds with what the other has left.
# THERE is a command: an emulator and a program. ELAPSE_CARRY_HERE is the program of this machine. If it
# is empty, THERE is used for both.
set -euo pipefail

if (($# < 1)); then
    echo 'usage: carry.sh THERE...' >&2
    exit 2
fi
here=("${ELAPSE_CARRY_HERE-}")
there=("$@")
[[ -n ${here[0]} ]] || here=("${there[@]}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run_here()
{
    "${here[@]}" "$@"
}

run_there()
{
    "${there[@]}" "$@"
}

# carry NAME EVEN ODD: the functions that run the parts with such numbers.
carry()
{
    local directory=$work/$1 part run
    mkdir "$directory"
    for part in 0 1 2 3; do
        run=$2
        ((part % 2 == 0)) || run=$3
        "$run" "$part" "$directory/queue" "$directory/found-$part" "$directory/left-$part"
        ((part == 0)) || diff "$directory/left-$((part - 1))" "$directory/found-$part"
    done
    printf '%s: %d jobs\n' "$1" "$(wc -l <"$directory/left-3")"
}

carry 'written there first' run_there run_here
carry 'written here first' run_here run_there
