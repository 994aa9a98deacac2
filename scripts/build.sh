#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures a preset, and builds these targets, or all. It says how far it
# is, and nothing else unless it fails. Builds with warnings as errors have no warnings to show; the
# others show them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/progress.sh
source scripts/progress.sh

preset=$1
targets=()
(($# == 1)) || targets=(--target "${@:2}")
log=build/$preset.log
export NINJA_STATUS='[%f/%t] '

# What the compiler and CMake say, without the lines of Ninja and the notices of CMake.
messages()
{
    sed -E -e '/^(\[[0-9]+\/[0-9]+\] |FAILED: |ninja: |-- )/d' "$log"
}

follow()
{
    local line total=0
    while IFS= read -r line; do
        [[ $line =~ ^\[([1-9][0-9]*)/([0-9]+)\]\  ]] || continue
        total=${BASH_REMATCH[2]}
        progress_show "Building: $preset, ${BASH_REMATCH[1]} of $total"
    done
    progress_clear
    ((total == 0)) || echo "Built: $preset, $total steps in $SECONDS s" >&2
}

build()
{
    cmake --preset "$preset" && cmake --build "build/$preset" "${targets[@]}"
}

if ! mkdir -p build || ! : >"$log"; then
    echo "Build failed: $log cannot be written; was build/ made by another user?" >&2
    exit 1
fi

if [[ -t 2 ]]; then
    progress_show "Building: $preset"
else
    echo "Building: $preset" >&2
fi
if ! build 2>&1 </dev/null | tee "$log" | follow; then
    messages >&2
    echo "Build failed: $preset (all of the output is in $log)" >&2
    exit 1
fi
messages | grep -A 6 'warning:' >&2 || true
