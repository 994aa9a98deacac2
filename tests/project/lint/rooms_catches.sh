#!/usr/bin/env bash
# Shows that each check of rooms.py can fail: plants one fault at a time into a small tree.
set -euo pipefail

check=$PWD/tests/project/lint/rooms.py
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# make FILE LINE...: writes a file of the tree.
make()
{
    mkdir -p "$(dirname "$tree/$1")"
    printf '%s\n' "${@:2}" >"$tree/$1"
}

make include/elapse/timer.h '#include <stdint.h>'
make include/elapse/wheel.h '#include <elapse/timer.h>'
make include/elapse/scheduler.h '#include <elapse/timer.h>'
make src/base/ring.h '#include <elapse/timer.h>'
make src/os/os.h '#include <time.h>'
make src/os/program.h '#include <stdio.h>'
make src/os/linux.c '#include "os.h"' '#include <unistd.h>' 'long f(void) { return time(0); }'
make src/structures/wheel.c '#include <elapse/wheel.h>' '#include "../base/ring.h"' '#include "slot.h"'
make src/structures/slot.h '#include <elapse/wheel.h>'
make src/scheduler/task.h '#include <elapse/wheel.h>' '#include "../os/os.h"'
make src/cli/common/text.h '#include <stdio.h>'
make src/cli/run/run.c '#include "../common/text.h"' '#include "../../os/program.h"' '#include <getopt.h>'
make src/cli/main.c '#include "common/text.h"'
make src/cli/run/options.h '#include <elapse/scheduler.h>'

# expect EXPECTED FILE LINE: runs the check with LINE added to FILE. EXPECTED is what the check
# says, or `nothing` where it has nothing to refuse.
expect()
{
    local expected=$1 file=$2 line=$3 said status=0
    mkdir -p "$(dirname "$tree/$file")"
    [[ ! -e $tree/$file ]] || cp "$tree/$file" "$tree/kept"
    echo "$line" >>"$tree/$file"
    said=$("$check" "$tree") || status=$?
    rm "$tree/$file"
    [[ ! -e $tree/kept ]] || mv "$tree/kept" "$tree/$file"
    if [[ $expected == nothing && $status != 0 ]] ||
        [[ $expected != nothing && ($status == 0 || $said != *"$expected"*) ]]; then
        printf '%s with %s: expected "%s", and the check says:\n%s\n' "$file" "$line" "$expected" "$said"
        exit 1
    fi
}

expect nothing src/structures/wheel.c '#include <string.h>'
expect nothing src/structures/wheel.c '/* #include <stdio.h>, then time(NULL) */'
expect nothing src/cli/run/run.c 'void f(struct s *s) { s->time(1); elapse_time("time(0)"); }'

# (a) where includes in quotes lead
expect 'no file' src/structures/wheel.c '#include "absent.h"'
expect 'no file' include/elapse/wheel.h '#include "../../src/base/ring.h"'
expect 'may not include src/scheduler/task.h' src/structures/wheel.c '#include "../scheduler/task.h"'
expect 'may not include src/structures/slot.h' src/scheduler/task.h '#include "../structures/slot.h"'
expect 'may not include src/os/os.h' src/cli/run/run.c '#include "../../os/os.h"'
expect 'may not include src/cli/run/options.h' src/cli/common/text.h '#include "../run/options.h"'
expect 'does not say which room' src/other/file.c ''
# (b) public headers
expect 'may not include include/elapse/scheduler.h' src/structures/wheel.c '#include <elapse/scheduler.h>'
expect 'may not include include/elapse/scheduler.h' include/elapse/wheel.h '#include <elapse/scheduler.h>'
expect 'may not include include/elapse/unknown.h' src/scheduler/task.h '#include <elapse/unknown.h>'
# (c) system headers
expect 'may not include <stdio.h>' src/structures/wheel.c '#include <stdio.h>'
expect 'may not include <stdlib.h>' include/elapse/wheel.h '#  include <stdlib.h> // why'
expect 'may not include <unistd.h>' src/scheduler/task.h '#include <unistd.h>'
expect 'may not include <getopt.h>' src/scheduler/task.h '#include <getopt.h>'
# (d) calls
expect 'may not call clock_gettime' src/scheduler/task.h 'int f(void) { return clock_gettime(0, 0); }'
expect 'may not call time' src/cli/run/run.c 'long now = (long)time (NULL);'
# (e) circles
expect 'modules of structures: slot wheel' src/structures/slot.h '#include "wheel.c"'
expect 'rooms: base structures' src/base/ring.h '#include "../structures/slot.h"'
