#!/usr/bin/env bash
# DESTDIR stages an installation: the same files, all of them below it.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
start_empty staged

DESTDIR=$PWD/stage quietly cmake --install "$ELAPSE_BUILD" --prefix "$PWD/final"
[[ ! -e final ]] || fail "something was installed past DESTDIR"
diff <(cd "$PREFIX" && find . | sort) <(cd "stage$PWD/final" && find . | sort) ||
    fail "staged and installed files differ"
if grep -rIl "$PWD/stage" stage; then
    fail "these files name the stage"
fi
