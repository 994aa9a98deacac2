#!/usr/bin/env bash
# tidy.sh BUILD: clang-tidy, by .clang-tidy, over all that BUILD compiles.
set -euo pipefail
build=$1

# Each line "file": "PATH" of the compilation database, once: a file may be compiled
# for several programs.
sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" | sort -u |
    xargs -n 4 -P "$(nproc)" clang-tidy --quiet -p "$build"
