#!/usr/bin/env bash
# No C file is longer than 800 lines. (The length of functions is for clang-tidy.)
set -euo pipefail
source tests/project/lint/files.sh

c_files | xargs wc -l | awk '
    $2 != "total" && $1 > 800 { print $2 ": " $1 " lines; the limit is 800"; long = 1 }
    END { exit long }'
