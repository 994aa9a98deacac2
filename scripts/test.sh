#!/usr/bin/env bash
# test.sh [--quick]: runs every check of the code except lint, step by step.
#
# Each step states how many processor-seconds it usually takes. From these and the number of
# processors available (nproc honours taskset; CTEST_PARALLEL_LEVEL may lower it) follow the usual
# time and the time allowed, which only ends a step that hangs: ten times the usual, and at least
# fifteen minutes, because other users of the machine slow a step down without being its fault. A step
# that takes longer fails as too slow. The numbers were measured from an empty build directory
# without ccache, beside much other work; CONTRIBUTING.md has a table.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

all_steps()
{
    step 950 'developer: warnings are errors, assertions trap' \
        cmake --workflow --preset developer
    [[ $mode == quick ]] && return
    step 690 'asan: addresses and undefined behaviour' cmake --workflow --preset asan
    step 260 'tsan: races in the scheduler and the store' cmake --workflow --preset tsan
    step 90 'memcheck: uninitialised reads and leaks' scripts/memcheck.sh
    step 150 'fuzz: a few seconds for each target' scripts/fuzz.sh 5
    step 185 'coverage: every branch of the structures' scripts/coverage.sh
    step 320 'mutants: each fault planted in the structures is found' tests/project/mutants/run
    step 190 'mutants: each fault planted in the scheduler is found' tests/scheduler/mutants/run
    step 60 'mutants: each fault planted in the queue is found' tests/queue/mutants/run
    step 70 'mutants: each fault planted in the journal is found' tests/engine/journal/mutants/run
    step 80 'mutants: each fault planted in the server is found' tests/server/mutants/run
    step 34 'mutants: each fault planted in HTTP is found' tests/server/http/mutants/run
}

mode=all
case ${1-} in
'') ;;
--quick) mode=quick ;;
*)
    echo "usage: ./dev test [--quick]" >&2
    exit 2
    ;;
esac

processors=$(nproc)
if [[ ${CTEST_PARALLEL_LEVEL-} =~ ^[1-9][0-9]*$ ]] && ((CTEST_PARALLEL_LEVEL < processors)); then
    processors=$CTEST_PARALLEL_LEVEL
fi
export CTEST_PARALLEL_LEVEL=$processors
on_processors="on $processors processor$( ((processors == 1)) || echo s)"

running=
summary=()
failures=0
usual_total=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A step runs in a process group of its own, so an interrupt has to be passed on to it.
trap '[[ -z $running ]] || kill "$running"; exit 130' INT TERM

# used_s_from TIMES: the processor-seconds of the steps so far, from the output of `times`.
# (`times` in a subshell would be about the children of that subshell.)
used_s_from()
{
    awk 'NR == 2 { gsub(/[ms]/, " "); printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }' "$1"
}

# step USUAL_PROCESSOR_S TITLE COMMAND...
step()
{
    local work=$1 title=$2 begun=$SECONDS used_before status=0 outcome=ok
    local usual=$((5 + work / processors)) allowed took
    shift 2
    allowed=$((10 * usual > 900 ? 10 * usual : 900))
    usual_total=$((usual_total + usual))
    times >"$scratch/times"
    used_before=$(used_s_from "$scratch/times")
    printf '\n==== %s\n\n' "$title"
    timeout --kill-after=5 "$allowed" "$@" </dev/null &
    running=$!
    wait "$running" || status=$?
    running=
    took=$((SECONDS - begun))
    if ((status == 124 || status == 137)); then
        outcome="FAILED, too slow: $took s of $allowed s allowed $on_processors"
    elif ((status != 0)); then
        outcome="FAILED: status $status"
    fi
    if ((status != 0)); then
        failures=$((failures + 1))
        printf '\n%s: %s\n' "${title%%:*}" "$outcome"
    fi
    times >"$scratch/times"
    summary+=("$(printf '%5d s %5d s %6d s %8d s  %-49s %s' "$took" "$usual" "$allowed" \
        $(($(used_s_from "$scratch/times") - used_before)) "$title" "$outcome")")
}

touch "$scratch/begun"
all_steps

printf '\n==== all steps: %d s %s; usual: %d s\n\n' "$SECONDS" "$on_processors" "$usual_total"
printf '%7s %7s %8s %10s\n' took usual allowed processor
printf '%s\n' "${summary[@]}"
scripts/skipped.py --newer "$scratch/begun" build/*/tests.xml
if ((failures > 0)); then
    printf '\n%d of %d steps failed.\n' "$failures" "${#summary[@]}"
    exit 1
fi
printf '\nAll %d steps passed.\n' "${#summary[@]}"
