#!/usr/bin/env bash
# A program takes the installed library by pkg-config, in C and C++, shared and static.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
command -v pkg-config >/dev/null || {
    echo "skipped: there is no pkg-config"
    exit 77
}
start_empty pkg_config
export PKG_CONFIG_PATH=$PREFIX/$lib/pkgconfig
export LD_LIBRARY_PATH=$PREFIX/$lib

[[ $(pkg-config --modversion elapse) == "$version" ]] || fail "pkg-config has another version"
read -ra shared < <(pkg-config --cflags --libs elapse)
read -ra static < <(pkg-config --static --cflags --libs elapse)

# At -O0 nothing is inlined: the library has to have those functions too.
for level in -O0 -O2; do
    "$CC" -std=c11 "$level" "$here/take.c" "${shared[@]}" -o take-shared
    "$CC" -std=c11 "$level" -static "$here/take.c" "${static[@]}" -o take-static
    takes ./take-shared ./take-static
done
readelf -d take-shared | grep -q 'NEEDED.*libelapse' || fail "take-shared does not ask for the library"

[[ $(pkg-config --modversion elapse-queue) == "$version" ]] || fail "elapse-queue has another version"
read -ra queue_shared < <(pkg-config --cflags --libs elapse-queue)
read -ra queue_static < <(pkg-config --static --cflags --libs elapse-queue)
"$CC" -std=c11 -O0 "$here/take_queue.c" "${queue_shared[@]}" -o take-queue-shared
"$CC" -std=c11 -O2 -static "$here/take_queue.c" "${queue_static[@]}" -o take-queue-static
takes ./take-queue-shared ./take-queue-static
readelf -d take-queue-shared | grep -q 'NEEDED.*libelapse-queue' || fail "take-queue-shared does not ask for the library"
[[ " ${queue_static[*]} " == *" -lxxhash "* ]] || fail "--static does not name -lxxhash: ${queue_static[*]}"
[[ " ${queue_shared[*]} " != *" -lxxhash "* ]] || fail "-lxxhash is asked for: ${queue_shared[*]}"

# A program that links with the shared library need not name the libraries that that one needs.
[[ " ${static[*]} " == *" -pthread "* ]] || fail "--static does not name -pthread: ${static[*]}"
[[ " ${shared[*]} " != *" -pthread "* ]] || fail "-pthread is asked for: ${shared[*]}"

needs_cxx
"$CXX" -std=c++17 "$here/take_cxx.cpp" "${shared[@]}" -o take-cxx-shared
"$CXX" -std=c++17 -static "$here/take_cxx.cpp" "${static[@]}" -o take-cxx-static
"$CXX" -std=c++17 "$here/take_queue_cxx.cpp" "${queue_shared[@]}" -o take-queue-cxx-shared
"$CXX" -std=c++17 -static "$here/take_queue_cxx.cpp" "${queue_static[@]}" -o take-queue-cxx-static
takes ./take-cxx-shared ./take-cxx-static ./take-queue-cxx-shared ./take-queue-cxx-static
