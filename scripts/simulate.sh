#!/usr/bin/env bash
# simulate.sh [SECONDS]: builds the simulation of the durable queue with assertions, and runs it for
# SECONDS, from a seed that follows from the time. A run that breaks a promise is shrunk and printed.
# simulate.sh --day [OPTION...]: the day of a server, tests/server/day_test.c, with its options.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ ${1-} == --day ]]; then
    mkdir -p build
    cmake --preset developer >build/simulate.log
    cmake --build build/developer --target server-day >>build/simulate.log
    exec build/developer/tests/server/server-day "${@:2}"
fi
seconds=${1-60}
if [[ ! $seconds =~ ^[1-9][0-9]*$ ]] || (($# > 1)); then
    echo "usage: ./dev simulate [SECONDS], or ./dev simulate --day [--minutes N] [--rate N] [--seed N]" >&2
    exit 2
fi
mkdir -p build
cmake --preset developer >build/simulate.log
cmake --build build/developer --target simulate >>build/simulate.log
first=$(($(date +%s) * 1000000))
echo "The first seed is $first."
build/developer/tests/simulation/simulate --seed "$first" --seconds "$seconds"
