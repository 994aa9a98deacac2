#!/usr/bin/env bash
# build.sh [DIRECTORY]: makes the package, elapse-client-VERSION.tgz, in DIRECTORY, build/clients/javascript
# unless it is given, and prints its path. Exits with 77 if the modules of npm cannot be had.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@" # as if called by sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here modules=$here/../../build/clients/javascript
"$here/modules.sh"
output=$(realpath -m "${1-$modules}")
scratch=$(mktemp -d -p "$modules")
trap 'rm -rf "$scratch"' EXIT
cp -r "$here"/{src,tsconfig.json,package.json,README.md} "$here/../../LICENSE" "$scratch"
ln -s ../newest/node_modules "$scratch/node_modules"
mkdir -p "$output"
cd "$scratch"
node_modules/.bin/tsc
package=$(npm pack --silent --ignore-scripts --pack-destination "$output")
echo "$output/$package"
