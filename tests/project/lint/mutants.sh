#!/usr/bin/env bash
# mutants.sh [DIRECTORY]: every mutant of every list in the project at DIRECTORY (here) can be
# planted: its original text is in its file exactly once, the replacement differs, and no other mutant
# of the list has its name. A change that moves the text is seen at once, not when the mutants run.
set -euo pipefail
# shellcheck source=tests/support/mutants.sh
source "${BASH_SOURCE[0]%/*}/../../support/mutants.sh"
cd "${1-.}"

failed=0
lists=0
names=

# fault WORDS: prints them behind the mutant at hand.
fault()
{
    echo "$list: $1: $2"
    failed=1
}

# shellcheck disable=SC2317 # the lists call it
mutant()
{
    local name=$1 file=$2 original replacement
    read_marks "$3"
    [[ " $names " != *" $name "* ]] || fault "$name" "another mutant has this name"
    names+=" $name"
    if [[ ! -f $file ]]; then
        fault "$name" "there is no $file"
    elif ! occurs_once "$file" "$original"; then
        fault "$name" "its original text is not exactly once in $file: plant the same fault in the new code"
    elif [[ $original == "$replacement" ]]; then
        fault "$name" "nothing is replaced"
    fi
}

for list in tests/*/mutants/list.sh tests/*/*/mutants/list.sh tests/*/*/*/mutants/list.sh; do
    [[ -f $list ]] || continue
    lists=$((lists + 1))
    names=
    # shellcheck source=/dev/null
    source "$list"
    [[ -n $names ]] || fault "the list" "it is empty"
done
((lists > 0)) || { echo "there is no list of mutants" && failed=1; }
exit "$failed"
