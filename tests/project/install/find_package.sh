#!/usr/bin/env bash
# A CMake project takes the installed library by find_package, in C and C++, shared and static.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
needs_cxx
start_empty find_package

quietly cmake -S "$here/find_package" -B . -DCMAKE_PREFIX_PATH="$PREFIX"
quietly cmake --build .
takes ./take-elapse ./take-shared ./take-static ./take-cxx-elapse ./take-cxx-shared ./take-cxx-static

# The one is where the system looks, the other inside the program.
asks_for_library() { readelf -d "$1" | grep -q 'NEEDED.*libelapse'; }
asks_for_library take-shared || fail "elapse::shared is not the shared library"
asks_for_library take-elapse || fail "elapse::elapse is not the shared library"
! asks_for_library take-static || fail "elapse::static is not the static library"
