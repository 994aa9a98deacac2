#!/usr/bin/env bash
# The installed tree may be moved: nothing in it knows where it was made.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
needs_cxx
start_empty moved

quietly cmake --install "$ELAPSE_BUILD" --prefix "$PWD/first"
mkdir -p there/and
mv first there/and/back
home=$PWD/there/and/back

if grep -rIlF -e "$SCRATCH" -e "$ELAPSE_SOURCE" "$home"; then
    fail "these files name the place that they were built or installed in"
fi
"$home/bin/elapse" --version >/dev/null || fail "the moved program"

quietly cmake -S "$here/find_package" -B cmake -DCMAKE_PREFIX_PATH="$home"
quietly cmake --build cmake --target take-shared take-static take-queue-shared take-queue-static
takes cmake/take-shared cmake/take-static cmake/take-queue-shared cmake/take-queue-static

if command -v pkg-config >/dev/null; then
    read -ra flags < <(PKG_CONFIG_PATH=$home/$lib/pkgconfig pkg-config --cflags --libs elapse)
    "$CC" -std=c11 "$here/take.c" "${flags[@]}" -o take
    read -ra flags < <(PKG_CONFIG_PATH=$home/$lib/pkgconfig pkg-config --cflags --libs elapse-queue)
    "$CC" -std=c11 "$here/take_queue.c" "${flags[@]}" -o take-queue
    LD_LIBRARY_PATH=$home/$lib takes ./take ./take-queue
fi
