#!/usr/bin/env bash
# abi.sh: compares the ABI of the shared library with that of the last release, the greatest tag
# vX.Y.Z, by abidiff. docs/install.md has the rule that it checks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! git rev-parse --git-dir >/dev/null 2>&1; then
    echo "./dev abi: needs git, and a repository with the last release" >&2
    exit 1
fi
tag=$(git tag --list --sort=-version:refname 'v[0-9]*' | grep -xE 'v[0-9]+\.[0-9]+\.[0-9]+' | head -n 1 || true)
if [[ -z $tag ]]; then
    echo "No release yet: there is no tag vX.Y.Z to compare the ABI with."
    exit 0
fi

# library TREE OUT: builds the shared library of TREE into OUT, with debug information for abidiff.
library()
{
    cmake -S "$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DELAPSE_SHARED=ON \
        -DELAPSE_TOOL=OFF -DELAPSE_TESTS=OFF -DELAPSE_INSTALL=OFF &&
        cmake --build "$2" --target elapse-shared
}

# soname LIBRARY
soname()
{
    readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'
}

out=$PWD/build/abi
log=$out/build.log
rm -rf "$out"
mkdir -p "$out/tree"
git archive "$tag" | tar -C "$out/tree" --extract
if ! { library "$out/tree" "$out/released" && library . "$out/now"; } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "Build failed: the libraries to compare (the whole output is in $log)" >&2
    exit 1
fi

released=$out/released/libelapse.so
now=$out/now/libelapse.so
options=(--headers-dir1 "$out/tree/include" --headers-dir2 include --drop-private-types)
minor_of() { sed -n 's/.*ELAPSE_VERSION_TEXT *"\(.*\)\..*"/\1/p' "$1/include/elapse/version.h"; }

if [[ $(soname "$released") != "$(soname "$now")" ]]; then
    abidiff "${options[@]}" "$released" "$now" || true
    echo "Against $tag: $(soname "$now") is not $(soname "$released"), so anything may change."
    exit 0
fi
# A minor version may add functions, a patch version may not.
[[ $(minor_of "$out/tree") == "$(minor_of .)" ]] || options+=(--no-added-syms)
status=0
abidiff "${options[@]}" "$released" "$now" || status=$?
if ((status != 0)); then
    echo "FAILED: against $tag the ABI has changed, and $(soname "$now") has not." >&2
    exit 1
fi
echo "OK: the ABI of $tag."
