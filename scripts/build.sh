#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures a preset, and builds these targets, or all. It says how far it
# is, that a first build takes some minutes, and nothing else unless it fails. Builds with warnings as
# errors have no warnings to show; the others show them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/progress.sh
source scripts/progress.sh

preset=$1
targets=()
(($# == 1)) || targets=(--target "${@:2}")
log=build/$preset.log
export NINJA_STATUS='[%f/%t] '

# What the compiler and CMake say, without the lines of Ninja, the commands that failed, and the notices
# of CMake.
messages()
{
    sed -E -e '/^FAILED: /{N;d}' \
        -e '/^(\[[0-9]+\/[0-9]+\] |ninja: |-- |Preset CMake variables:$|  [A-Za-z_]+(:[A-Z]+)?="[^"]*"$)/d' \
        "$log" | cat --squeeze-blank
}

follow()
{
    local line how_far
    while IFS= read -r line; do
        [[ $line =~ ^\[([1-9][0-9]*)/([0-9]+)\]\  ]] || continue
        how_far="Building: $preset, ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
        if [[ $preset == release ]] && ((BASH_REMATCH[2] - BASH_REMATCH[1] == 1)); then
            how_far+="; the last step optimises the program as a whole, which takes a minute"
        fi
        progress_show "$how_far"
    done
    progress_clear
}

build()
{
    cmake --preset "$preset" && cmake --build "build/$preset" "${targets[@]}"
}

# cannot_write FILE: ends the script.
cannot_write()
{
    echo "Build failed: $1 cannot be written; was build/ made by another user?" >&2
    exit 1
}

# Two commands may run at a time. The second waits until the first has built.
if ! mkdir -p build || ! exec {lock}>"build/$preset.lock"; then
    cannot_write "build/$preset.lock"
fi
if ! flock --nonblock "$lock"; then
    echo "Waiting for another build: $preset" >&2
    flock "$lock"
fi
: >"$log" || cannot_write "$log"

[[ -e build/$preset ]] || echo "The first build takes some minutes." >&2
if [[ -t 2 ]]; then
    progress_show "Building: $preset"
else
    echo "Building: $preset" >&2
fi
if ! build 2>&1 </dev/null {lock}>&- | tee "$log" | follow; then
    messages >&2
    echo "Build failed: $preset (all of the output is in $log)" >&2
    exit 1
fi
steps=$(grep -cE '^\[[1-9]' "$log" || true)
((steps == 0)) || echo "Built: $preset, $steps steps in $SECONDS s" >&2
messages | grep -A 6 'warning:' >&2 || true
