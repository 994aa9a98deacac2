#!/usr/bin/env bash
# With ELAPSE_QUEUE=OFF nothing of the durable queue is built, installed or looked for.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
start_empty without_queue

quietly cmake -S "$ELAPSE_SOURCE" -B build -DELAPSE_TESTS=OFF -DELAPSE_TOOL=OFF -DELAPSE_QUEUE=OFF \
    -DCMAKE_DISABLE_FIND_PACKAGE_xxHash=ON
quietly cmake --build build --parallel 2
quietly cmake --install build --prefix "$PWD/prefix"

found=$(find prefix \( -name '*queue*' ! -name 'elapse_work_queue*' \) -printf '%P ')
[[ -z $found ]] || fail "installed: $found"
found=$(find build -name '*queue*.o' ! -path '*/src/scheduler/*' -printf '%P ')
[[ -z $found ]] || fail "built: $found"
! grep -rIl --exclude=elapseConfig.cmake 'queue\.h\|elapse_queue\|xxhash\|xxHash' prefix/lib* prefix/include ||
    fail "these files mention the queue"

# A project that asks for it all the same gets the reason why it is not there.
if cmake -S "$here/find_package" -B asks -DCMAKE_PREFIX_PATH="$PWD/prefix" >asks.txt 2>&1; then
    fail "the component queue was found"
fi
grep -q 'installed without the component queue' asks.txt || fail "it does not say that the queue is missing"
