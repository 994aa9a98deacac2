#!/usr/bin/env bash
# Promise 5, and that the structures read no clock, take no lock and print nothing.
# Builds the structures with -ffreestanding and fails when they need anything from
# outside that symbols.sh does not allow.
#
# Usage: check_symbols.sh COMPILER SOURCE_DIR SCRATCH_DIR
set -euo pipefail

compiler=$1
source_dir=$2
scratch_dir=$3
# shellcheck source=tests/structures/freestanding/symbols.sh
source "$source_dir/tests/structures/freestanding/symbols.sh"

rm -rf "$scratch_dir"
mkdir -p "$scratch_dir"
for source in "$source_dir"/src/structures/*.c; do
    "$compiler" -std=c11 -ffreestanding -O2 -Wall -Wextra -Werror -I "$source_dir/include" \
        -c "$source" -o "$scratch_dir/$(basename "$source" .c).o"
done
# A freestanding compiler has no <string.h>. These declarations are enough; no header of a C
# library can be found here.
mkdir "$scratch_dir/minimal"
cat >"$scratch_dir/minimal/string.h" <<'TEXT'
#include <stddef.h>
void *memset(void *, int, size_t);
int strcmp(const char *, const char *);
TEXT
for source in "$source_dir"/src/structures/*.c; do
    "$compiler" -std=c11 -ffreestanding -nostdinc -O2 -Wall -Wextra -Werror -fsyntax-only \
        -isystem "$("$compiler" -print-file-name=include)" -isystem "$scratch_dir/minimal" \
        -I "$source_dir/include" "$source"
done
# One relocatable object: the symbols that are still undefined in it come from outside.
"$compiler" -nostdlib -r "$scratch_dir"/*.o -o "$scratch_dir/structures.o"
needs_nothing_foreign "$scratch_dir/structures.o"
