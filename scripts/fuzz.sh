#!/usr/bin/env bash
# fuzz.sh [SECONDS]: builds preset fuzz and runs each target for SECONDS, as many at the same time
# as there are processors. The corpus of a target is kept and grows; inputs that broke it are kept
# beside it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# run TARGET SECONDS: prints one line, and the end of the log if the target fails.
run()
{
    local target=$1 seconds=$2 name=${1##*/fuzz-} corpus found log runs directories
    corpus=build/fuzz-corpus/$name
    found=build/fuzz-found/$name
    log=build/fuzz-found/$name.log
    mkdir -p "$corpus" "$found"
    directories=("$corpus")
    [[ ! -d tests/fuzz/corpus/$name ]] || directories+=("tests/fuzz/corpus/$name")
    if "$target" -max_total_time="$seconds" -timeout=60 -print_final_stats=1 \
        -artifact_prefix="$found/" "${directories[@]}" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        echo "ok      $name: $runs runs in $seconds s, no fault found"
        return
    fi
    echo "FAILED  $name"
    tail -n 60 "$log"
    echo "To run it again: $target FILE, with FILE from $found"
    return 1
}

# The last lines of this file call it again for each target.
if [[ ${1-} == --one ]]; then
    run "$3" "$2"
    exit
fi

seconds=${1-60}
if [[ ! $seconds =~ ^[1-9][0-9]*$ ]] || (($# > 1)); then
    echo "usage: ./dev fuzz [SECONDS]" >&2
    exit 2
fi
scripts/build.sh fuzz

failed=0
for directory in tests/fuzz/corpus/*/; do
    name=$(basename "$directory")
    if [[ ! -x build/fuzz/tests/fuzz/fuzz-$name ]]; then
        echo "FAILED  $directory belongs to no target: there is no fuzz-$name" >&2
        failed=1
    fi
done
mapfile -t targets < <(find build/fuzz/tests/fuzz -maxdepth 1 -name 'fuzz-*' -type f -executable | sort)
if ((${#targets[@]} == 0)); then
    echo "There is no fuzz target in build/fuzz/tests/fuzz." >&2
    exit 1
fi
printf '%s\0' "${targets[@]}" |
    xargs -0 -n 1 -P "$(nproc)" scripts/fuzz.sh --one "$seconds" || failed=1
exit "$failed"
