#!/usr/bin/env bash
# Nothing is left marked as unfinished.
set -euo pipefail
source tests/project/lint/files.sh

# The words are put together here, so that this file passes its own check.
marks="TO""DO|FIX""ME|XX""X|HA""CK"
if text_files | xargs grep -nIwE "$marks"; then
    echo "Finish it, or write it into an issue." >&2
    exit 1
fi
