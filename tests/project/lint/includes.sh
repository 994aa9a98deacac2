#!/usr/bin/env bash
# includes.sh [ROOT]: arrows point down only, cli -> scheduler -> cron, structures -> base.
# A room may include its own private headers, the public headers of itself and of
# what lies below, and the structures no more of the C library than is pure.
set -euo pipefail
cd "${1-.}"

structures='(attributes|error|shape|allocator|timer|wheel|heap|dials|hashed|structure|version)'
found=0

# permit ROOM PATTERN: every #include in ROOM matches PATTERN as a whole.
permit()
{
    local room=$1 pattern=$2 wrong
    [[ -d $room ]] || return 0
    wrong=$(grep -rnE --include='*.[ch]' '^ *# *include' "$room" |
        grep -vE "^[^:]+:[0-9]+: *# *include +($pattern) *(//.*|/\*.*)?$" || true)
    if [[ -n $wrong ]]; then
        echo "$room may not include:"
        echo "$wrong"
        found=1
    fi
}

pure='<(stdint|stddef|stdbool|string)\.h>'
own='"[a-z0-9_]+\.h"'
permit include "$pure|<elapse/[a-z0-9_]+\.h>"
base='"\.\./base/[a-z0-9_]+\.h"'
permit src/base "$pure|<stdlib\.h>|<elapse/$structures\.h>|$own"
permit src/structures "$pure|<elapse/$structures\.h>|$own|$base"
permit src/cron "<[a-z0-9_/]+\.h>|$own|$base"
permit src/scheduler "<[a-z0-9_/]+\.h>|$own|$base|\"\.\./cron/[a-z0-9_]+\.h\""
below='"(\.\./)?common/[a-z_]+\.h"|"\.\./\.\./(base/assert|os/program)\.h"'
permit src/cli "<[a-z0-9_/]+\.h>|$own|\"(run|replay|show)/[a-z_]+_command\.h\"|$below"
for room in common run replay show; do
    permit "src/cli/$room" "<[a-z0-9_/]+\.h>|$own|$below"
done
permit examples '<[a-z0-9_/]+\.h>'

# The public headers of the structures know nothing of what lies above them.
for header in include/elapse/*.h; do
    [[ $header =~ /$structures\.h$ ]] || continue
    if grep -nE '# *include +<elapse/' "$header" | grep -vE "<elapse/$structures\.h>"; then
        echo "$header: includes a header of a layer above"
        found=1
    fi
done
exit "$found"
