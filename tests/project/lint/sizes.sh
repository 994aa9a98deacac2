#!/usr/bin/env bash
# No C file is longer than 800 lines, and each ends with the end of a line: clang refuses others, and
# gcc, which every other build uses, does not. (clang-tidy checks the length of functions.)
set -euo pipefail
source tests/project/lint/files.sh

status=0
c_files | xargs wc -l | awk '
    $2 != "total" && $1 > 800 { print $2 ": " $1 " lines; the limit is 800"; long = 1 }
    END { exit long }' || status=1
while read -r file; do
    [[ ! -s $file || $(tail -c 1 "$file" | wc -l) == 1 ]] || {
        echo "$file: the last line has no end"
        status=1
    }
done < <(c_files)
exit "$status"
