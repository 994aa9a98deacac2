#!/usr/bin/env bash
# find_package refuses a version with another ABI, and one newer than the installed version.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
start_empty versions

IFS=. read -r major minor patch <<<"$version"
accepted="$major.$minor;$version"
refused="$((major + 1)).0;$major.$minor.$((patch + 1));$major.$((minor + 1))"
if ((major == 0 && minor > 0)); then
    refused+=";0.$((minor - 1))"
elif ((major > 0)); then
    refused+=";$((major - 1)).0"
fi
quietly cmake -S "$here/versions" -B . -DCMAKE_PREFIX_PATH="$PREFIX" \
    -DACCEPTED="$accepted" -DREFUSED="$refused"
