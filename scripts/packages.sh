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
mandoc           command  mandoc
g++              command  c++
pkgconf          command  pkg-config
dpkg-dev         command  dpkg-buildpackage
debhelper        command  dh
lintian          command  lintian
git              command  git
abigail-tools    command  abidiff
clang-format     command  clang-format
clang-tidy       command  clang-tidy
shellcheck       command  shellcheck
qemu-user        command  qemu-s390x
musl-tools       command  musl-gcc
gcc-i686-linux-gnu     command  i686-linux-gnu-gcc
gcc-aarch64-linux-gnu  command  aarch64-linux-gnu-gcc
gcc-s390x-linux-gnu    command  s390x-linux-gnu-gcc
libc6-dev-i386-cross   cross    i686-linux-gnu-gcc
libc6-dev-arm64-cross  cross    aarch64-linux-gnu-gcc
libc6-dev-s390x-cross  cross    s390x-linux-gnu-gcc
libev-dev        header   ev.h
libevent-dev     header   event2/event.h
libuv1-dev       header   uv.h
libglib2.0-dev   pkg      glib-2.0
golang-go        command  go
openjdk-17-jdk-headless  command  javac
libnetty-java    file     /usr/share/java/netty-common.jar
librust-tokio-dev  file   /usr/share/cargo/registry/tokio-*
librust-futures-util-dev  file  /usr/share/cargo/registry/futures-util-*
cargo            command  cargo
rustc            command  rustc
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
        cross) echo '#include <stdio.h>' | "$what" -E -x c - >/dev/null 2>&1 ;;
        pkg) pkg-config --exists "$what" 2>/dev/null ;;
        runtime) clang_links_sanitizer "$what" ;;
        file) compgen -G "$what" >/dev/null ;;
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

# The packages of these that are not there, in the array `missing`.
find_missing()
{
    local package
    missing=()
    for package in "$@"; do
        [[ " ${missing[*]-} " == *" $package "* ]] || package_present "$package" ||
            missing+=("$package")
    done
}

need_packages()
{
    local missing install become=()
    find_missing "$@"
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

# want_packages NAME...: the same for what can be done without: all together, or if that
# fails one by one; then names those that are still not there.
want_packages()
{
    local missing package
    find_missing "$@"
    ((${#missing[@]} > 0)) || return 0
    echo "Missing, but not needed by all that is to be done: ${missing[*]}" >&2
    if ask_to_install; then
        local assume_yes=yes
        (need_packages "${missing[@]}") || for package in "${missing[@]}"; do
            (need_packages "$package") || true
        done
    fi
    find_missing "$@"
    ((${#missing[@]} == 0)) || echo "Done without: ${missing[*]}" >&2
}
