#!/usr/bin/env bash
# test.sh [--all [--after-test]]: runs the checks of the code except lint, step by step.
#
# The first step is the first tier, which is what `./dev test` runs. --all runs the second tier behind
# it: the tests with the label long, and all that builds or runs the tests in another way. --after-test
# leaves the first step out, for a caller that has just seen it pass on the same sources.
#
# No step has a limit of time, because a slow machine is no fault: watch-test ends each test that hangs.
# Behind each step stands how many processor-seconds it used, with its builds, and how many it usually
# uses, which CONTRIBUTING.md has in a table.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

usage()
{
    echo "usage: ./dev test [--all [--after-test]]" >&2
    exit 2
}

# plan USUAL_PROCESSOR_S TITLE COMMAND: a step that is to be run.
plan()
{
    usual+=("$1")
    titles+=("$2")
    commands+=("$3")
}

# tests PRESET [BUILD]: builds and runs the tests of a preset; BUILD has another name if the preset
# takes the build of another one.
# shellcheck disable=SC2317 # a step calls it
tests()
{
    scripts/build.sh "${2-$1}" && ctest --preset "$1"
}

usual=() titles=() commands=()
case "$*" in
'' | --all)
    plan 440 'test: one build, and every test that is not long' \
        'tests developer'
    ;;
'--all --after-test') ;;
*) usage ;;
esac
if [[ ${1-} == --all ]]; then
    plan 490 'long: the tests that take long' 'tests long developer'
    plan 690 'asan: addresses and undefined behaviour' 'tests asan'
    plan 260 'tsan: races in the scheduler and the store' 'tests tsan'
    plan 90 'memcheck: uninitialised reads and leaks' scripts/memcheck.sh
    plan 150 'fuzz: a few seconds for each target' 'scripts/fuzz.sh 5'
    plan 185 'coverage: every branch of the structures' scripts/coverage.sh
    plan 60 'mutants: each fault planted in the structures is found' tests/project/mutants/run
    plan 190 'mutants: each fault planted in the scheduler is found' tests/scheduler/mutants/run
    plan 60 'mutants: each fault planted in the queue is found' tests/queue/mutants/run
    plan 70 'mutants: each fault planted in the journal is found' tests/engine/journal/mutants/run
    plan 80 'mutants: each fault planted in the server is found' tests/server/mutants/run
    plan 34 'mutants: each fault planted in HTTP is found' tests/server/http/mutants/run
fi

processors=$(nproc)
if [[ ${CTEST_PARALLEL_LEVEL-} =~ ^[1-9][0-9]*$ ]] && ((CTEST_PARALLEL_LEVEL < processors)); then
    processors=$CTEST_PARALLEL_LEVEL
fi
export CTEST_PARALLEL_LEVEL=$processors

running=
summary=()
failures=0
used_total=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap '[[ -z $running ]] || kill -- -"$running"; exit 130' INT TERM

# used_s_from TIMES: the processor-seconds of the steps so far, from the output of `times`.
# (`times` in a subshell would be about the children of that subshell.)
used_s_from()
{
    awk 'NR == 2 { gsub(/[ms]/, " "); printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }' "$1"
}

# run NUMBER: runs a step, in a process group of its own, so that an interrupt can end all of it.
run()
{
    local title=${titles[$1]} begun=$SECONDS used_before used status=0 outcome=ok command
    read -ra command <<<"${commands[$1]}"
    times >"$scratch/times"
    used_before=$(used_s_from "$scratch/times")
    printf '\n==== step %d of %d, after %d s: %s\n\n' $(($1 + 1)) "${#titles[@]}" "$SECONDS" "$title"
    set -m
    "${command[@]}" </dev/null &
    running=$!
    set +m
    wait "$running" || status=$?
    running=
    if ((status != 0)); then
        outcome="FAILED: status $status"
        failures=$((failures + 1))
        printf '\n%s: %s\n' "${title%%:*}" "$outcome"
    fi
    times >"$scratch/times"
    used=$(($(used_s_from "$scratch/times") - used_before))
    used_total=$((used_total + used))
    summary+=("$(printf '%5d s %8d s %5d s  %-58s %s' $((SECONDS - begun)) "$used" "${usual[$1]}" \
        "$title" "$outcome")")
}

touch "$scratch/begun"
for i in "${!titles[@]}"; do
    run "$i"
done

printf '\n==== all steps: %d s on %d processors\n' "$SECONDS" "$processors"
scripts/summary.py --newer "$scratch/begun" build/*/tests*.xml
printf '\n%7s %10s %7s\n' took processor usual
printf '%s\n' "${summary[@]}"
printf '\n%d processor-seconds with the builds. ' "$used_total"
if ((failures > 0)); then
    printf '%d of %d steps failed.\n' "$failures" "${#summary[@]}"
    exit 1
fi
printf 'All %d steps passed.\n' "${#summary[@]}"
