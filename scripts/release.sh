#!/usr/bin/env bash
# release.sh [--sign KEY] [--output DIRECTORY] [--archives]: makes what a release offers, from the
# commit that is checked out: the sources, the two files, the Debian packages, the notes, and the
# checksums of all of them, signed if there is a KEY of gpg. It makes no tag.
#
# All of it comes from the archive of the sources, unpacked, so that what the archive lacks is
# noticed. The directory, build/release-VERSION if none is given, appears when everything is there.
# --archives leaves out what takes minutes: building and testing what was unpacked, and the packages.
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8 TZ=UTC
umask 022

fail()
{
    echo "./dev release: $*" >&2
    exit 1
}

usage()
{
    echo "usage: ./dev release [--sign KEY] [--output DIRECTORY] [--archives]" >&2
    exit 2
}

key=
output=
archives_only=
while (($# > 0)); do
    case $1 in
    --sign)
        key=${2-}
        [[ -n $key ]] || usage
        shift
        ;;
    --output)
        output=${2-}
        [[ -n $output ]] || usage
        [[ $output == /* ]] || output=$caller/$output
        shift
        ;;
    --archives) archives_only=yes ;;
    *) usage ;;
    esac
    shift
done

version=$(sed -n 's/.*ELAPSE_VERSION_TEXT *"\(.*\)"/\1/p' include/elapse/version.h)
name=elapse-$version
work=$PWD/build/release-work # the same each time, because packages may contain where they were built
tree=$work/$name
made=$work/made

# step WHAT COMMAND...: prints WHAT, and shows its output only when it fails.
step()
{
    local what=$1 log=$work/step.log
    shift
    echo "$what" >&2
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 60 "$log" >&2
        fail "failed: $what"
    fi
}

uncommitted()
{
    git status --porcelain --untracked-files=normal
}

# What must be true of the tree, and of the key, before anything is made.
check_tree()
{
    local changed tagged
    [[ $(git rev-parse --show-toplevel 2>/dev/null) == "$(pwd -P)" ]] ||
        fail "needs a clone of the repository: a release is made from a commit"
    changed=$(uncommitted)
    [[ -z $changed ]] ||
        fail "there are changes that are in no commit; commit them, or make the release in a clean clone:"$'\n'"$changed"
    commit=$(git rev-parse HEAD)
    tagged=$(git rev-parse --quiet --verify "v$version^{commit}" || true)
    [[ -z $tagged || $tagged == "$commit" ]] ||
        fail "v$version is the tag of another commit, $tagged; raise the version"
    python3 -B tests/project/lint/versions.py >&2 || fail "the files disagree about the version"
    [[ -n $(notes) ]] || fail "CHANGELOG.md: there is no section [$version] with a date, or it is empty"
    [[ -d abi/$version ]] || fail "the ABI of $version is not recorded: ./dev abi --record writes it"
}

# A directory that this script has named may be replaced.
check_output()
{
    if [[ -z $output ]]; then
        output=$PWD/build/release-$version
    elif [[ -e $output ]]; then
        fail "$output is there already"
    fi
}

check_key()
{
    local log
    [[ -n $key ]] || return 0
    command -v gpg >/dev/null || fail "--sign needs gpg"
    log=$(mktemp)
    # A key that is there may still have expired, or its passphrase be lost: it signs something now.
    if ! gpg --list-secret-keys -- "$key" >"$log" 2>&1 || ! gpg --local-user "$key" --armor \
        --detach-sign --output - "$log" >/dev/null 2>"$log.fault"; then
        cat "$log" "$log.fault" >&2 2>/dev/null || true
        rm -f "$log" "$log.fault"
        fail "gpg cannot sign with the key $key; nothing was made"
    fi
    rm -f "$log" "$log.fault"
}

# The section of this version in the changelog, without its heading and the empty lines around it.
notes()
{
    awk -v heading="## [$version] - " '
        /^## \[/ { inside = index($0, heading) == 1; next }
        inside && (NF || text) { text = text $0 "\n" }
        END { sub(/\n+$/, "\n", text); printf "%s", text }' CHANGELOG.md
}

# The names in order, the owner root, the time that of the commit: the same bytes each time.
pack_sources()
{
    git -c tar.umask=0022 -c core.autocrlf=false archive --format=tar --prefix="$name/" "$commit" |
        gzip -n -9 >"$made/$name.tar.gz"
    tar -C "$work" -xzf "$made/$name.tar.gz"
}

# What was unpacked is whole: it builds, its tests of the lower rooms pass, and it installs.
try_sources()
{
    local prefix=$work/prefix flags
    cmake -S "$tree" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
        -DELAPSE_TEST_ROOMS='structures;cron;queue' &&
        cmake --build "$work/build" --parallel "$(nproc)" &&
        ctest --test-dir "$work/build" --output-on-failure --parallel "$(nproc)" --label-regex 'unit|queue|cron' &&
        cmake --install "$work/build" &&
        [[ $("$prefix/bin/elapse" --version) == "elapse $version" ]] &&
        read -ra flags < <(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs elapse-queue) &&
        cc -std=c11 "$tree/tests/project/install/take_queue.c" "${flags[@]}" -Wl,-rpath,"$prefix/lib" \
            -o "$work/take" &&
        [[ $(cd "$work" && ./take) == "$version" ]]
}

try_two_files()
{
    local program='#include "elapse_queue.h"
        #include <stdio.h>
        int main(void) { return puts(elapse_version()) < 0; }'
    mkdir "$work/two" &&
        tar -C "$work/two" -xzf "$made/$name-two-files.tar.gz" &&
        cc -std=c11 -I "$work/two/$name" -x c - "$work/two/$name"/*.c -pthread -lxxhash -o "$work/two/program" <<<"$program" &&
        [[ $(cd "$work" && two/program) == "$version" ]]
}

# Without a cache of the compiler, which may name files by other paths.
make_packages()
{
    (unset CMAKE_C_COMPILER_LAUNCHER && cd "$tree" && scripts/package.sh) &&
        cp "$tree"/build/package/*.deb "$made"
}

sum_and_sign()
{
    local file
    (cd "$made" && sha256sum -- * >"$work/SHA256SUMS")
    mv "$work/SHA256SUMS" "$made"
    (cd "$made" && sha256sum --check --strict --quiet SHA256SUMS)
    [[ -n $key ]] || return 0
    file=$made/SHA256SUMS
    if ! gpg --local-user "$key" --armor --detach-sign --output "$file.asc" "$file" ||
        ! gpg --verify "$file.asc" "$file" 2>"$work/verify.log"; then
        fail "the checksums could not be signed; nothing was made"
    fi
}

report()
{
    echo "Made: $output"
    (cd "$output" && du --apparent-size --human-readable -- *) | sed 's/^/  /'
    if [[ -n $key ]]; then
        echo "Signed: SHA256SUMS.asc, by the key $key"
        echo "No tag was made. To make it: git tag -s -u '$key' -m 'Elapse $version' v$version $commit"
    else
        echo "not signed: ./dev release --sign KEY signs SHA256SUMS"
        echo "No tag was made. To make it: git tag -a -m 'Elapse $version' v$version $commit"
    fi
}

check_tree
check_key
check_output
trap 'rm -rf "$work"' EXIT
rm -rf "$work"
mkdir -p "$made"

pack_sources
notes >"$made/$name-notes.md"
step "Packing: the two files" "$tree/scripts/amalgamate.py" --archive "$made"
if [[ -z $archives_only ]]; then
    step "Trying: the ABI, beside that of the last release" "$tree/scripts/abi.sh"
    step "Trying: the two files" try_two_files
    step "Trying: what the archive of the sources has in it" try_sources
    step "Building: the Debian packages" make_packages
fi
sum_and_sign
[[ -z $(uncommitted) ]] || fail "making it has changed the tree:"$'\n'"$(uncommitted)"
mkdir -p "$(dirname "$output")"
[[ $output != "$PWD/build/release-$version" ]] || rm -rf "$output"
mv --no-target-directory "$made" "$output"
report
