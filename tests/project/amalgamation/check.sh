#!/usr/bin/env bash
# Checks the files of `./dev amalgamate`, elapse.h and elapse.c and those of the durable queue beside them, and their
# archive. They are the same from run to run and self-contained, every compiler that is installed compiles them without
# a warning, C++ can use them, and the structures alone are freestanding. A fault in the sources is reported with its
# file and line.
#
# Usage: check.sh SOURCE_DIR SCRATCH_DIR
set -euo pipefail

source_dir=$1
scratch_dir=$2
# shellcheck source=tests/structures/freestanding/symbols.sh
source "$source_dir/tests/structures/freestanding/symbols.sh"
# More warnings than users are promised to be spared: they find clashes between files that are right
# one by one.
warnings=(-Wall -Wextra -Wpedantic -Wredundant-decls -Wshadow -Werror)

rm -rf "$scratch_dir"
mkdir -p "$scratch_dir/one" "$scratch_dir/two"
cd "$scratch_dir"

PYTHONHASHSEED=1 "$source_dir/scripts/amalgamate.py" one
PYTHONHASHSEED=2 "$source_dir/scripts/amalgamate.py" two >two.log
diff -r one two

# The archive has the same files, in a folder named after the version.
PYTHONHASHSEED=1 "$source_dir/scripts/amalgamate.py" --archive packed >packed.log
PYTHONHASHSEED=2 "$source_dir/scripts/amalgamate.py" --archive again >>packed.log
diff -r packed again
tar -xzf packed/elapse-*-two-files.tar.gz
diff -r one elapse-[0-9]*

version=$(sed -n 's/.*ELAPSE_VERSION_TEXT  *"\(.*\)"/\1/p' "$source_dir/include/elapse/version.h")
for file in one/elapse.h one/elapse.c; do
    head=$(head -n 50 "$file")
    [[ $head == *"Elapse $version:"* && $head == *"MIT License"* &&
        $head == *"ELAPSE_STRUCTURES_ONLY defined"* ]]
done
for file in one/elapse_queue.h one/elapse_queue.c; do
    head=$(head -n 50 "$file")
    [[ $head == *"Elapse $version:"* && $head == *"MIT License"* && $head == *"-lxxhash"* ]]
