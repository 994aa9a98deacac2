#!/usr/bin/env bash
# Branch coverage of the structures by the tests of the structures. Builds preset
# coverage, runs the tests, prints a table, and fails unless every branch went both ways.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

profiles=build/coverage/profiles
merged=build/coverage/merged.profdata
exports=build/coverage/exports

scripts/build.sh coverage
rm -rf "$profiles"
ctest --preset coverage --progress --no-label-summary

llvm-profdata merge -o "$merged" "$profiles"/*.profraw

# Each program is exported by itself. A file that is compiled for several geometries has several
# sets of branches, and llvm-cov would read only the first of them.
rm -rf "$exports"
mkdir "$exports"
find build/coverage/tests -path '*/CMakeFiles' -prune -o -type f -executable \
    -path '*/tests/structures/*' -print |
    while IFS= read -r program; do
        llvm-cov export -instr-profile "$merged" "$program" >"$exports/${program##*/}.json"
    done

scripts/branches.py src/structures "$exports"/*.json
