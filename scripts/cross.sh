#!/usr/bin/env bash
# cross.sh [--skip-missing] [MACHINE...]: builds the library and its tests for other
# machines, by each compiler and C standard, and runs them, by qemu where this machine
# cannot. Compiled as C17, which is how all of them run, they also trap where behaviour
# is undefined, at unaligned accesses too. The build as C11 has to be free of warnings, and
# runs the tests of units, protocols and files alone: both standards give the same code, and
# the models take most of the time. One of the tests, store_carry, has the files of a queue written and opened in turns by the
# other machine and by this one. Prints a table of the outcomes at the end.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
# shellcheck source=scripts/packages.sh
source scripts/packages.sh

readonly machines=(i386 aarch64 s390x musl)
readonly standards=(11 17)
readonly carry_here=$PWD/build/cross-here/tests/engine/store/store-carry

compilers_of()
{
    case $1 in
    musl) echo gcc ;;
    *) echo gcc clang ;;
    esac
}

packages_of()
{
    case $1 in
    i386) echo gcc-i686-linux-gnu libc6-dev-i386-cross clang ;;
    aarch64) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user clang ;;
    s390x) echo gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user clang ;;
    musl) echo musl-tools ;;
    esac
}

# missing_for MACHINE COMPILER: prints the missing packages that the tests on MACHINE need.
missing_for()
{
    local machine=$1 compiler=$2 package missing=()
    for package in cmake ninja-build $(packages_of "$machine"); do
        [[ $package == clang && $compiler != clang ]] || package_present "$package" ||
            missing+=("$package")
    done
    echo "${missing[*]-}"
}

# note MACHINE COMPILER STANDARD OUTCOME
note()
{
    summary+=("$(printf '%-9s %-9s %-6s %s' "$@")")
}

# check MACHINE COMPILER STANDARD: builds and tests; prints the errors if one of the two fails.
check()
{
    local preset=cross-$1-$2 begun=$SECONDS flags='' chosen=() log ran
    log=build/$preset-c$3.log
    printf '==== %s, %s, C%s\n' "$@"
    # Both compilers have this option; it needs no library of the machine.
    if [[ $3 == 17 ]]; then
        flags='-fsanitize=undefined -fsanitize-undefined-trap-on-error'
    else
        chosen=(-L '^(unit|base|protocol|store)$')
    fi
    if ! { cmake --preset "$preset" "-DELAPSE_C_STANDARD=$3" "-DCMAKE_C_FLAGS=$flags" \
        "-DELAPSE_CARRY_HERE=$carry_here" &&
        cmake --build "build/$preset"; } >"$log" 2>&1 </dev/null; then
        grep -E '(error|Error)( at .*)?: ' "$log" | head -n 20
        echo "the output is in $log"
        note "$@" "FAILED: does not build ($log)"
        failures=$((failures + 1))
    elif ! ctest --preset "$preset" "${chosen[@]}" >"$log" 2>&1 </dev/null; then
        sed -n '/tests passed/,$p' "$log"
        note "$@" "FAILED: tests ($log)"
        failures=$((failures + 1))
    else
        ran=$(sed -n 's/^100% tests passed, 0 tests failed out of //p' "$log")
        note "$@" "ok: $ran tests, $((SECONDS - begun)) s"
    fi
}

skip_missing=
wanted=()
for argument in "$@"; do
    if [[ $argument == --skip-missing ]]; then
        skip_missing=yes
    elif [[ " ${machines[*]} " == *" $argument "* ]]; then
        wanted+=("$argument")
    else
        echo "./dev cross: unknown machine: $argument (there are: ${machines[*]})" >&2
        exit 2
    fi
done
((${#wanted[@]} > 0)) || wanted=("${machines[@]}")

packages=(cmake ninja-build libxxhash-dev)
for machine in "${wanted[@]}"; do
    read -ra more < <(packages_of "$machine")
    packages+=("${more[@]}")
done
want_packages "${packages[@]}"

mkdir -p build
if ! { cmake --preset cross-here && cmake --build build/cross-here --target store-carry; } \
    >build/cross-here.log 2>&1 </dev/null; then
    grep -E '(error|Error)( at .*)?: ' build/cross-here.log | head -n 20
    echo "./dev cross: store-carry of this machine does not build; the output is in build/cross-here.log" >&2
    exit 1
fi
summary=()
failures=0
for machine in "${wanted[@]}"; do
    for compiler in $(compilers_of "$machine"); do
        absent=$(missing_for "$machine" "$compiler")
        for standard in "${standards[@]}"; do
            if [[ -z $absent ]]; then
                check "$machine" "$compiler" "$standard"
            elif [[ -n $skip_missing ]]; then
                note "$machine" "$compiler" "$standard" "skipped: missing $absent"
            else
                note "$machine" "$compiler" "$standard" "FAILED: missing $absent"
                failures=$((failures + 1))
            fi
        done
    done
done

printf '\n%-9s %-9s %-6s %s\n' machine compiler C outcome
printf '%s\n' "${summary[@]}"
printf '\n%d s, %d of %d failed\n' "$SECONDS" "$failures" "${#summary[@]}"
((failures == 0))
