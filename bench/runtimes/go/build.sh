#!/usr/bin/env bash
# build.sh OUTPUT_DIRECTORY: builds the contender `go`, without the network.
# Exit status 4: what it needs is not installed.
set -euo pipefail

if [[ $# -ne 1 ]]; then
    echo "usage: build.sh OUTPUT_DIRECTORY" >&2
    exit 2
fi
if ! command -v go >/dev/null; then
    echo "go: no Go compiler (Debian: golang-go)" >&2
    exit 4
fi

mkdir -p "$1"
output=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
export GO111MODULE=on GOPROXY=off GOFLAGS=
go vet .
go build -buildvcs=false -o "$output/go" .
