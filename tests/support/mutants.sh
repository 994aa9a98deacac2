# shellcheck shell=bash
# What the runners of mutants share: planting a fault into a copy of the sources, compiling what it
# affects, trying, and counting. Nothing in the source tree is touched. A runner (tests/*/mutants/run)
# goes to the root of the project, sources this file, sets
#
#     flags         what every source is compiled with; those of the library get -I include as well
#     sources       the sources that the tests are linked with, of which a mutant changes one, or a
#                   header of them
#     test_flags    what the sources of the tests are compiled with besides
#     test_sources  the sources of the tests
#     libraries     what each test is linked with besides
#     programs      for each program of tests, the objects of test_sources in it, without .o
#     arguments     for a program of tests, its arguments, if it takes any
#     tests         the programs in the order in which they are tried
#     hangs_after   processor-seconds after which a test has stopped (60)
#
# and calls `run_mutants LIST NAME...`. Where that does not fit, a runner defines these by itself:
#
#     prepare                   compiles the tests into $work, and builds all of . into $work/sound
#     build TREE OUT FILE       compiles what FILE of TREE affects (`objects_of`) into OUT; FILE is
#                               `everything` where nothing is planted
#     link OUT PROGRAM          links a program of tests before it is tried for the first time
#     notice OUT TREE FILE ...  runs the tests; prints which one notices the fault, nothing if none
#                               does, and a line that begins with FAILED if a hang or such says
#                               nothing of the fault. The rest are what the list says behind
#                               MARKED.
#
# A list has a call for each fault:
#
#     mutant NAME FILE MARKED [...]
#
# MARKED is a piece of FILE in which [-words-] are what the fault removes, and {+words+} what it adds.
# The piece must occur in FILE exactly once; tests/project/lint/mutants.sh says so when the code has
# changed and it does not. Then plant the same fault in the new code.

# shellcheck disable=SC2154 # the runners assign flags and sources

compiler=${CC:-cc}
processors=${CTEST_PARALLEL_LEVEL:-$(nproc)}
hangs_after=60
declare -A programs arguments

# occurs_once FILE ORIGINAL: whether it does. (Patterns with * would take a hundred times as long.)
occurs_once()
{
    local text without
    text=$(<"$1") || return 1
    without=${text//"$2"/}
    ((${#2} > 0 && ${#text} - ${#without} == ${#2}))
}

# read_marks MARKED: sets `original` and `replacement` to what MARKED says: [-words-] are in the original
# alone, and {+words+} in the replacement alone.
read_marks()
{
    local rest=$1 before_removed before_added
    original='' replacement=''
    while [[ $rest == *'[-'*'-]'* || $rest == *'{+'*'+}'* ]]; do
        before_removed=${rest%%'[-'*} before_added=${rest%%'{+'*}
        if ((${#before_removed} < ${#before_added})); then
            rest=${rest#*'[-'}
            original+=$before_removed${rest%%'-]'*} replacement+=$before_removed
            rest=${rest#*'-]'}
        else
            rest=${rest#*'{+'}
            original+=$before_added replacement+=$before_added${rest%%'+}'*}
            rest=${rest#*'+}'}
        fi
    done
    original+=$rest replacement+=$rest
}

# plant FILE MARKED: writes the fault into FILE.
plant()
{
    local text original replacement
    read_marks "$2"
    occurs_once "$1" "$original" || return 1
    text=$(<"$1")
    printf "%s\n" "${text/"$original"/"$replacement"}" >"$1"
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

prepare()
{
    compile "$work/tests" -I include -I tests/support "${test_flags[@]}" -- "${test_sources[@]}"
    build . "$work/sound" everything
}

# A mutant is noticed by one program or a few, so a program is linked only when it is tried: to link all
# of them took most of the time of a mutant.
build()
{
    objects_of "$@"
}

# link OUT PROGRAM: links one program of tests with the objects of the last build.
link()
{
    local own
    # shellcheck disable=SC2206 # words, in one line or several
    own=(${programs[$2]})
    own=("${own[@]/#/$work/tests/}")
    "$compiler" "${own[@]/%/.o}" "${objects[@]}" "${libraries[@]}" -pthread -o "$1/$2"
}

notice()
{
    notice_by "$1" "${tests[@]}"
}

# notice_by OUT TEST...: runs these tests until one notices the fault. A test that does not end is passed
# over: it says nothing of the fault, and another one may fail.
notice_by()
{
    local out=$1 said=$1/said test own status endless=()
    for test in "${@:2}"; do
        if [[ ! -e $out/$test ]] && ! link "$out" "$test" 2>"$said"; then
            echo "FAILED: does not link: $(tail -n 1 "$said")"
            return
        fi
        read -ra own <<<"${arguments[$test]-}"
        status=0
        watched "$hangs_after" "$out/$test" "${own[@]}" >"$said" 2>&1 || status=$?
        if ((status == 124)); then
            endless+=("$test")
            ((${#endless[@]} < 2)) || break
        elif ((status != 0)); then
            echo "$test: $(grep -am 1 -oP '^\[  (FAILED|ERROR) +\] \K[a-z]\w+|^seed.{0,95}|repeat it by .*' "$said" ||
                echo "status $status")"
            return
        fi
    done
    ((${#endless[@]} == 0)) || echo "FAILED: no test fails; it hangs in ${endless[0]}"
}

# try NAME FILE MARKED [...]: the result is one line in a file.
try()
{
    local name=$1 file=$2 tree=$work/trees/$1 result noticed
    echo 'FAILED: the trial broke off' >"$work/results/$name"
    mkdir -p "$tree/out"
    cp -r include src "$tree"
    if ! plant "$tree/$file" "$3"; then
        result="FAILED: cannot be planted: its original text is not exactly once in $file"
    elif ! build "$tree" "$tree/out" "$file" 2>"$tree/errors"; then
        result="FAILED: does not compile: $(grep -m 1 error "$tree/errors" || tail -n 1 "$tree/errors")"
    elif ! noticed=$(notice "$tree/out" "$tree" "$file" "${@:4}"); then
        result='FAILED: the tests cannot be run'
    else
        result=${noticed:-FAILED: survives}
    fi
    printf '%-44s %s\n' "$name" "$result" | tee "$work/results/$name"
    rm -rf "$tree"
}

# mutant NAME FILE MARKED [...]: tries it in the background, as many at the same time as there are
# processors.
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
