#!/usr/bin/env bash
# javascript.sh finds a line that prettier would lay out in another way, and a promise that nobody awaits. The package itself
# is examined by javascript.sh: here one file stands for it.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/src" "$scratch/test"
cp clients/javascript/{tsconfig.json,package.json,eslint.config.mjs,.prettierrc.json} "$scratch"
echo 'export const value = 1;' | tee "$scratch/src/planted.ts" >"$scratch/test/planted.mjs"

# examine WANTED TEXT: runs the check, which has to end with this status and say this text.
examine()
{
    local status=0
    tests/project/lint/javascript.sh "$scratch" >"$scratch/said" 2>&1 || status=$?
    ((status != 77)) || {
        tail -1 "$scratch/said"
        exit 77
    }
    [[ $status == "$1" && $(<"$scratch/said") == *"$2"* ]] || {
        echo "wanted the status $1 and '$2', got $status and:"
        cat "$scratch/said"
        exit 1
    }
}

examine 0 ''
echo "export const value = 'one'" >"$scratch/src/planted.ts"
examine 1 '[warn] src/planted.ts'
printf 'export function forget(): void {\n  Promise.resolve(1);\n}\n' >"$scratch/src/planted.ts"
examine 1 'no-floating-promises'
echo 'const value = 1;' >"$scratch/src/planted.ts"
echo 'planted();' >"$scratch/test/planted.mjs"
examine 1 'no-undef'
