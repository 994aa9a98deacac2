#!/usr/bin/env bash
# Runs the unit tests of preset developer under valgrind, several at the same time.
# Requires that they are built. Prints the output of a test only if it fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The last line of this file calls it again for each program.
if (($# == 1)); then
    if output=$(valgrind --quiet --leak-check=full --error-exitcode=99 "$1" 2>&1); then
        echo "ok      ${1##*/}"
        exit 0
    fi
    printf 'FAILED  %s\n%s\n' "${1##*/}" "$output"
    exit 1
fi

mapfile -t programs < <(find build/developer/tests/structures -maxdepth 1 -type f -executable | sort)
if ((${#programs[@]} == 0)); then
    echo "There is no unit test in build/developer/tests/structures; run ./dev test first." >&2
    exit 1
fi
printf '%s\0' "${programs[@]}" | xargs -0 -n 1 -P "$(nproc)" scripts/memcheck.sh
