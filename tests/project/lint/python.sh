#!/usr/bin/env bash
# python.sh [DIRECTORY]: the Python of clients/python, or of another directory like it, is laid out by black, and has no
# finding of pylint, as its pyproject.toml says. It exits with 77 if one of them, that version of black, or a module that
# the package uses, is not there.
set -euo pipefail
cd "${1-clients/python}"

# pylint looks into the modules that the package uses.
for module in black pylint redis django; do
    /usr/bin/python3 -c "import $module" 2>/dev/null || {
        echo "skipped: Debian's Python has no module $module"
        exit 77
    }
done
wanted=$(sed -n 's/^required-version = "\(.*\)"$/\1/p' pyproject.toml)
found=$(/usr/bin/python3 -c 'import black; print(black.__version__)')
[[ -n $wanted && ${found%%.*} == "$wanted" ]] || {
    echo "skipped: black has the version $found, and the layout is that of version $wanted"
    exit 77
}

status=0
/usr/bin/python3 -m black --quiet --check --diff src tests || status=1
/usr/bin/python3 -m pylint --score no src/* tests/*.py || status=1
exit "$status"
