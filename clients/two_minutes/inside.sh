#!/usr/bin/env bash
# inside.sh python|javascript|go: the part of run.sh that runs in the bare Debian. What was made outside is in /given.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
unset ELAPSE_PROGRAM

# The language and its client for Redis, as Debian has them.
case $1 in
    python) packages=(python3-redis python3-venv) ;;
    javascript) packages=(nodejs npm) ;;
    go) packages=(golang-go golang-github-gomodule-redigo-dev) ;;
esac

# get NAME...: an archive that cannot be reached is nothing that these packages could mend.
get()
{
    if ! apt-get install --yes --no-install-recommends "$@" >/tmp/apt.log 2>&1; then
        if grep -qE 'Failed to fetch|Unable to fetch|Could not resolve' /tmp/apt.log; then
            echo "skipped: packages of Debian cannot be had: $*"
            exit 77
        fi
        cat /tmp/apt.log >&2
        exit 1
    fi
}

printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod +x /usr/sbin/policy-rc.d
if ! apt-get update >/tmp/update.log 2>&1 || grep -q '^W: Failed to fetch' /tmp/update.log; then
    echo 'skipped: the archive of Debian cannot be reached'
    exit 77
fi
get systemd-standalone-sysusers /given/*.deb
get "${packages[@]}"

# Now the two minutes begin: the server, the package, a program.
begun_ms=$(date +%s%3N)
install --directory --owner elapse --group elapse /var/lib/elapse # systemd does it otherwise
: >/tmp/server.log
setpriv --reuid elapse --regid elapse --clear-groups elapse serve --data /var/lib/elapse --listen 127.0.0.1:0 2>/tmp/server.log &
server=$!
for ((i = 0; i < 2000; i++)); do
    ! grep -q ' ready: ' /tmp/server.log || break
    sleep 0.05
done
address=$(sed -n 's/.* listening: \(127\.0\.0\.1:.*\)/\1/p' /tmp/server.log)
[[ -n $address ]] || {
    cat /tmp/server.log >&2
    exit 1
}

mkdir /root/shop
cd /root/shop
case $1 in
    python)
        python3 -m venv --system-site-packages v
        v/bin/pip install --quiet --no-index /given/elapse-*.whl
        cp /given/mine.py .
        said=$(v/bin/python mine.py "$address")
        ;;
    javascript)
        npm install --silent --offline --no-audit --no-fund /given/*.tgz
        cp /given/mine.mjs .
        said=$(node mine.mjs "$address")
        ;;
    go)
        go mod init shop 2>/dev/null
        go mod edit -require=elapse@v0.3.0 -replace=elapse=/given/go
        go mod edit -require=github.com/gomodule/redigo@v1.8.3 \
            -replace=github.com/gomodule/redigo=/usr/share/gocode/src/github.com/gomodule/redigo
        cp /given/mine.go .
        said=$(GOFLAGS=-mod=mod GOPROXY=off go run . "$address")
        ;;
esac
took_ms=$(($(date +%s%3N) - begun_ms))
[[ $said == 'a mail to ann' ]] || {
    echo "FAILED: the program says «$said»" >&2
    exit 1
}
kill "$server"
wait "$server" || {
    cat /tmp/server.log >&2
    exit 1
}
echo "OK: from the packages to a job done by $1 in $((took_ms / 1000)).$((took_ms % 1000 / 100)) s"
