#!/usr/bin/env bash
# A plug-in that contains Elapse offers its own function and none of Elapse's: with the installed
# static library, and with the two files; in C, and in C++, where the inline functions of the
# headers become functions of the plug-in too.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
start_empty plugin

library=$PREFIX/$lib/libelapse.a
# Not optimised, so that no inline function disappears.
options=(-O0 -fPIC -pthread)
hidden=(-DELAPSE_HIDDEN -fvisibility=hidden)
excluded=("-Wl,--exclude-libs,libelapse.a")

# The functions of Elapse that a plug-in offers.
leaks()
{
    nm -D --defined-only "$1" | grep -c ' elapse_' || true
}

# keeps PLUGIN: it offers no function of Elapse, and it works.
keeps()
{
    local said
    (($(leaks "$1") == 0)) || fail "$1 offers functions of Elapse: $(nm -D --defined-only "$1")"
    said=$(./host "$1") || fail "$1: $said"
    [[ $said == "$version" ]] || fail "$1 says $said, not $version"
}

"$CC" -D_GNU_SOURCE -std=gnu11 "$here/plugin_host.c" -o host -ldl

# Without a remedy the functions leak: the checks below can fail.
"$CC" "${options[@]}" -shared -I "$PREFIX/include" "$here/plugin.c" "$library" -o ./open.so
(($(leaks ./open.so) > 20)) || fail "the plug-in without a remedy offers $(leaks ./open.so) functions of Elapse"

"$CC" "${options[@]}" -shared -I "$PREFIX/include" "$here/plugin.c" "$library" "${excluded[@]}" -o ./static.so
keeps ./static.so

"$ELAPSE_SOURCE/scripts/amalgamate.py" two >two.txt
mkdir -p two/elapse
for header in wheel scheduler version; do
    echo '#include "../elapse.h"' >"two/elapse/$header.h"
done
"$CC" "${options[@]}" -shared -std=c11 "${hidden[@]}" -I two "$here/plugin.c" two/elapse.c -o ./two-files.so
keeps ./two-files.so

needs_cxx
"$CXX" "${options[@]}" -shared -x c++ -I "$PREFIX/include" "$here/plugin.c" -x none "$library" "${excluded[@]}" \
    -o ./static-cxx.so
keeps ./static-cxx.so
"$CC" "${options[@]}" -std=c11 "${hidden[@]}" -I two -c two/elapse.c -o two/elapse.o
"$CXX" "${options[@]}" -shared "${hidden[@]}" -x c++ -I two "$here/plugin.c" -x none two/elapse.o -o ./two-files-cxx.so
keeps ./two-files-cxx.so
