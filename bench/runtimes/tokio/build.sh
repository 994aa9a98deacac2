#!/usr/bin/env bash
# build.sh OUTPUT_DIRECTORY: builds the contenders `tokio` and `tokio-task` there, offline, from
# the crates that Debian packages. Status 4, with a line that says why, if something is missing.
set -euo pipefail

readonly registry=/usr/share/cargo/registry
readonly packages="cargo rustc librust-tokio-dev librust-futures-util-dev"

missing()
{
    echo "tokio: no $1 (Debian packages: $packages)" >&2
    exit 4
}

if (($# != 1)); then
    echo "usage: build.sh OUTPUT_DIRECTORY" >&2
    exit 2
fi
for program in cargo rustc; do
    command -v "$program" >/dev/null || missing "$program"
done
for crate in tokio-1 futures-util-0.3 libc-0.2; do
    compgen -G "$registry/$crate.*" >/dev/null || missing "$registry/$crate.*"
done

mkdir -p "$1"
output=$(cd "$1" && pwd)
# Cargo writes a lock file beside the manifest and reads settings from its home: a copy keeps the
# sources clean, a home of its own keeps other settings out.
scratch=$output/tokio-cargo
mkdir -p "$scratch/home"
cd "$(dirname "${BASH_SOURCE[0]}")"
rm -rf "$scratch/src" "$scratch/Cargo.lock"
cp -r Cargo.toml src "$scratch"
cd "$scratch"
CARGO_HOME=$scratch/home cargo build --release --offline --quiet --target-dir target \
    --config 'source.crates-io.replace-with="debian"' \
    --config "source.debian.directory=\"$registry\"" >&2
for contender in tokio tokio-task; do
    cp "target/release/$contender" "$output/$contender"
done
