#!/usr/bin/env bash
# No C file is longer than 800 lines. (clang-tidy checks the length of functions.)
set -euo pipefail
source tests/project/lint/files.sh

c_files | xargs wc -l | awk '
    $2 != "total" && $1 > 800 { print $2 ": " $1 " lines; the limit is 800"; long = 1 }
    END { exit long }'
