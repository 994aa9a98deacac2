#!/usr/bin/env bash
# A CMake project takes the tree itself by add_subdirectory, and stays what it was.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
needs_cxx

for shared in OFF ON; do
    start_empty "add_subdirectory_$shared"
    quietly cmake -S "$here/add_subdirectory" -B . -DELAPSE_SOURCE="$ELAPSE_SOURCE" \
        -DBUILD_SHARED_LIBS=$shared -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
    quietly cmake --build . --parallel 2
    takes ./take ./take-cxx

    built=$(find . -name 'libelapse*' -type f -printf '%f ')
    [[ $shared == ON ]] && expected="libelapse.so.$version " || expected='libelapse.a '
    [[ $built == "$expected" ]] || fail "of the library there is ${built:-nothing}, not $expected"
    [[ -z $(find . -name elapse -type f) ]] || fail "the program elapse was built"

    # Of warnings the library is compiled with those of the project around it.
    if grep -oE -- ' -W[a-z-]+' compile_commands.json | grep -vx ' -Werror'; then
        fail "these warnings are asked for"
    fi

    ctest --test-dir . -N | grep -q 'Total Tests: 0$' || fail "its tests were added"
    DESTDIR=$PWD/stage quietly cmake --install . --prefix /usr
    installed=$(cd stage && find . -type f -printf '%P ')
    [[ $installed == 'usr/bin/take ' ]] || fail "installed: $installed"

    # What the cache has beside CMake's own carries a name of ours.
    foreign=$(sed -n 's/^\([^#/ :]*\):.*/\1/p' CMakeCache.txt |
        grep -vE '^(_?CMAKE_|ELAPSE_|elapse_|taker_|BUILD_SHARED_LIBS$|FIND_PACKAGE_)' || true)
    [[ -z $foreign ]] || fail "these options are not namespaced: $foreign"

    # The durable queue is built if the project asks for it.
    quietly cmake -S "$here/add_subdirectory" -B queue -DELAPSE_SOURCE="$ELAPSE_SOURCE" \
        -DBUILD_SHARED_LIBS=$shared -DELAPSE_QUEUE=ON
    quietly cmake --build queue --parallel 2 --target take-queue
    takes queue/take-queue
done
