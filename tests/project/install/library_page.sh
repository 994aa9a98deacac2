#!/usr/bin/env bash
# The block of docs/guide/library.md that installs the library and builds a program with it, pasted into a shell
# as it is, in a copy of the tree and with an empty home folder.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
command -v pkg-config >/dev/null || {
    echo "skipped: there is no pkg-config"
    exit 77
}
command -v ninja >/dev/null || {
    echo "skipped: there is no ninja"
    exit 77
}
start_empty library_page

mkdir home elapse
(cd "$ELAPSE_SOURCE" && tar -c --exclude=./build --exclude=./.git .) | tar -x -C elapse
awk '/<!-- test: by tests\/project\/install\/library_page.sh -->/ { found = 1; next }
     found && /^```$/ { exit }
     found && !/^```/' elapse/docs/guide/library.md >block.sh
grep -q 'pkg-config --cflags' block.sh || fail "docs/guide/library.md has no such block"
export HOME=$PWD/home
(cd elapse && bash -euo pipefail ../block.sh) >said.txt 2>&1 || {
    cat said.txt
    fail "the block"
}
(($(grep -cx 'it is due' said.txt) == 2)) || fail "the two programs do not both say that it is due: $(cat said.txt)"
