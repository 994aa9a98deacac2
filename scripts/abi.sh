#!/usr/bin/env bash
# abi.sh [--record]: compares the ABI of both libraries, elapse and elapse-queue, with that of the
# last release, which is in the folder abi; --record writes that of the present version there.
#
# The ABI is read by abidw from the two files of each library with their public header: so what only
# the sources know, such as the fields of an opaque struct, is no part of it. abidiff compares, and
# docs/install.md has the rule. No machine but that of the recorded ABI can be compared with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/.*ELAPSE_VERSION_TEXT *"\(.*\)"/\1/p' include/elapse/version.h)
abi=${version%.*}
[[ $version == 0.* ]] || abi=${version%%.*}
out=$PWD/build/abi

fail()
{
    echo "./dev abi: $*" >&2
    exit 1
}

# library NAME STEM MAP FLAG...: builds the library NAME from STEM.c, and writes its ABI beside it.
library()
{
    local name=$1 stem=$2 map=$3
    shift 3
    sed "s/@elapse_map_name@/${map}_$abi/" "$OLDPWD/cmake/elapse.map.in" >"$map.map" &&
        "${CC:-cc}" -std=c11 -g -O0 -fPIC -shared "$stem.c" -pthread "$@" -L. \
            -Wl,-soname,"$name.so.$abi" -Wl,--version-script="$map.map" -o "$name.so" &&
        abidw --exported-interfaces-only --drop-private-types --header-file "$stem.h" \
            --header-file elapse.h --no-show-locs --no-comp-dir-path --no-corpus-path --no-elf-needed \
            --no-parameter-names --no-write-default-sizes --type-id-style hash \
            --out-file "$name.abi" "$name.so"
}

make_both()
{
    rm -rf "$out"
    mkdir -p "$out"
    scripts/amalgamate.py "$out" >"$out/build.log"
    if ! (cd "$out" && library libelapse elapse ELAPSE &&
        library libelapse-queue elapse_queue ELAPSE_QUEUE -lelapse -lxxhash) >>"$out/build.log" 2>&1; then
        tail -n 40 "$out/build.log" >&2
        fail "the libraries could not be built, or not be read (the whole output is in $out/build.log)"
    fi
}

# attribute NAME FILE: of the whole library, such as its soname.
attribute()
{
    sed -n "1s/.* $1='\([^']*\)'.*/\1/p" "$2"
}

record()
{
    local folder=abi/$version
    [[ ! -e $folder ]] ||
        fail "$folder is there already. If $version is not released yet, remove it first; else raise the version"
    make_both
    mkdir -p "$folder"
    cp "$out"/*.abi "$folder"
    echo "Recorded: $folder"
}

# compare VERSION NAME: whether the library is as it was in VERSION.
compare()
{
    local then=abi/$1/$2.abi now=$out/$2.abi options=(--harmless)
    if [[ $(attribute architecture "$then") != $(attribute architecture "$now") ]]; then
        echo "skipped: the recorded ABI is of another machine, $(attribute architecture "$then")"
        exit 77
    fi
    if [[ $(attribute soname "$then") != $(attribute soname "$now") ]]; then
        abidiff "${options[@]}" "$then" "$now" || true
        echo "Against $1: $(attribute soname "$now") is not $(attribute soname "$then"), so anything may change."
        return
    fi
    # A minor version may add functions, a patch version may not.
    [[ ${1%.*} == "${version%.*}" ]] || options+=(--no-added-syms)
    if ! abidiff "${options[@]}" "$then" "$now"; then
        echo "FAILED: against $1 the ABI of $2 has changed, and $(attribute soname "$now") has not." >&2
        return 1
    fi
    echo "OK: the ABI of $2 is that of $1."
}

case $# in
0) ;;
1)
    [[ $1 == --record ]] || fail "unknown option: $1"
    record
    exit
    ;;
*) fail 'usage: ./dev abi [--record]' ;;
esac

shopt -s nullglob
last=$(printf '%s\n' abi/*/ | cut -d / -f 2 | sort --version-sort | tail -n 1)
[[ -n $last ]] || fail "there is no recorded ABI in the folder abi; ./dev abi --record writes one"
make_both
status=0
for name in libelapse libelapse-queue; do
    compare "$last" "$name" || status=1
done
exit "$status"
