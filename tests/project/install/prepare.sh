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
for file in bin/elapse "$lib/libelapse.a" "$lib/libelapse.so" share/man/man1/elapse.1 \
    share/man/man3/elapse_wheel.3 share/man/man3/elapse_wheel_pop.3 share/man/man7/elapse.7 \
    share/doc/elapse/LICENSE "$lib/pkgconfig/elapse.pc" "$lib/cmake/elapse/elapseConfig.cmake"; do
    [[ -e $PREFIX/$file ]] || fail "not installed: $file"
done
diff -r "$ELAPSE_SOURCE/include/elapse" "$PREFIX/include/elapse" || fail "these headers differ"
said=$("$PREFIX/bin/elapse" --version)
[[ $said == "elapse $version" ]] || fail "the installed program says $said"

# In 0.x the name by which programs ask for the library is that of the minor version.
name=$(readelf -d "$PREFIX/$lib/libelapse.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
abi=${version%.*}
[[ $version == 0.* ]] || abi=${version%%.*}
[[ $name == "libelapse.so.$abi" ]] || fail "the SONAME is $name"
