#!/usr/bin/env bash
# run_tests.sh PROGRAM short|programs|cluster|[four] TEST...: makes the package, unpacks it beside node-redis, and runs
# these tests against servers of PROGRAM, with the newest node-redis or, by `four`, with version 4. `short` are those of
# the calls and of workers, `programs` those that start many processes, such as the blocks of README.md, and `cluster`
# the one that ../in_cluster.py starts a cluster for; all three with the newest alone. Exits with 77 if the modules of npm cannot be had.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here modules=$here/../../build/clients/javascript
ELAPSE_PROGRAM=$(realpath "$1")
export ELAPSE_PROGRAM
shift
"$here/modules.sh"
scratch=$(mktemp -d -p "$modules")
trap 'rm -rf "$scratch"' EXIT
"$here/build.sh" "$scratch" >/dev/null

# run VERSION TEST...: runs tests with the package as a program has it, in node_modules.
run()
{
    local folder=$scratch/$1 module
    shift
    mkdir -p "$folder/node_modules/elapse-client"
    tar -xzf "$scratch"/elapse-client-*.tgz -C "$folder/node_modules/elapse-client" --strip-components 1
    for module in "$modules/${folder##*/}/node_modules"/*; do
        ln -s "$(realpath "$module")" "$folder/node_modules/"
    done
    cp -r "$here/test" "$here/README.md" "$here/../../examples/worker.js" "$here/../../docs/guide/clients.md" "$folder/"
    (cd "$folder" && node --test --test-reporter=spec --preserve-symlinks "${@/#/test/}")
}

case $1 in
    short)
        run newest client.test.mjs gather.test.mjs misuse.test.mjs worker.test.mjs
        ;;
    programs)
        run newest process.test.mjs proof.test.mjs readme.test.mjs tracing.test.mjs
        ;;
    cluster)
        run newest cluster.test.mjs
        ;;
    four)
        shift
        run four "$@"
        ;;
    *)
        run newest "$@"
        ;;
esac
