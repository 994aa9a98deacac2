#!/usr/bin/env bash
# javascript.sh [DIRECTORY]: the JavaScript of clients/javascript, or of another directory like it, is laid out by prettier,
# and has no finding of eslint, as its .prettierrc.json and eslint.config.mjs say. It exits with 77 if the modules of npm
# cannot be had. It examines a copy, because eslint finds modules beside the files alone.
set -euo pipefail
directory=${1-clients/javascript}
clients/javascript/modules.sh lint
scratch=$(mktemp -d -p build/clients/javascript)
trap 'rm -rf "$scratch"' EXIT
cp -r "$directory"/{src,test,tsconfig.json,package.json,eslint.config.mjs,.prettierrc.json} "$scratch"
ln -s ../lint/node_modules "$scratch/node_modules"
cd "$scratch"
# Both programs colour what they print if the variable CI is set, and a reader that looks for a text would not find it.
export NO_COLOR=1

status=0
# The folder build is one of those that .gitignore names, and that prettier leaves out unless it is told otherwise.
node_modules/.bin/prettier --ignore-path /dev/null --check src test eslint.config.mjs tsconfig.json || status=1
node_modules/.bin/eslint src test || status=1
exit "$status"
