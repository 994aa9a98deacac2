#!/usr/bin/env bash
# Promise 5, and that the structures read no clock, take no lock and print nothing.
# Builds the structures with -ffreestanding and fails when they need any function
# from outside but the memory and string functions that a freestanding C
# implementation provides.
#
# Usage: check_symbols.sh COMPILER SOURCE_DIR SCRATCH_DIR
set -euo pipefail

compiler=$1
source_dir=$2
scratch_dir=$3
allowed='memset|memcpy|memmove|memcmp|strcmp'

rm -rf "$scratch_dir"
mkdir -p "$scratch_dir"
for source in "$source_dir"/src/structures/*.c; do
    "$compiler" -std=c11 -ffreestanding -O2 -Wall -Wextra -Werror -I "$source_dir/include" \
        -c "$source" -o "$scratch_dir/$(basename "$source" .c).o"
done
# One relocatable object: what is still undefined in it comes from outside.
"$compiler" -nostdlib -r "$scratch_dir"/*.o -o "$scratch_dir/structures.o"
foreign=$(nm --undefined-only "$scratch_dir/structures.o" | awk '{print $2}' |
    grep -Evx "$allowed" || true)
if [ -n "$foreign" ]; then
    echo "the structures need from outside: $foreign" >&2
    exit 1
fi
echo "from outside: $(nm --undefined-only "$scratch_dir/structures.o" | awk '{print $2}' | xargs)"
