#!/usr/bin/env bash
# run_tests.sh PROGRAM DIRECTORY short|long|cluster: the layout, go vet and the tests of this package against the
# program elapse. What Go builds is kept in DIRECTORY. The long form puts, does and chains 10,000 jobs,
# and builds the page's adapter over OpenTelemetry; `cluster` runs the test that ../in_cluster.py starts a cluster for.
set -euo pipefail
ELAPSE_PROGRAM=$(realpath "$1")
export ELAPSE_PROGRAM
directory=$2
form=$3
cd "$(dirname "${BASH_SOURCE[0]}")"

skip()
{
    echo "skipped: $1 is not installed"
    exit 77
}

command -v go >/dev/null || skip golang-go
[[ -e /usr/share/gocode/src/github.com/gomodule/redigo/go.mod ]] || skip golang-github-gomodule-redigo-dev

mkdir -p "$directory"
export GOCACHE=$directory/cache GOPATH=$directory/path GOPROXY=off GOFLAGS='' GOTOOLCHAIN=local
if [[ $form == long ]]; then
    ELAPSE_LONG=1 go test -count=1 -timeout 0 -v -run 'KilledServer|KilledWorkers|OpenTelemetry' ./...
    exit
fi
if [[ $form == cluster ]]; then
    go test -count=1 -timeout 0 -v -run KilledOwner .
    exit
fi
unformatted=$(gofmt -l .)
[[ -z $unformatted ]] || {
    echo "gofmt would change: $unformatted"
    exit 1
}
go vet ./...
go test -count=1 -timeout 0 ./...
