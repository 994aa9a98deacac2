#!/usr/bin/env bash
# check_package.sh FOLDER: tries the Debian packages in FOLDER as their users would. Root
# installs them on this machine with dpkg, and removes them afterwards; other users
# unpack them into a folder, which does not test their installation by dpkg.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

top=$PWD
out=$(realpath "$1")
version=$(sed -n 's/.*ELAPSE_VERSION_TEXT *"\(.*\)"/\1/p' include/elapse/version.h)
take=$PWD/tests/project/install/take.c
take_queue=$PWD/tests/project/install/take_queue.c
packages=()
files=()
for file in "$out"/*.deb; do
    name=$(dpkg-deb --field "$file" Package)
    [[ $name != *-dbgsym ]] || continue
    packages+=("$name")
    files+=("$file")
done
scratch=$(mktemp -d)

# expect SAID EXPECTED WHAT
expect()
{
    if [[ $1 != "$2" ]]; then
        echo "FAILED: $3 says «$1», not «$2»" >&2
        exit 1
    fi
}

# logged WORDS: what follows these words in the log of the server.
logged()
{
    sed -n "s/.* listening: $1//p" "$scratch/server.log"
}

# asked PORT TEXT: sends the text to this port here, and prints the first line of the answer.
asked()
{
    local line
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf '%b' "$2" >&3
    IFS= read -r -t 60 line <&3
    exec 3>&-
    echo "${line%$'\r'}"
}

# Starts the server with the options of its package, but other addresses and another directory; as
# its own user where that is there. The same program puts a job and has it done.
try_server()
{
    local program=$root/usr/bin/elapse data=$scratch/data
    local log=$scratch/server.log address pid worker become=()
    grep -vE '^(data|listen) = ' "$root/etc/elapse/elapse.conf" >"$scratch/elapse.conf"
    install -d -m 700 "$data"
    if ((EUID == 0)); then
        chmod 755 "$scratch"
        chown elapse:elapse "$data"
        become=(setpriv --reuid elapse --regid elapse --clear-groups)
    fi
    : >"$log"
    "${become[@]}" "$program" serve --config "$scratch/elapse.conf" --data "$data" --segment-bits 18 \
        --listen 127.0.0.1:0 --http 127.0.0.1:0 2>"$log" &
    pid=$!
    for ((i = 0; i < 1000; i++)); do
        ! grep -q ' ready: ' "$log" || break
        sleep 0.05
    done
    address=127.0.0.1:$(logged 127.0.0.1:)
    expect "$(asked "${address#*:}" 'put 1 0 60 1\r\na\r\n')" 'INSERTED 1' 'the server'
    expect "$(asked "$(logged http:127.0.0.1:)" 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')" \
        'HTTP/1.1 200 OK' 'the server, by HTTP,'
    "$program" put tea 'water boils' --server "$address" >/dev/null
    "$program" work tea --server "$address" --exec tee "$scratch/done" >/dev/null 2>"$scratch/worker.log" &
    worker=$!
    for ((i = 0; i < 1000; i++)); do
        [[ ! -s $scratch/done ]] || break
        sleep 0.05
    done
    kill "$worker"
    wait "$worker" || true
    expect "$(cat "$scratch/done")" 'water boils' 'the worker'
    kill "$pid"
    wait "$pid" || {
        cat "$log" >&2
        exit 1
    }
}

# Looks for faults in the units of systemd, which must also keep the server in.
try_units()
{
    local unit=$root/lib/systemd/system/elapse-server.service
    if ! command -v systemd-analyze >/dev/null; then
        echo "systemd-analyze is not there: the units were not examined" >&2
        return
    fi
    install -d "$scratch/units"
    cp "$unit" "$root/usr/share/doc/elapse-server/examples/elapse-server.socket" "$scratch/units"
    sed -i "s|^ExecStart=|ExecStart=$root|" "$scratch/units/elapse-server.service"
    SYSTEMD_UNIT_PATH=$scratch/units: systemd-analyze verify --man=no \
        "$scratch/units/elapse-server.service" "$scratch/units/elapse-server.socket"
    # From 0, shut in, to 100, open to everything.
    systemd-analyze security --offline=true --threshold=20 "$scratch/units/elapse-server.service" \
        >"$scratch/security.log" || {
        cat "$scratch/security.log" >&2
        exit 1
    }
}

if ((EUID == 0)); then
    for name in "${packages[@]}"; do
        if dpkg-query --show "$name" >/dev/null 2>&1; then
            echo "FAILED: $name is on this machine already; it is not overwritten" >&2
            exit 1
        fi
    done
    # Removes the packages at the end in any case, after an interrupt too.
    trap 'dpkg --purge "${packages[@]}" >"$scratch/purge.log" 2>&1 || cat "$scratch/purge.log" >&2
        rm -rf "$scratch"' EXIT
    dpkg --install "${files[@]}" >"$scratch/install.log" 2>&1 || {
        cat "$scratch/install.log" >&2
        exit 1
    }
    root=
else
    trap 'rm -rf "$scratch"' EXIT
    root=$scratch/root
    for file in "${files[@]}"; do
        dpkg-deb --extract "$file" "$root"
    done
    echo "Not root: the packages are unpacked, not installed." >&2
    LD_LIBRARY_PATH=$(dirname "$(find "$root/usr/lib" -name 'libelapse.so.*' -print -quit)")
    export LD_LIBRARY_PATH PKG_CONFIG_PATH=$LD_LIBRARY_PATH/pkgconfig
fi

expect "$("$root/usr/bin/elapse" --version)" "elapse $version" 'the program'
expect "$(compgen -G "$root/usr/*bin/elapse*")" "$root/usr/bin/elapse" 'the list of programs'
[[ -s $root/usr/share/elapse/inbox.sql ]] || {
    echo "FAILED: there is no inbox.sql" >&2
    exit 1
}
status=0
"$root/usr/bin/elapse" cluster status --cluster host=/nonexistent 2>"$scratch/status.log" || status=$?
expect "$status" 6 'elapse cluster without a database'
try_server
try_units

cd "$scratch"
read -ra flags < <(pkg-config --cflags --libs elapse)
cc -std=c11 "$take" "${flags[@]}" -o take
expect "$(./take)" "$version" 'a program linked by pkg-config'
read -ra flags < <(pkg-config --static --cflags --libs elapse)
cc -std=c11 -static "$take" "${flags[@]}" -o take-static
expect "$(./take-static)" "$version" 'a program linked statically'
read -ra flags < <(pkg-config --cflags --libs elapse-queue)
cc -std=c11 "$take_queue" "${flags[@]}" -o take-queue
expect "$(./take-queue)" "$version" 'a program with the durable queue, linked by pkg-config'
read -ra flags < <(pkg-config --static --cflags --libs elapse-queue)
cc -std=c11 -static "$take_queue" "${flags[@]}" -o take-queue-static
expect "$(./take-queue-static)" "$version" 'a program with the durable queue, linked statically'

cat >CMakeLists.txt <<TEXT
cmake_minimum_required(VERSION 3.25)
project(taker LANGUAGES C)
find_package(elapse ${version%.*} REQUIRED COMPONENTS queue)
add_executable(take-cmake $take)
target_link_libraries(take-cmake PRIVATE elapse::elapse)
add_executable(take-queue $take_queue)
target_link_libraries(take-queue PRIVATE elapse::queue)
TEXT
if ! { cmake -S . -B cmake -DCMAKE_PREFIX_PATH="$root/usr" && cmake --build cmake; } >cmake.log 2>&1; then
    cat cmake.log >&2
    exit 1
fi
expect "$(cmake/take-cmake)" "$version" 'a program linked by CMake'
expect "$(cmake/take-queue)" "$version" 'a program with the durable queue, linked by CMake'

if ((EUID == 0)); then
    dpkg --listfiles "${packages[@]}" | grep -i elapse >files.txt
    # The jobs outlive the package; an empty directory does not.
    kept=
    if [[ ! -e /var/lib/elapse ]]; then
        kept=yes
        install -D /dev/null /var/lib/elapse/job
    fi
    dpkg --purge "${packages[@]}" >purge.log 2>&1
    if [[ -n $kept ]]; then
        if [[ ! -e /var/lib/elapse/job ]] || ! grep -q 'stay in /var/lib/elapse' purge.log; then
            cat purge.log >&2
            echo "FAILED: purging the server removes its jobs, or does not say where they stay" >&2
            exit 1
        fi
        rm -r /var/lib/elapse
    fi
    trap 'rm -rf "$scratch"' EXIT
    while IFS= read -r file; do
        if [[ -e $file || -L $file ]]; then
            echo "FAILED: left behind: $file" >&2
            exit 1
        fi
    done <files.txt
fi
echo "Tried: ${packages[*]}"

# From a bare Debian with these packages to a job done, with the package of each language for clients.
for language in python javascript go; do
    "$top/clients/two_minutes/run.sh" "$language" || (($? == 77))
done

# The packages of 0.2.0, with jobs in them, become these; then they are removed, installed again and purged.
"$top/tests/project/upgrade/run.sh" || (($? == 77))
