# shellcheck shell=bash
# What the tests of the installed library share. They are run by ctest, which says in the
# environment where everything is:
#   ELAPSE_SOURCE  the tree          SCRATCH  the folder that all of it happens in
#   ELAPSE_BUILD   the library built PREFIX   and installed, by prepare.sh
# shellcheck disable=SC2034 # the tests read them
here=$ELAPSE_SOURCE/tests/project/install
version=$(sed -n 's/.*ELAPSE_VERSION_TEXT *"\(.*\)"/\1/p' "$ELAPSE_SOURCE/include/elapse/version.h")
# The names of the shared libraries end in it: in 0.x the minor version, later the major one.
abi=${version%.*}
[[ $version == 0.* ]] || abi=${version%%.*}
lib=lib # relative to the prefix, as prepare.sh has it

fail()
{
    echo "FAILED: $*" >&2
    exit 1
}

# Goes to a folder of this name that has nothing in it.
start_empty()
{
    rm -rf "${SCRATCH:?}/$1"
    mkdir -p "$SCRATCH/$1"
    cd "$SCRATCH/$1" || exit
}

# quietly COMMAND...: what it says is shown only when it fails.
quietly()
{
    local log
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1; then
        cat "$log" >&2
        rm "$log"
        fail "$*"
    fi
    rm "$log"
}

# takes PROGRAM...: each runs, and says the version.
takes()
{
    local program said
    for program in "$@"; do
        said=$("$program") || fail "$program: $said"
        [[ $said == "$version" ]] || fail "$program says $said, not $version"
    done
}

needs_cxx()
{
    if [[ -z ${CXX-} ]]; then
        echo "skipped: there is no C++ compiler"
        exit 77
    fi
}
