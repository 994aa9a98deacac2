#!/usr/bin/env bash
# With ELAPSE_TOOL=OFF nothing of the program and of its server is compiled, and none of the libraries
# that they need is looked for.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
start_empty without_tool

quietly cmake -S "$ELAPSE_SOURCE" -B build -DELAPSE_TESTS=OFF -DELAPSE_TOOL=OFF
quietly cmake --build build --parallel 2
quietly cmake --install build --prefix "$PWD/prefix"

rooms=$(find build/src -name '*.o' -printf '%P\n' | sed 's,/CMakeFiles/.*,,' | sort -u | tr '\n' ' ')
[[ $rooms == 'base cron engine engine/journal engine/store os queue scheduler structures ' ]] || fail "compiled: $rooms"
sought=$(grep -oiE '^(zlib|openssl|curl|elapse_(jansson|uthash|event|hiredis|pq))_[^:]*' build/CMakeCache.txt || true)
[[ -z $sought ]] || fail "looked for: $sought"
[[ ! -e prefix/bin && ! -e prefix/share/man/man1 && ! -e prefix/share/man/man8 ]] ||
    fail "the program, or a page of it, is installed"
