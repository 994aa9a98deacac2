#!/usr/bin/env bash
# includes.sh finds each kind of wrong include in a small tree made for it.
set -euo pipefail

check=$PWD/tests/project/lint/includes.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{include/elapse,src/structures,src/cli}

# expect OUTCOME FILE LINE: what the check says of a tree with LINE in FILE alone.
expect()
{
    local outcome=$1 file=$2 line=$3 said=refused
    echo "$line" >"$tree/$file"
    "$check" "$tree" >/dev/null && said=allowed
    rm "$tree/$file"
    if [[ $said != "$outcome" ]]; then
        echo "$file with $line: $said, not $outcome"
        exit 1
    fi
}

touch "$tree/include/elapse/wheel.h"
expect allowed src/structures/wheel.c '#include <elapse/wheel.h>'
expect allowed src/structures/wheel.c '#include "ring.h"'
expect allowed src/cli/main.c '#include <stdio.h>'
expect refused src/structures/wheel.c '#include <stdio.h>'
expect refused src/structures/wheel.c '#include <elapse/scheduler.h>'
expect refused src/structures/wheel.c '#include "../cli/text.h"'
expect refused src/cli/main.c '#include "../structures/ring.h"'
expect refused src/cli/main.c '#include "structures/ring.h"'
expect refused include/elapse/wheel.h '#include <elapse/scheduler.h>'
expect refused include/elapse/wheel.h '#include "ring.h"'
