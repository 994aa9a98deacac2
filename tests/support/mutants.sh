# shellcheck shell=bash
# What the runners of mutants share: planting a fault into a copy of the sources, compiling what it
# affects, trying, and counting. Nothing in the source tree is touched. A runner (tests/*/mutants/run)
# goes to the root of the project, sources this file, sets
#
#     flags      what every source is compiled with; those of the library get -I include as well
#     sources    the sources that the tests are linked with, of which a mutant changes one, or a
#                header of them
#
# defines
#
#     prepare                   compiles the tests into $work, and builds all of . into $work/sound
#     build TREE OUT FILE       compiles what FILE of TREE affects (`objects_of`), and links it into
#                               OUT; FILE is `everything` where nothing is planted
#     notice OUT TREE FILE ...  runs the tests; prints which one notices the fault, nothing if none
#                               does, and a line that begins with FAILED if a hang or such says
#                               nothing of the fault. The rest are what the list says behind
#                               REPLACEMENT.
#
# and calls `run_mutants LIST NAME...`. tests/project/lint/mutants.sh uses `occurs_once`.

# shellcheck disable=SC2154 # the runners assign flags and sources

compiler=${CC:-cc}
processors=${CTEST_PARALLEL_LEVEL:-$(nproc)}

# occurs_once FILE ORIGINAL: whether it does. (Patterns with * would take a hundred times as long.)
occurs_once()
{
    local text without
    text=$(<"$1") || return 1
    without=${text//"$2"/}
    ((${#2} > 0 && ${#text} - ${#without} == ${#2}))
}

# plant FILE ORIGINAL REPLACEMENT: writes the fault into FILE.
plant()
{
    local text
    occurs_once "$1" "$2" || return 1
    text=$(<"$1")
    printf "%s\n" "${text/"$2"/"$3"}" >"$1"
}

# object_of SOURCE: sets `object` to its name, ROOM-NAME.o.
object_of()
{
    object=${1%/*}
    object=${object##*/}-${1##*/}
    object=${object%.c}.o
}

# compile OUT FLAG... -- SOURCE...: compiles each source into OUT, and lists beside it which headers
# it includes.
compile()
{
    local out=$1 own=() source object
    shift
    while [[ $1 != -- ]]; do
        own+=("$1")
        shift
    done
    shift
    mkdir -p "$out"
    for source; do
        object_of "$source"
        printf '%s\0%s\0' "$out/$object" "$source"
    done | xargs -0 -r -n 2 -P "$compiles_at_once" "$compiler" "${flags[@]}" "${own[@]}" -MMD -c -o
}

# objects_of TREE OUT FILE [VARIANT FLAG...]: compiles those of `sources` that FILE affects, from TREE
# into OUT, and sets `objects` to all that has to be linked: these and the sound rest. Sources that
# are compiled in several ways have one VARIANT each, the name of a directory.
objects_of()
{
    local tree=$1 out=$2/${4-} file=$3 sound=$work/sound/${4-} source object stale=() affected=
    shift "$(($# < 4 ? 3 : 4))"
    [[ $file != *.h ]] ||
        affected=$(grep -lE "/${file##*/}( |\$)" "$sound"/*.d | tr '\n' ' ') || true
    objects=()
    for source in "${sources[@]}"; do
        object_of "$source"
        if [[ $file == everything || $file == "$source" || $affected == *"/${object%.o}.d "* ]]; then
            stale+=("$tree/$source")
            objects+=("$out/$object")
        else
            objects+=("$sound/$object")
        fi
    done
    compile "$out" "$@" -I "$tree/include" -- "${stale[@]}"
}

# watched SECONDS COMMAND...: runs a test. Ends with 124 if the test uses more than SECONDS of processor
# time, or hangs for SECONDS.
watched()
{
    "$work/watch-test" --processor-s "$1" --quiet-s "$1" -- "${@:2}"
}

# notice_by TEST...: what `notice` of several rooms does. Calls `run_test TEST`, which runs it by
# `watched` with its output in $said, and `name_failure TEST STATUS`, which prints what it noticed. A
# test that does not end is passed over: it says nothing of the fault, and another one may fail.
notice_by()
{
    local test status endless=()
    for test; do
        status=0
        run_test "$test" >"$said" 2>&1 || status=$?
        if ((status == 124)); then
            endless+=("$test")
            ((${#endless[@]} < 2)) || break
        elif ((status != 0)); then
            name_failure "$test" "$status"
            return
        fi
    done
    ((${#endless[@]} == 0)) || echo "FAILED: no test fails; it hangs in ${endless[0]}"
}

# try NAME FILE ORIGINAL REPLACEMENT [...]: the result is one line in a file.
try()
{
    local name=$1 file=$2 tree=$work/trees/$1 result noticed
    echo 'FAILED: the trial broke off' >"$work/results/$name"
    mkdir -p "$tree/out"
    cp -r include src "$tree"
    if ! plant "$tree/$file" "$3" "$4"; then
        result="FAILED: cannot be planted: its original text is not exactly once in $file"
    elif ! build "$tree" "$tree/out" "$file" 2>"$tree/errors"; then
        result="FAILED: does not compile: $(grep -m 1 error "$tree/errors" || tail -n 1 "$tree/errors")"
    elif ! noticed=$(notice "$tree/out" "$tree" "$file" "${@:5}"); then
        result='FAILED: the tests cannot be run'
    else
        result=${noticed:-FAILED: survives}
    fi
    printf '%-44s %s\n' "$name" "$result" | tee "$work/results/$name"
    rm -rf "$tree"
}

# mutant NAME FILE ORIGINAL REPLACEMENT [...]: tries it in the background, as many at the same time
# as there are processors.
mutant()
{
    [[ $wanted == "  " || $wanted == *" $1 "* ]] || return 0
    while (($(jobs -rp | wc -l) >= processors)); do
        wait -n || true
    done
    try "$@" &
}

# run_mutants LIST NAME...: tries the mutants of LIST, or those named, and prints for each what notices
# it. Fails if one survives, cannot be planted any more, or does not compile; if a name is unknown;
# and if a test fails without any fault.
run_mutants()
{
    local list=$1 noticed name tried failed
    shift
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    compiles_at_once=$processors
    mkdir -p "$work"/{sound,results}
    "$compiler" -std=c11 -D_GNU_SOURCE -O1 "${BASH_SOURCE[0]%/*}"/watch/{watch,tree}.c -o "$work/watch-test"
    prepare
    noticed=$(notice "$work/sound" . everything)
    if [[ -n $noticed ]]; then
        echo "it fails without any fault planted: $noticed" >&2
        return 1
    fi
    wanted=" $* "
    compiles_at_once=1 # mutants are tried side by side
    # shellcheck source=/dev/null
    source "$list"
    wait
    for name; do
        [[ -e $work/results/$name ]] || echo 'FAILED: the list has no such mutant' >"$work/results/$name"
    done
    tried=$(find "$work/results" -type f | wc -l)
    failed=$(cat "$work"/results/* | grep -c 'FAILED' || true)
    echo "$tried mutants, $failed not noticed; $SECONDS s"
    ((tried > 0 && failed == 0))
}
