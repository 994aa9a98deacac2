#!/usr/bin/env bash
# modules.sh [lint]: puts the modules of npm that the package and its tests need into build/clients/javascript:
# in `newest` the newest node-redis, in `four` its version 4; or, by `lint`, in `lint` prettier and eslint. Exits with 77,
# and says why, if they cannot be had. It does nothing where they are already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly modules=build/clients/javascript
# install FOLDER MODULE...
install()
{
    local folder=$modules/$1
    shift
    [[ $(cat "$folder/installed" 2>/dev/null) != "$*" ]] || return 0
    rm -rf "$folder"
    mkdir -p "$folder"
    echo '{ "private": true }' >"$folder/package.json"
    if ! npm install --silent --no-audit --no-fund --no-package-lock --fetch-retries 1 --fetch-timeout 30000 \
        --prefix "$folder" "$@" </dev/null >"$folder/log" 2>&1; then
        echo "clients/javascript: the modules could not be installed: $*"
        exit 77
    fi
    echo "$*" >"$folder/installed"
}

for program in node npm; do
    if ! command -v "$program" >/dev/null; then
        echo "clients/javascript: $program is not installed"
        exit 77
    fi
done
# Tests that run at the same time wait for each other.
mkdir -p "$modules"
exec 9>"$modules/lock"
flock 9
if [[ ${1-} == lint ]]; then
    # Another version of prettier may lay the same code out in another way, so one version is named.
    # typescript-eslint needs the TypeScript that is written in JavaScript, and the types of what the package uses.
    install lint prettier@3.10.1 eslint@9 @eslint/js@9 typescript-eslint@8 typescript@5 redis @types/node @opentelemetry/api
    exit
fi
install newest redis typescript@7 @types/node @opentelemetry/api
install four redis@4
