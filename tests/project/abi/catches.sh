#!/usr/bin/env bash
# Plants changes of the ABI in a copy of the tree, in both libraries at once where possible, and
# shows that `./dev abi` notices each, and no change of private things.
#
# Usage: catches.sh SOURCE_DIR SCRATCH_DIR
set -euo pipefail

source_dir=$1
tree=$2
said=

for program in abidw abidiff; do
    if ! command -v "$program" >/dev/null; then
        echo "skipped: $program is not there; Debian's package abigail-tools brings it"
        exit 77
    fi
done

fail()
{
    printf 'FAILED: %s\n%s\n' "$*" "$said" >&2
    exit 1
}

# Puts FILEs of the tree back as they were.
restore()
{
    local file
    for file in "$@"; do
        cp "$source_dir/$file" "$tree/$file"
    done
}

# plant FILE EXPRESSION: changes the file by this expression of sed.
plant()
{
    sed -i -E "$2" "$tree/$1"
    ! cmp -s "$source_dir/$1" "$tree/$1" || fail "cannot be planted, $1 has other words now: $2"
}

# abi STATUS: runs ./dev abi, which must end with this status.
abi()
{
    local status=0
    said=$("$tree/scripts/abi.sh" 2>&1) || status=$?
    ((status == $1)) || fail "the status is $status, not $1:"
}

# says TEXT...: the last run said each of them.
says()
{
    local text
    for text in "$@"; do
        [[ $said == *"$text"* ]] || fail "it does not say «$text»:"
    done
}

noticed=('the ABI of libelapse has changed' 'the ABI of libelapse-queue has changed')
task=include/elapse/task.h
list=include/elapse/list.h
job=include/elapse/job.h
queue=include/elapse/queue.h

rm -rf "$tree"
mkdir -p "$tree"/{abi,cmake}
cp -r "$source_dir"/{include,scripts,src,LICENSE} "$tree"
cp "$source_dir/cmake/elapse.map.in" "$tree/cmake"
rmdir "$tree/abi"
abi 1
says 'there is no recorded ABI'
"$tree/scripts/abi.sh" --record >/dev/null
! said=$("$tree/scripts/abi.sh" --record 2>&1) || fail 'an ABI is recorded twice'
says 'is there already'

# What callers cannot see is no part of it: here the fields of an opaque struct.
plant src/scheduler/scheduler.h 's/^(struct elapse_scheduler \{)$/\1 int planted;/'
abi 0
says 'the ABI of libelapse is that of' 'the ABI of libelapse-queue is that of'
restore src/scheduler/scheduler.h

# The following at once, because each run takes a build; each must be named.
# A field more.
plant $task '/^struct elapse_found \{/,/^\};/ s/bool cancelled;/&\n    int planted;/'
plant $job '/^struct elapse_put \{/,/^\};/ s/size_t key_bytes;/&\n    int planted;/'
# Two fields that change places, and another number of a constant.
plant $list '/^struct elapse_listed \{/,/^\};/ { s/runs_again;/planted;/; s/wall_clock;/runs_again;/; s/planted;/wall_clock;/ }'
plant $job 's/(ELAPSE_RESULT_NONE) = [0-9]+/\1 = 99/'
# A function less: its name becomes a private one.
plant include/elapse/scheduler.h 's/elapse_scheduler_trim/elapse__scheduler_trim/'
plant src/scheduler/trim.c 's/elapse_scheduler_trim/elapse__scheduler_trim/'
plant $queue 's/elapse_queue_quiet/elapse__queue_quiet/'
plant src/engine/store/open.c 's/elapse_queue_quiet/elapse__queue_quiet/'
# A function more, which a patch version may not have.
plant include/elapse/version.h 's/^(ELAPSE_API .*)$/\1\nELAPSE_API int elapse_planted(void);/'
plant src/structures/version.c '$ s/$/\nint elapse_planted(void) { return 0; }/'
# Another type of a result, and a parameter more.
plant $list 's/size_t (elapse_task_key\()/unsigned \1/'
plant src/scheduler/list.c 's/size_t (elapse_task_key\()/unsigned \1/'
plant $queue 's/^(ELAPSE_API int elapse_queue_descriptor\()/\1long planted, /'
plant src/engine/store/open.c 's/^(int elapse_queue_descriptor\()/\1long planted, /'
abi 1
says "${noticed[@]}" "'int planted'" "'struct elapse_found" "'struct elapse_put" "'bool wall_clock' offset changed" \
    "'elapse_result::ELAPSE_RESULT_NONE'" \
    "'function size_t elapse_scheduler_trim" "'function void elapse_queue_quiet" '1 Removed' \
    "'function int elapse_planted" '1 Added' "'function size_t elapse_task_key" 'return type changed' \
    "'function int elapse_queue_descriptor" "of type 'elapse_queue*' was added"
restore $task $list $queue include/elapse/scheduler.h src/scheduler/{trim,list}.c src/engine/store/open.c

# With another SONAME anything may change; another machine is not compared.
plant include/elapse/version.h 's/(ELAPSE_VERSION_TEXT +)"[0-9.]+"/\1"0.99.0"/'
abi 0
says 'elapse_planted' 'so anything may change'
sed -i "s/ architecture='[^']*'/ architecture='elf-other'/" "$tree"/abi/*/*.abi
abi 77
says 'elf-other'
echo "OK: each change that was planted was noticed."
