# shellcheck shell=bash
# shellcheck source=scripts/progress.sh
source "${BASH_SOURCE[0]%/*}/progress.sh"

# need_packages NAME...: installs those of these Debian packages that are missing.
# A package counts as there if its command, header or module is found, whether dpkg
# knows it or not; so a compiler from elsewhere, or another gnuplot, will do.

# The package, the kind of thing to look for, and its name.
readonly package_probes='
gcc              command  cc
libc6-dev        header   stdio.h
make             command  make
cmake            command  cmake
ninja-build      command  ninja
zlib1g-dev       header   zlib.h
uthash-dev       header   uthash.h
libxxhash-dev    header   xxhash.h
libjansson-dev   header   jansson.h
gnuplot-nox      command  gnuplot
libcmocka-dev    header   cmocka.h
python3          command  python3
python3-croniter  python  croniter
python3-redis    python   redis
python3-yaml     python   yaml
python3-psycopg2  python  psycopg2
redis-tools      command  redis-cli
chromium         command  chromium
chromium-driver  command  chromedriver
python3-selenium  python  selenium
python3-django   file     /usr/lib/python3/dist-packages/django/__init__.py
python3-pip      file     /usr/lib/python3/dist-packages/pip/__init__.py
python3-setuptools  file  /usr/lib/python3/dist-packages/setuptools/__init__.py
python3-venv     file     /usr/lib/python3*/ensurepip/__init__.py
python3-wheel    file     /usr/lib/python3/dist-packages/wheel/__init__.py
black            file     /usr/lib/python3/dist-packages/black/__init__.py
pylint           file     /usr/lib/python3/dist-packages/pylint/__init__.py
mypy             file     /usr/lib/python3/dist-packages/mypy/__init__.py
libhiredis-dev   header   hiredis/hiredis.h
prometheus       command  promtool
strace           command  strace
tzdata           file     /usr/share/zoneinfo/Europe/Berlin
clang            command  clang
llvm             command  llvm-cov
libclang-rt-dev  runtime  fuzzer
valgrind         command  valgrind
spin             command  spin
strace           command  strace
mandoc           command  mandoc
python3-sphinx   file     /usr/lib/python3/dist-packages/sphinx/__init__.py
python3-myst-parser  file  /usr/lib/python3/dist-packages/myst_parser/__init__.py
python3-sphinx-rtd-theme  file  /usr/lib/python3/dist-packages/sphinx_rtd_theme/__init__.py
g++              command  c++
pkgconf          command  pkg-config
debootstrap      command  debootstrap
dpkg-dev         command  dpkg-buildpackage
debhelper        command  dh
lintian          command  lintian
git              command  git
abigail-tools    command  abidiff
gpg              command  gpg
gpg-agent        command  gpg-agent
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
libssl-dev       header   openssl/ssl.h
libcurl4-openssl-dev  header  curl/curl.h
openssl          command  openssl
libuv1-dev       header   uv.h
libglib2.0-dev   pkg      glib-2.0
libsqlite3-dev   header   sqlite3.h
golang-go        command  go
golang-opentelemetry-otel-dev  file  /usr/share/gocode/src/go.opentelemetry.io/otel/go.mod
golang-github-gomodule-redigo-dev  file  /usr/share/gocode/src/github.com/gomodule/redigo/redis/conn.go
openjdk-17-jdk-headless  command  javac
libnetty-java    file     /usr/share/java/netty-common.jar
librust-tokio-dev  file   /usr/share/cargo/registry/tokio-*
librust-futures-util-dev  file  /usr/share/cargo/registry/futures-util-*
cargo            command  cargo
rustc            command  rustc
beanstalkd       command  beanstalkd
nodejs           command  node
npm              command  npm
php-cli          command  php
php-pda-pheanstalk  file  /usr/share/php/Pheanstalk/autoload.php
php-illuminate-queue  file  /usr/share/php/Illuminate/Queue/autoload.php
php-redis        file     /usr/lib/php/*/redis.so
ruby             command  ruby
ruby-beaneater   file     /usr/lib/ruby/vendor_ruby/beaneater.rb
ruby-activejob   file     /usr/share/rubygems-integration/all/gems/activejob-*/lib/active_job.rb
ruby-redis       file     /usr/share/rubygems-integration/all/gems/redis-*/lib/redis.rb
redis-server     command  redis-server
postgresql       file     /usr/lib/postgresql/*/bin/initdb
libpq-dev        pkg      libpq
pgbouncer        file     /usr/sbin/pgbouncer
rabbitmq-server  file     /usr/lib/rabbitmq/bin/rabbitmq-server
librabbitmq-dev  pkg      librabbitmq
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

# Debian's modules are those of the system's interpreter, which may not be the first in PATH.
python_finds()
{
    local interpreter
    for interpreter in /usr/bin/python3 python3; do
        ! "$interpreter" -c "import $1" 2>/dev/null || return 0
    done
    return 1
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
        python) python_finds "$what" ;;
        file) compgen -G "$what" >/dev/null ;;
        esac
        return
    done <<<"$package_probes"
    echo "scripts/packages.sh: no probe for package $1" >&2
    exit 70
}

# Asks on the terminal itself, because standard input may be a trace to replay.
ask_to_install()
{
    local answer
    [[ -z ${assume_yes-} && -t 2 && -r /dev/tty ]] || return 0
    read -rp "Install them now? [Y/n] " answer </dev/tty
    [[ $answer != [Nn]* ]]
}

# Puts the packages of these that are missing into the array `missing`.
find_missing()
{
    local package
    missing=()
    for package in "$@"; do
        [[ " ${missing[*]-} " == *" $package "* ]] || package_present "$package" ||
            missing+=("$package")
    done
}

# follow_apt BEGUN_S: says how far apt-get is, whose output it reads.
follow_apt()
{
    local line total=0 fetched=0 unpacked=0 set_up=0
    while IFS= read -r line; do
        if [[ $line =~ ^([0-9]+)\ upgraded,\ ([0-9]+)\ newly\ installed ]]; then
            total=$((BASH_REMATCH[1] + BASH_REMATCH[2]))
            continue
        fi
        case $line in
        Get:* | Fetched*)
            if ((total == 0)); then
                progress_show "Reading the lists of packages"
            else
                progress_show "Downloading: $((++fetched > total ? total : fetched)) of $total packages"
            fi
            ;;
        'Unpacking '*) progress_show "Unpacking: $((++unpacked)) of $total packages" ;;
        'Setting up '*) progress_show "Setting up: $((++set_up)) of $total packages" ;;
        esac
    done
    progress_clear
    echo "Installed: $set_up of $total packages in $((SECONDS - $1)) s" >&2
}

# Runs the command `install` of need_packages, as the user that `become` says. Two commands may run at
# a time, and apt-get does not wait for another one, so the second waits here. The services that a package
# starts do not inherit the lock.
install_packages()
{
    mkdir -p build
    {
        flock 9 || return
        "${become[@]}" apt-get update 9>&- &&
            "${become[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive "${install[@]}" 9>&-
    } 9>build/packages.lock
}

need_packages()
{
    local missing install log become=()
    find_missing "$@"
    ((${#missing[@]} > 0)) || return 0

    echo "Packages to install: ${missing[*]}" >&2
    if ! command -v apt-get >/dev/null; then
        echo "These are their names in Debian. Please install them by the names they have here." >&2
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
    log=$(mktemp)
    if ! install_packages </dev/null 2>&1 | tee "$log" | follow_apt "$SECONDS"; then
        cat "$log" >&2
        rm -f "$log"
        echo "These packages could not be installed: ${missing[*]}" >&2
        exit 1
    fi
    rm -f "$log"
    find_missing "$@"
    if ((${#missing[@]} > 0)); then
        echo "Still missing after they were installed: ${missing[*]}" >&2
        exit 1
    fi
}

# want_packages NAME...: the same for packages that are not essential: installs all together, or if
# that fails one by one, and names those that are still missing.
want_packages()
{
    local missing package
    find_missing "$@"
    ((${#missing[@]} > 0)) || return 0
    echo "Missing, and needed by parts of this only: ${missing[*]}" >&2
    if ask_to_install; then
        local assume_yes=yes
        (need_packages "${missing[@]}") || for package in "${missing[@]}"; do
            (need_packages "$package") || true
        done
    fi
    find_missing "$@"
    ((${#missing[@]} == 0)) || echo "Left out, with the parts that need them: ${missing[*]}" >&2
}
