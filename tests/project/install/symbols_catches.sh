#!/usr/bin/env bash
# symbols.py notices a function that the library lacks and one that the headers lack, be it
# a private one.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
start_empty symbols_catches

# expect FAULT: what the check says of the headers here and of this library.
expect()
{
    local said
    said=$(python3 -B "$here/symbols.py" "$CC" include "$1") && fail "not noticed: $2"
    grep -qx "$2" <<<"$said" || fail "instead of «$2»: $said"
}

library=$PREFIX/$lib/libelapse.so
cp -r "$PREFIX/include" .
printf 'int elapse_more(void);\nextern const int elapse_much;\n' >>include/elapse/version.h
expect "$library" 'declared, but not exported: elapse_more'
expect "$library" 'declared, but not exported: elapse_much'

cp "$PREFIX/include/elapse/version.h" include/elapse
sed -i 's/elapse_version(void)/elapse_other(void)/' include/elapse/version.h
expect "$library" 'exported, but not declared: elapse_version'

# A library without the version script and without hidden visibility.
echo 'void elapse__private(void) {}' >loose.c
"$CC" -shared -fPIC loose.c -Wl,--whole-archive "$PREFIX/$lib/libelapse.a" -Wl,--no-whole-archive \
    -Wl,-soname,"libelapse.so.$abi" -o loose.so
expect "$PWD/loose.so" 'exported, but not declared: elapse__private'
expect "$PWD/loose.so" "elapse_version is not under ELAPSE_$abi"
