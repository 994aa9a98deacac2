#!/usr/bin/env bash
# fuzz.sh [SECONDS]: builds preset fuzz and runs each target for SECONDS. The corpus
# of a target is kept and grows; inputs that broke it are kept beside it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1-60}
if [[ ! $seconds =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: ./dev fuzz [SECONDS]" >&2
    exit 2
fi
scripts/build.sh fuzz

failed=0
ran=0
for directory in tests/fuzz/corpus/*/; do
    name=$(basename "$directory")
    if [[ ! -x build/fuzz/tests/fuzz/fuzz-$name ]]; then
        echo "FAILED  $directory belongs to no target: there is no fuzz-$name" >&2
        failed=1
    fi
done
for target in build/fuzz/tests/fuzz/fuzz-*; do
    [[ -f $target && -x $target ]] || continue
    name=${target##*/fuzz-}
    corpus=build/fuzz-corpus/$name
    found=build/fuzz-found/$name
    log=build/fuzz-found/$name.log
    mkdir -p "$corpus" "$found"
    directories=("$corpus")
    [[ -d tests/fuzz/corpus/$name ]] && directories+=("tests/fuzz/corpus/$name")
    ran=$((ran + 1))

    if "$target" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 \
        -artifact_prefix="$found/" "${directories[@]}" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        echo "ok      $name: $runs runs in $seconds s, no fault found"
    else
        failed=1
        echo "FAILED  $name"
        tail -n 60 "$log"
        echo "To run it again: $target FILE, with FILE from $found"
    fi
done
if ((ran == 0)); then
    echo "There is no fuzz target in build/fuzz/tests/fuzz." >&2
    exit 1
fi
exit "$failed"
