#!/usr/bin/env bash
# words.sh [FILE...]: no text file has a word that words.txt refuses, or a mark of unfinished work.
set -euo pipefail
source tests/project/lint/files.sh

if (($# > 0)); then
    printf '%s\n' "$@"
else
    text_files
fi | tests/project/lint/words.py
