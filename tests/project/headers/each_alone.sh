#!/usr/bin/env bash
# each_alone.sh INCLUDE_DIR SCRATCH_DIR COMPILER [OPTION...]: compiles each public
# header in a file of its own, twice over, and fails when the compiler has anything to
# say. With `none` for a compiler, 77: skipped.
set -euo pipefail

include=$1
scratch=$2
shift 2
if [[ $1 == none ]]; then
    echo "skipped: there is no compiler of this language"
    exit 77
fi

mkdir -p "$scratch"
compiled=0
for header in "$include"/elapse/*.h; do
    name=$(basename "$header" .h)
    # The declaration: a file of nothing else is not allowed to be empty.
    printf '#include <elapse/%s.h>\n' "$name" "$name" >"$scratch/$name.source"
    echo 'extern int elapse_test_declaration;' >>"$scratch/$name.source"
    "$@" -Wall -Wextra -Wpedantic -Werror -O1 -I "$include" \
        -c "$scratch/$name.source" -o "$scratch/$name.o"
    compiled=$((compiled + 1))
done
echo "$compiled headers"
((compiled > 0))