done
for file in one/*; do
    if grep -nE '^#include +(<elapse/|"([^e]|e[^l]))' "$file"; then
        echo "$file: includes a file of the library's tree" >&2
        exit 1
    fi
done

# A user of the header alone, in either language.
cat >user.c <<'TEXT'
#include "one/elapse.h"

int main(void)
{
    struct elapse_scheduler_options options = {0};
    struct elapse_cron cron;
    static struct elapse_wheel wheel;
    struct elapse_timer timer;

    elapse_timer_init(&timer);
    if (elapse_wheel_init(&wheel, 0) != ELAPSE_OK)
        return 1;
    elapse_wheel_start(&wheel, &timer, 3);
    elapse_wheel_advance(&wheel, 3);
    if (elapse_wheel_pop(&wheel) != &timer)
        return 2;
    return elapse_cron_parse(&cron, "0 4 * * *", 0) != ELAPSE_OK || options.shards != 0;
}
TEXT
sed 's/ = {0}/ = {}/' user.c >user.cc

# A user of the queue: its program for the installed library, with the one header.
mkdir elapse
for header in queue version; do
    echo '#include "../one/elapse_queue.h"' >elapse/$header.h
done
cp "$source_dir/tests/project/install/take_queue.c" "$source_dir/tests/project/install/take_queue_cxx.cpp" .

# check COMPILER: with the C++ compiler of the same house, where there is one.
check()
{
    local compiler=$1 other=${1/%cc/++} object=$1.o
    [[ $compiler != clang ]] || other=clang++
    "$compiler" -std=c11 "${warnings[@]}" -O2 -c one/elapse.c -o "$object"
    "$compiler" -std=c11 "${warnings[@]}" -O2 user.c "$object" -pthread -o "user-$compiler"
    "./user-$compiler"
    "$compiler" -std=c11 "${warnings[@]}" -O2 -c one/elapse_queue.c -o "queue-$object"
    "$compiler" -std=c11 "${warnings[@]}" -O2 -I . take_queue.c "$object" "queue-$object" -pthread -lxxhash \
        -o "take-queue-$compiler"
    [[ $("./take-queue-$compiler") == "$version" ]]
    # xxHash without its library. (What only -O2 warns of has been seen above; -O0 takes a tenth of it.)
    "$compiler" -std=c11 "${warnings[@]}" -O0 -DXXH_INLINE_ALL -I . take_queue.c one/elapse_queue.c "$object" \
        -pthread -o "take-queue-inline-$compiler"
    [[ $("./take-queue-inline-$compiler") == "$version" ]]
    if command -v "$other" >/dev/null; then
        "$other" -std=c++17 "${warnings[@]}" -O2 -c user.cc -o "user-$other.o"
        "$compiler" "user-$other.o" "$object" -pthread -o "user-$other"
        "./user-$other"
        "$other" -std=c++17 "${warnings[@]}" -O2 -I . -c take_queue_cxx.cpp -o "take-queue-$other.o"
        "$other" "take-queue-$other.o" "$object" "queue-$object" -pthread -lxxhash -o "take-queue-$other"
        [[ $("./take-queue-$other") == "$version" ]]
        echo "$other: ok"
    fi
    "$compiler" -std=c11 "${warnings[@]}" -O2 -DELAPSE_STRUCTURES_ONLY -ffreestanding \
        -c one/elapse.c -o "structures-$compiler.o"
    needs_nothing_foreign "structures-$compiler.o"
    small_wheel "$compiler"
    echo "$compiler: ok"
}

# The queue says what it needs.
if gcc -DELAPSE_STRUCTURES_ONLY -c one/elapse_queue.c -o none.o 2>structures.log ||
    ! grep -q 'do not define ELAPSE_STRUCTURES_ONLY' structures.log; then
    echo "the queue without the scheduler does not say what is wrong" >&2
    exit 1
fi

# small_wheel COMPILER: the small form of the wheel works with both files; a program that was
# compiled without it gets an error from init.
small_wheel()
{
    local compiler=$1 object=small-$1.o status=0
    "$compiler" -std=c11 "${warnings[@]}" -O0 -DELAPSE_WHEEL_SMALL -c one/elapse.c -o "$object"
    "$compiler" -std=c11 "${warnings[@]}" -O0 -DELAPSE_WHEEL_SMALL user.c "$object" -pthread \
        -o "user-small-$compiler"
    "./user-small-$compiler"
    "$compiler" -std=c11 "${warnings[@]}" -O2 user.c "$object" -pthread -o "user-mixed-$compiler"
    "./user-mixed-$compiler" || status=$?
    if ((status != 1)); then
        echo "$compiler: a program with wheels of another size: status $status, not 1" >&2
        exit 1
    fi
}

checked=0
for compiler in gcc clang; do
    command -v "$compiler" >/dev/null || continue
    check "$compiler"
    checked=$((checked + 1))
done
if ((checked == 0)); then
    echo "there is neither gcc nor clang" >&2
    exit 1
fi

# refused TEXT FAULT: the library with TEXT at the end of a source is refused, by place.
refused()
{
    local said status=0
    printf '%s' "$1" >>tree/src/structures/error.c
    said=$(tree/scripts/amalgamate.py three 2>&1) || status=$?
    cp "$source_dir/src/structures/error.c" tree/src/structures/error.c
    if ((status != 2)) || [[ ! $said =~ ^amalgamate.py:\ src/structures/error.c:[0-9]+:\ $2$ ]]; then
        echo "status $status, not 2, or not \"$2\": $said" >&2
        exit 1
    fi
}

mkdir -p tree/src
cp -r "$source_dir"/{include,scripts,LICENSE} tree
cp -r "$source_dir"/src/{base,os,structures,cron,scheduler,queue,engine} tree/src
refused $'#ifdef FAST\n#include <math.h>\n#endif\n' 'an #include that depends on a condition'
refused $'#include "fast.h"\n' 'there is no "fast.h"'
refused $'#include FAST\n' 'an #include of neither <file> nor "file"'
[[ ! -e three ]]

status=0
"$source_dir/scripts/amalgamate.py" user.c >/dev/null 2>fault.log || status=$?
if ((status != 2)) || [[ $(wc -l <fault.log) != 1 ]]; then
    echo "a directory that is a file: status $status" >&2
    exit 1
fi
