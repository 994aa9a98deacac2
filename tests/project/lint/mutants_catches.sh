#!/usr/bin/env bash
# Shows that the check of the lists of mutants can fail, and what the runners say of a mutant that
# survives, cannot be planted or does not compile: a project of one source, with such mutants.
set -euo pipefail

root=$PWD
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

mkdir -p "$tree"/{include,src/small,tests/small/mutants}
printf '%s\n' '#include "one.h"' 'int main(void) { return ONE - 1 + 0; }' >"$tree/src/small/small.c"
echo '#define ONE 1' >"$tree/src/small/one.h"
cat >"$tree/tests/small/mutants/run" <<RUN
set -euo pipefail
cd "$tree"
source "$root/tests/support/mutants.sh"
flags=(-std=c11)
sources=(src/small/*.c)
prepare() { build . "\$work/sound" everything; }
build() { objects_of "\$@" && "\$compiler" "\${objects[@]}" -o "\$2/small"; }
notice() { "\$1/small" || echo "the program ends with \$?"; }
run_mutants tests/small/mutants/list.sh "\$@"
RUN

# expect WORDS LIST COMMAND...: COMMAND says so of the list, and fails unless the words are `nothing`.
expect()
{
    local words=$1 said status=0
    printf '%s\n' "$2" >"$tree/tests/small/mutants/list.sh"
    shift 2
    said=$("$@" 2>&1) || status=$?
    if [[ $words == nothing && $status != 0 ]] ||
        [[ $words != nothing && ($status == 0 || $said != *"$words"*) ]]; then
        printf 'expected "%s", and %s says:\n%s\n' "$words" "$*" "$said"
        exit 1
    fi
}

check=("$root/tests/project/lint/mutants.sh" "$tree")
run=(bash "$tree/tests/small/mutants/run")
sound="mutant sound src/small/small.c 'ONE - [-1-]{+2+}'"
in_header="mutant in_header src/small/one.h 'ONE [-1-]{+2+}'"
absent="mutant absent src/small/small.c 'ONE[- - 3-]'"
twice="mutant twice src/small/small.c '[-i-]{+j+}'"
no_file="mutant no_file src/small/other.c '[-ONE-]{+1+}'"
no_change="mutant no_change src/small/small.c '[-+-]{+-+} 0'"
no_c="mutant no_c src/small/small.c 'ret[-ur-]{+ru+}n'"

expect nothing "$sound" "${check[@]}"
expect 'absent: its original text is not exactly once' "$absent" "${check[@]}"
expect 'twice: its original text is not exactly once' "$twice" "${check[@]}"
expect 'no_file: there is no src/small/other.c' "$no_file" "${check[@]}"
expect 'sound: another mutant has this name' "$sound; $sound" "${check[@]}"
expect 'same: nothing is replaced' "mutant same src/small/small.c ONE" "${check[@]}"
expect 'it is empty' '' "${check[@]}"

expect nothing "$sound; $in_header" "${run[@]}"
expect 'FAILED: survives' "$sound; $no_change" "${run[@]}"
expect 'FAILED: cannot be planted: its original text is not exactly once in src/small/small.c' \
    "$sound; $absent" "${run[@]}"
expect 'FAILED: does not compile: ' "$sound; $no_c" "${run[@]}"
expect '1 mutants, 1 not noticed' "$sound" "${run[@]}" unknown
expect '0 mutants' '' "${run[@]}"
sed -i 's/+ 0/+ 7/' "$tree/src/small/small.c"
expect 'it fails without any fault planted: the program ends with 7' "$sound" "${run[@]}"
