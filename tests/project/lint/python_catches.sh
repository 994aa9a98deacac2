#!/usr/bin/env bash
# python.sh finds a line that black would lay out in another way, and a name that is used nowhere. The package itself is
# examined by python.sh: here one file stands for it.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/src/planted" "$scratch/tests"
cp clients/python/pyproject.toml "$scratch"
echo "VALUE = 1" | tee "$scratch/src/planted/__init__.py" >"$scratch/tests/test_planted.py"

# examine WANTED TEXT: runs the check, which has to end with this status and, unless it is empty, say this text.
examine()
{
    local status=0
    tests/project/lint/python.sh "$scratch" >"$scratch/said" 2>&1 || status=$?
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
echo "VALUE = 'one'" >"$scratch/src/planted/fault.py"
examine 1 '+VALUE = "one"'
printf 'import os\n\nVALUE = 1\n' >"$scratch/src/planted/fault.py"
examine 1 'unused-import'
