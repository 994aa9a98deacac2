#!/usr/bin/env bash
# test.sh [--quick]: every check of the code, one after another, each with a limit
# in seconds, about twice what is usual. The whole, lint included, is to stay within
# ten minutes; what is usual is told in CONTRIBUTING.md.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

usual_steps()
{
    step 240 'developer: warnings are errors, assertions trap' \
        cmake --workflow --preset developer
    [[ $mode == quick ]] && return
    step 150 'asan: addresses and undefined behaviour' cmake --workflow --preset asan
    step 120 'tsan: races in the scheduler' cmake --workflow --preset tsan
    step 40 'memcheck: uninitialised reads and leaks' scripts/memcheck.sh
    step 60 'fuzz: a few seconds for each target' scripts/fuzz.sh 5
    step 90 'coverage: every branch of the structures' scripts/coverage.sh
    step 120 'mutants: each planted fault is found' tests/project/mutants/run
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

running=
summary=()
failures=0

# A step gets a process group of its own, which an interrupt has to be passed on to.
trap '[[ -z $running ]] || kill "$running"; exit 130' INT TERM

# step LIMIT TITLE COMMAND...
step()
{
    local limit=$1 title=$2 begun=$SECONDS status=0 outcome=ok
    shift 2
    printf '\n==== %s\n\n' "$title"
    timeout --kill-after=5 "$limit" "$@" </dev/null &
    running=$!
    wait "$running" || status=$?
    running=
    if ((status == 124)); then
        outcome="FAILED: took longer than $limit s"
    elif ((status != 0)); then
        outcome="FAILED: status $status"
    fi
    ((status == 0)) || failures=$((failures + 1))
    summary+=("$(printf '%5d s of %3d  %-52s %s' $((SECONDS - begun)) "$limit" "$title" "$outcome")")
}

usual_steps

printf '\n==== all steps: %d s\n\n' "$SECONDS"
printf '%s\n' "${summary[@]}"
if ((failures > 0)); then
    printf '\n%d of %d steps failed.\n' "$failures" "${#summary[@]}"
    exit 1
fi
printf '\nAll %d steps passed.\n' "${#summary[@]}"
