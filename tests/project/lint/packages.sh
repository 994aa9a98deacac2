#!/usr/bin/env bash
# Each package that ./dev names has a probe in scripts/packages.sh. Without its probe, every command
# that needs the package ends before it has begun.
set -euo pipefail
# shellcheck source=scripts/packages.sh
source scripts/packages.sh

# The words of the lists `for_COMMAND=(...)` and the arguments of need_packages and want_packages.
names=$(awk '/^readonly for_[a-z_]+=\(/ {inside = 1}
             inside || /(need|want)_packages / {print}
             /\)$/ {inside = 0}' dev |
    sed -E 's/"[^"]*"//g; s/.*for_[a-z_]+=\(//; s/.*(need|want)_packages//; s/\|\| .*//' |
    grep -oE '[a-z][a-z0-9.+-]+' | sort -u)
(($(wc -w <<<"$names") >= 60)) || { echo "dev: the lists of packages were not found" >&2; exit 1; }

status=0
for name in $names; do
    [[ $package_probes == *$'\n'"$name "* ]] || {
        echo "dev: the package $name has no probe in scripts/packages.sh" >&2
        status=1
    }
done
exit "$status"
