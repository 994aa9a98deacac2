#!/usr/bin/env bash
# package.sh [--check]: builds the Debian packages in a copy of the tree, examines them by lintian,
# and puts them into build/package. With --check it also tries them, by check_package.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

check=
case $# in
0) ;;
1)
    check=$1
    [[ $check == --check ]] || {
        echo "./dev package: unknown option: $check" >&2
        exit 2
    }
    ;;
*)
    echo "usage: ./dev package [--check]" >&2
    exit 2
    ;;
esac

for program in dpkg-buildpackage dh; do
    if ! command -v "$program" >/dev/null; then
        echo "skipped: $program is not there; Debian's packages dpkg-dev and debhelper bring it"
        exit 77
    fi
done

version=$(sed -n 's/.*ELAPSE_VERSION_TEXT *"\(.*\)"/\1/p' include/elapse/version.h)
if ! python3 -B tests/project/lint/versions.py >&2; then
    echo "Debian's files and others must name the version of include/elapse/version.h, $version" >&2
    exit 1
fi

# Copies the files that git tracks or would add; where the tree is not a repository by itself, all
# files except build.
files()
{
    if [[ $(git rev-parse --show-toplevel 2>/dev/null) == "$(pwd -P)" ]]; then
        git ls-files -z --cached --others --exclude-standard
    else
        find . \( -path ./build -o -name .git \) -prune -o -type f -printf '%P\0'
    fi
}

out=$PWD/build/package
log=$out/build.log
rm -rf "$out"
mkdir -p "$out/elapse-$version"
files | tar --create --null --files-from - --ignore-failed-read | tar -C "$out/elapse-$version" --extract

# -d: ./dev has looked for the commands and headers needed, which need not come from Debian.
echo "Building: Debian packages of version $version" >&2
if ! (cd "$out/elapse-$version" && dpkg-buildpackage -d -us -uc -b) >"$log" 2>&1 </dev/null; then
    tail -n 40 "$log" >&2
    echo "Build failed: Debian packages (the whole output is in $log)" >&2
    exit 1
fi
rm -rf "$out/elapse-$version"

if command -v lintian >/dev/null; then
    user=()
    ((EUID != 0)) || user=(--allow-root)
    lintian "${user[@]}" --fail-on error,warning --tag-display-limit 0 "$out"/*.changes
else
    echo "lintian is not installed: the packages were not examined" >&2
fi

printf 'Built: %s\n' build/package/*.deb
[[ -z $check ]] || scripts/check_package.sh "$out"
