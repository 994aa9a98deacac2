#!/usr/bin/env bash
# check_package.sh FOLDER: tries the Debian packages in FOLDER as their users would. Root
# installs them on this machine with dpkg, and removes them afterwards; other users
# unpack them into a folder, which does not test their installation by dpkg.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

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
    dpkg --purge "${packages[@]}" >purge.log 2>&1
    trap 'rm -rf "$scratch"' EXIT
    while IFS= read -r file; do
        if [[ -e $file || -L $file ]]; then
            echo "FAILED: left behind: $file" >&2
            exit 1
        fi
    done <files.txt
fi
echo "Tried: ${packages[*]}"
