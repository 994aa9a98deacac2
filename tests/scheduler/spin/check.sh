#!/usr/bin/env bash
# check.sh [--long] [MODEL...]: searches the models in this directory, all or those named, with Spin.
# A model has to be searched to its end, twice: for wrong assertions and for threads that are stuck,
# and for threads that go round for ever. Nothing may be found, and each statement has to be
# reached. Each of its mutants, the macros MUTANT_* that its first comment names, has to be
# found out: by the search for threads that go round if its description begins with "goes round",
# by the other one if not.
#
# The search for threads that go round takes four times as long as the other, so the macro SHORT makes the
# models smaller for it; with --long it does not, and the macro LONG makes some larger.
#
# Prints a line for each, and fails if one is not as it should be; 77 where there is no Spin.
# CC names the compiler, and SPIN_JOBS how many searches run at the same time (1).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
compiler=${CC:-cc}
readonly here compiler
readonly models=(cluster_copies cluster_give_up cluster_lines cluster_ownership idle key lease pull queue sleep task wait wheels)

# More than any search needs: what reaches a limit fails.
readonly depth_max=40000 memory_max_mib=1024

# The macros that the first comment of a model names at the beginnings of lines.
mutants_of()
{
    sed -n '1,/\*\//s/^ \*   \(MUTANT_[A-Z_]*\).*/\1/p' "$here/$1.pml"
}

# search KIND MODEL [MUTANT]: leaves what pan says in report-KIND, and how many states there were
# in `states`.
search()
{
    local kind=$1 model=$2 mutant=${3-}
    local compile=(-DSAFETY) run=() macros=() optimise=-O1
    [[ -z ${SPIN_LONG-} || -n $mutant ]] || macros=(-DLONG)
    if [[ $kind == endless ]]; then
        compile=(-DNP -DNOFAIR) run=(-l)
        [[ -n ${SPIN_LONG-} ]] || macros=(-DSHORT)
    fi
    if [[ -n $mutant ]]; then
        optimise=-O0                     # it is found out sooner than compiled
        compile+=(-DREVERSE -DT_REVERSE) # and from behind, most often, sooner than from the front
    fi
    spin -a -P"$compiler -E -x c" "${macros[@]}" ${mutant:+"-D$mutant"} "$here/$model.pml" >spin.txt ||
        { cat spin.txt >&2 && return 1; }
    "$compiler" "$optimise" -w "${compile[@]}" -DMEMLIM="$memory_max_mib" -o pan pan.c || return 1
    ./pan -m"$depth_max" "${run[@]}" >"report-$kind" 2>&1 || true
    states=$(sed -nE 's/^ *([0-9.e+]+) states, stored.*/\1/p' "report-$kind")
}

# complete REPORT: the search found nothing and left nothing out.
complete()
{
    grep -q 'errors: 0$' "$1" && ! grep -qE 'depth too small|not completed|memory bound|out of' "$1"
}

# Statements that the search did not reach, but for the ends of endless threads, and for what
# only a mistake leads to.
unreached()
{
    grep -E '\.pml:[0-9]+, state' "$1" | grep -vE '"(-end-|assert.*)"$'
}

# check_sound MODEL
check_sound()
{
    local model=$1 kind states
    for kind in stuck endless; do
        search "$kind" "$model"
        complete "report-$kind" || { cat "report-$kind" && return 1; } >&2
        verdict="${verdict:+$verdict, }$kind: none in $states states"
    done
    if unreached report-stuck >&2; then
        echo "$model: these statements are never reached" >&2
        return 1
    fi
}

# check_mutant MODEL MUTANT
check_mutant()
{
    local model=$1 mutant=$2 kind=stuck states
    ! grep -qE "^ \*   $mutant +goes round: " "$here/$model.pml" || kind=endless
    search "$kind" "$model" "$mutant"
    verdict=$(sed -nE 's/^pan:1: (.*) \(at depth [0-9]+\)$/\1/p' "report-$kind")
    if [[ -n $verdict ]]; then
        verdict="found out: $verdict"
        return
    fi
    complete "report-$kind" || { cat "report-$kind" && return 1; } >&2
    echo "$model $mutant: Spin finds nothing wrong with it" >&2
    return 1
}

# check MODEL MUTANT: one line; MUTANT is - for the model as it is.
check()
{
    local model=$1 mutant=$2 verdict='' begin=$EPOCHREALTIME work
    work=$(mktemp -d)
    # shellcheck disable=SC2064  # now, not at the end: it is a local
    trap "rm -rf '$work'" EXIT
    cd "$work"
    if [[ $mutant == - ]]; then
        check_sound "$model"
    else
        check_mutant "$model" "$mutant"
    fi
    printf '%-6s %-25s %5.1f s  %s\n' "$model" "$mutant" \
        "$(((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/}) / 100000))e-1" "$verdict"
}

# Each mutant that the models can be compiled as is one that a first comment names.
check_names()
{
    local model unnamed
    unnamed=$(comm -23 \
        <(grep -hE '^#(if|elif)' "$here"/*.pml | grep -oE 'MUTANT_[A-Z_]+' | sort -u) \
        <(for model in "${models[@]}"; do mutants_of "$model"; done | sort -u))
    [[ -z $unnamed ]] || { echo "in no model's list of mutants: $unnamed" >&2 && return 1; }
}

if [[ ${1-} == --one ]]; then
    check "$2" "$3"
    exit
fi
if ! command -v spin >/dev/null; then
    echo "Spin is not installed (Debian: spin): the models are not checked."
    exit 77
fi
if [[ ${1-} == --long ]]; then
    export SPIN_LONG=yes
    shift
fi
check_names
[[ $# -gt 0 ]] || set -- "${models[@]}"
# The longest first, so that the last does not run alone.
{
    for model in "$@"; do echo "$model -"; done
    for model in "$@"; do mutants_of "$model" | sed "s/^/$model /"; done
} | xargs -P "${SPIN_JOBS:-1}" -L 1 "${BASH_SOURCE[0]}" --one
