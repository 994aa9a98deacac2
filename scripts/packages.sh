# shellcheck shell=bash
# need_packages NAME...: sees to it that what these Debian packages bring is there.
# What counts is not that dpkg knows a package but that its command or header is
# found, so a compiler from elsewhere, or another gnuplot, will do.

# A package; what tells that it is there; the name of that.
readonly package_probes='
gcc              command  cc
libc6-dev        header   stdio.h
cmake            command  cmake
ninja-build      command  ninja
zlib1g-dev       header   zlib.h
uthash-dev       header   uthash.h
libxxhash-dev    header   xxhash.h
gnuplot-nox      command  gnuplot
libcmocka-dev    header   cmocka.h
python3          command  python3
clang            command  clang
llvm             command  llvm-cov
libclang-rt-dev  runtime  fuzzer
valgrind         command  valgrind
spin             command  spin
g++              command  c++
pkgconf          command  pkg-config
libuv1-dev       header   uv.h
libevent-dev     header   event2/event.h
dpkg-dev         command  dpkg-buildpackage
debhelper        command  dh
lintian          command  lintian
abigail-tools    command  abidiff
clang-format     command  clang-format
clang-tidy       command  clang-tidy
shellcheck       command  shellcheck
'

clang_links_sanitizer()
{
    local program status=0
    program=$(mktemp)
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang "-fsanitize=$1" -x c - -o "$program" 2>/dev/null || status=$?
    rm -f "$program"
    return "$status"
}

package_present()
{
    local package kind what
    while read -r package kind what; do
        [[ $package == "$1" ]] || continue
        case $kind in
        command) command -v "$what" >/dev/null ;;
        header) echo "#include <$what>" | cc -E -x c - >/dev/null 2>&1 ;;
        runtime) clang_links_sanitizer "$what" ;;
        esac
        return
    done <<<"$package_probes"
    echo "scripts/packages.sh: no probe for package $1" >&2
    exit 70
}

# The questions go to the terminal itself: standard input may be a trace to replay.
ask_to_install()
{
    local answer
    [[ -z ${assume_yes-} && -t 2 && -r /dev/tty ]] || return 0
    read -rp "Install them now? [Y/n] " answer </dev/tty
    [[ $answer != [Nn]* ]]
}

need_packages()
{
    local package missing=() install become=()
    for package in "$@"; do
        [[ " ${missing[*]-} " == *" $package "* ]] || package_present "$package" ||
            missing+=("$package")
    done
    ((${#missing[@]} > 0)) || return 0

    echo "Missing packages: ${missing[*]}" >&2
    if ! command -v apt-get >/dev/null; then
        echo "Those are their names in Debian. Please install what they are called here." >&2
        exit 1
    fi
    install=(apt-get install --yes --no-install-recommends "${missing[@]}")
    if ((EUID != 0)); then
        become=(sudo)
        if ! command -v sudo >/dev/null; then
            echo "Please run this as root: apt-get update && ${install[*]}" >&2
            exit 1
        fi
    fi
    if ! ask_to_install; then
        echo "To install them: apt-get update && ${install[*]}" >&2
        exit 1
    fi
    "${become[@]}" apt-get update </dev/null >&2
    "${become[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" </dev/null >&2
}
