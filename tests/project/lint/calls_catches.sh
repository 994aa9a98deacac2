#!/usr/bin/env bash
# Shows that each check of calls.py can fail: plants one fault at a time into a small program.
set -euo pipefail

check=$PWD/tests/project/lint/calls.py
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
readonly lists=$tree/lists source=$tree/source build=$tree/source/build

# make FILE LINE...: writes a file.
make()
{
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "${@:2}" >"$1"
}

# plant: writes the program without a fault. The room high uses the room low, and each has layers.
plant()
{
    rm -rf "$lists" "$source"
    make "$lists/rooms.txt" 'room low src/low iso' 'room high src/high iso' \
        'room deep src/high/deep iso' 'arrow high low bottom.h' 'arrow high deep' \
        'arrow deep low'
    make "$lists/circles.txt" '# none'
    make "$source/src/low/bottom.h" 'int bottom(void);' 'extern int number;' '#include "middle.h"' \
        'static inline int above(void) { return middle() + 1; }'
    make "$source/src/low/middle.h" 'int middle(void);' 'int top(void);'
    make "$source/src/low/bottom.c" '#include "bottom.h"' 'int number = 1;' \
        'int bottom(void) { return number; }'
    make "$source/src/low/middle.c" '#include "bottom.h"' 'int middle(void) { return bottom(); }'
    make "$source/src/low/top.c" '#include "bottom.h"' 'int top(void) { return middle() + number; }'
    make "$source/src/high/high.c" '#include "../low/bottom.h"' '#include "deep/deep.h"' \
        'int high(void) { return bottom() + above() + number + deep(); }'
    make "$source/src/high/deep/deep.h" 'int deep(void);'
    make "$source/src/high/deep/deep.c" '#include "../../low/bottom.h"' \
        'int deep(void) { return top(); }'
}

# compile FILE...: makes the object files of all C files, and says so in compile_commands.json.
compile()
{
    local file object entries=()
    while read -r file; do
        object=${file#"$source"/}.o
        mkdir -p "$(dirname "$build/$object")"
        cc -c "$file" -o "$build/$object"
        entries+=("{\"directory\": \"$build\", \"file\": \"$file\", \"command\": \"cc -o $object\"}")
    done < <(find "$source/src" -name '*.c' | sort)
    (IFS=,; echo "[${entries[*]}]") >"$build/compile_commands.json"
}

# expect TEXT...: compiles, and looks at what the check says.
expect()
{
    compile
    expect_of_compiled "$@"
}

# expect_of_compiled TEXT...: the check says each TEXT, and fails; `nothing`: it has nothing to
# refuse. The next program has no fault.
expect_of_compiled()
{
    local said text status=0
    said=$("$check" --lists "$lists" "$build" "$source" 2>&1) || status=$?
    for text in "$@"; do
        if [[ $text == nothing && $status != 0 ]] ||
            [[ $text != nothing && ($status == 0 || $said != *"$text"*) ]]; then
            printf 'expected "%s", and the check says:\n%s\n' "$text" "$said"
            exit 1
        fi
    done
    plant
}

plant
expect nothing

# (a) circles of files
echo 'int again(void) { return top(); }' >>"$source/src/low/bottom.c"
expect 'circle of files in low: bottom.c middle.c top.c' 'bottom.c -> top.c: top' \
    'middle.c -> bottom.c: bottom' 'top.c -> bottom.c: number' 'top.c -> middle.c: middle'
make "$source/src/low/other.c" '#include "bottom.h"' 'int other = 2;' 'int get(void) { return number; }'
echo 'extern int other; int *at(void) { return &other; }' >>"$source/src/low/bottom.c"
expect 'circle of files in low: bottom.c other.c' 'bottom.c -> other.c: other' \
    'other.c -> bottom.c: number'
# An inline function of a header brings what it needs.
echo 'int again(void) { return above(); }' >>"$source/src/low/bottom.c"
expect 'circle of files in low: bottom.c middle.c' 'bottom.c -> middle.c: middle'

# (b) circles that stay
again='int again(void) { return middle(); }'
echo "$again" >>"$source/src/low/bottom.c"
make "$lists/circles.txt" 'circle low middle.c bottom.c' '    The bottom needs the middle.'
expect nothing
make "$lists/circles.txt" 'circle low bottom.c middle.c' '    The bottom needed the middle.'
expect 'there is no such circle any more: low: bottom.c middle.c'
echo "$again" >>"$source/src/low/bottom.c"
make "$lists/circles.txt" 'circle low bottom.c middle.c' '# This is no reason.'
expect 'it does not say why this circle stays: low: bottom.c middle.c'
echo 'int again(void) { return top(); }' >>"$source/src/low/bottom.c"
make "$lists/circles.txt" 'circle low bottom.c middle.c' '    The bottom needs the middle.'
expect 'circle of files in low: bottom.c middle.c top.c' \
    'there is no such circle any more: low: bottom.c middle.c'
make "$lists/circles.txt" 'low bottom.c middle.c'
expect 'circles.txt:1: this is no circle'

# (c) uses between rooms
echo 'int high(void); int again(void) { return high(); }' >>"$source/src/low/top.c"
expect 'src/low/top.c: low may not use high of src/high/high.c'
echo 'int again(void) { return top(); }' >>"$source/src/high/high.c"
expect 'src/high/high.c: high may not use top of src/low/top.c'
make "$source/src/high/deep/up.h" 'int high(void);'
make "$source/src/high/deep/up.c" '#include "up.h"' 'int up(void) { return high(); }'
expect 'src/high/deep/up.c: deep may not use high of src/high/high.c'
make "$source/src/other/other.c" 'int other(void) { return 0; }'
expect 'src/other/other.c: rooms.txt does not say which room this file is in'

# (d) what cannot be examined
make "$source/src/low/twice.c" 'int bottom(void); int bottom(void) { return 0; }'
expect 'src/low/twice.c: it defines bottom, and so does src/low/bottom.c'
compile
rm "$build/src/low/middle.c.o"
expect_of_compiled 'There is no object file of src/low/middle.c'
# What this build leaves out may be part of a listed circle.
compile
make "$source/src/low/left_out.c" 'int top(void);'
make "$lists/circles.txt" 'circle low left_out.c top.c' '    The top needs a file of another build.'
expect_of_compiled nothing
find "$source/src" -name '*.c' ! -name bottom.c -delete
expect '1 files, 0 uses of symbols'
