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
takes ./take-queue ./take-queue-shared ./take-queue-static
takes ./take-cxx-queue ./take-cxx-queue-shared ./take-cxx-queue-static

# The one is where the system looks, the other inside the program.
asks_for_library() { readelf -d "$1" | grep -q "NEEDED.*lib${2-elapse}.so"; }
asks_for_library take-shared || fail "elapse::shared is not the shared library"
asks_for_library take-elapse || fail "elapse::elapse is not the shared library"
! asks_for_library take-static || fail "elapse::static is not the static library"
asks_for_library take-queue elapse-queue || fail "elapse::queue is not the shared library"
! asks_for_library take-queue-static || fail "elapse::queue-static takes the shared library elapse"
! asks_for_library take-queue-static elapse-queue || fail "elapse::queue-static is not the static library"

# Without the component there is no elapse::queue, and xxHash is not looked for; with it and without
# xxHash the package is not found, and says why.
quietly cmake -S "$here/find_package" -B alone -DCMAKE_PREFIX_PATH="$PREFIX" -DQUEUE=OFF \
    -DCMAKE_DISABLE_FIND_PACKAGE_xxHash=ON
if cmake -S "$here/find_package" -B without -DCMAKE_PREFIX_PATH="$PREFIX" \
    -DCMAKE_DISABLE_FIND_PACKAGE_xxHash=ON >without.txt 2>&1; then
    fail "the component queue was found without xxHash"
fi
grep -q 'the component queue needs xxHash' without.txt || fail "it does not say that xxHash is missing"
