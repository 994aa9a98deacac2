#!/usr/bin/env bash
# fetch.sh: in the bare Debian, gets what the packages of both versions need, and installs systemd.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod +x /usr/sbin/policy-rc.d
if ! apt-get update >/tmp/apt.log 2>&1 || grep -q '^W: Failed to fetch' /tmp/apt.log ||
    ! apt-get install --yes --no-install-recommends systemd procps >/tmp/apt.log 2>&1; then
    echo 'skipped: packages of Debian cannot be had'
    exit 77
fi
for version in old new; do
    apt-get install --yes --no-install-recommends --download-only /said/"$version"/*.deb >/tmp/apt.log 2>&1 || {
        cat /tmp/apt.log
        exit 1
    }
done
rm /usr/sbin/policy-rc.d
