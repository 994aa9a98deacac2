#!/usr/bin/env bash
# build.sh PRESET [TARGET]: configures and builds a preset, or one target of it, and says nothing
# unless it fails.
# Builds with warnings as errors have no warnings to show; the others show them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=$1
target=${2:-all}
log=build/$preset.log
mkdir -p build
if ! : >"$log"; then
    echo "Build failed: $log cannot be written; was build/ made by another user?" >&2
    exit 1
fi

echo "Building: $preset" >&2
if ! { cmake --preset "$preset" && cmake --build "build/$preset" --target "$target"; } >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    echo "Build failed: $preset (the output above is in $log)" >&2
    exit 1
fi
grep -A 6 'warning:' "$log" >&2 || true
