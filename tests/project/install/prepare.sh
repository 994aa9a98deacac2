#!/usr/bin/env bash
# Builds the library and the program as users do, once, and installs them into the prefix.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

rm -rf "$PREFIX"
quietly cmake -S "$ELAPSE_SOURCE" -B "$ELAPSE_BUILD" -DCMAKE_BUILD_TYPE=Release \
    -DELAPSE_TESTS=OFF -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR="$lib"
quietly cmake --build "$ELAPSE_BUILD" --parallel 2
quietly cmake --install "$ELAPSE_BUILD"

# What there is to find, beside the headers.
for file in bin/elapse "$lib/libelapse.a" "$lib/libelapse.so" share/man/man1/elapse.1 share/man/man1/elapse-run.1 \
    share/man/man3/elapse_wheel.3 share/man/man3/elapse_wheel_pop.3 share/man/man7/elapse.7 \
    share/doc/elapse/LICENSE "$lib/pkgconfig/elapse.pc" "$lib/cmake/elapse/elapseConfig.cmake" \
    "$lib/libelapse-queue.a" "$lib/libelapse-queue.so" "$lib/pkgconfig/elapse-queue.pc" \
    share/man/man3/elapse_queue.3 share/man/man3/elapse_queue_put.3 share/man/man3/elapse_job.3 \
    share/bash-completion/completions/elapse share/zsh/site-functions/_elapse; do
    [[ -e $PREFIX/$file ]] || fail "not installed: $file"
done
diff -r "$ELAPSE_SOURCE/include/elapse" "$PREFIX/include/elapse" || fail "these headers differ"
said=$("$PREFIX/bin/elapse" --version)
[[ $said == "elapse $version" ]] || fail "the installed program says $said"

# The name by which programs ask for a library.
for library in libelapse libelapse-queue; do
    name=$(readelf -d "$PREFIX/$lib/$library.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    [[ $name == "$library.so.$abi" ]] || fail "the SONAME is $name"
done

# What each needs beside the C library and its threads: elapse nothing, elapse-queue elapse and xxHash.
needed()
{
    readelf -d "$PREFIX/$lib/$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
        grep -vE '^(ld-.*|libc\..*|libpthread\..*)$' | sort | tr '\n' ' '
}
[[ $(needed libelapse.so) == '' ]] || fail "libelapse.so needs $(needed libelapse.so)"
[[ $(needed libelapse-queue.so) == "libelapse.so.$abi libxxhash.so."[0-9]' ' ]] ||
    fail "libelapse-queue.so needs $(needed libelapse-queue.so)"
