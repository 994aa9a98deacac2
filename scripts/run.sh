#!/usr/bin/env bash
# run.sh [FILE...]: demonstrates the program of preset release. Without a FILE it runs a dozen
# timers in real time, then generates a million orders, of which 900,000 are paid before their timer
# is due, replays them and checks the counts. Otherwise it replays each FILE; relative names are
# those of the caller's folder. After a FILE that fails it goes on with the next; its status is the
# greatest of all.
set -euo pipefail

build=$(cd "$(dirname "${BASH_SOURCE[0]}")/../build" && pwd)
elapse=$build/release/elapse

for file in "$@"; do
    if [[ $file == -?* ]]; then
        echo "usage: ./dev run [FILE...]; a file's name that begins with - is written ./$file" >&2
        exit 2
    fi
done

# Replays the caller's files. Each has a picture of its own, with another name than that of the
# generated orders.
declare -A taken=([/orders]=yes)
greatest=0
for file in "$@"; do
    name=${file##*/}
    [[ $file != - ]] || name=standard-input
    name=${name%.gz}
    name=${name%.csv}
    unique=$name
    number=2
    while [[ -n ${taken["/$unique"]-} ]]; do
        unique=$name-$number
        number=$((number + 1))
    done
    taken["/$unique"]=yes
    plot=$build/$unique.svg
    status=0
    "$elapse" replay --plot "$plot" -- "$file" || status=$?
    if ((status == 0)); then
        printf 'Picture: %s\n\n' "$plot"
    elif ((status > greatest)); then
        greatest=$status
    fi
done
(($# == 0)) || exit "$greatest"

fired=$build/fired.jsonl
echo "A dozen timers, each a line of text; two are cancelled or replaced, and ten fire:"
"$elapse" run <<'LINES' | tee "$fired"
in 100ms kettle {"boils":true}
in 200ms egg soft
in 800ms egg hard
in 300ms tea green
in 400ms toast golden
in 500ms order:1 unpaid
in 500ms order:2 unpaid
cancel order:1
in 600ms lease renew
in 650ms heartbeat missed
in 700ms retry third
in 50ms knock first
in 900ms bed time
LINES
if (($(wc -l <"$fired") != 10)); then
    echo "WRONG: not ten of them fired" >&2
    exit 1
fi
echo

orders=$build/orders.csv
plot=$build/orders.svg

echo "A million orders, each with a timer of its own; nine of ten are paid in time."
"$elapse" generate orders --orders 1000000 --paid 90 --seed 1 >"$orders"
"$elapse" replay --plot "$plot" "$orders"

report=$("$elapse" replay --json "$orders")
wrong=0
expect()
{
    local field=$1 expected=$2 found
    found=$(sed -n "s/.*\"$field\":\([0-9]*\)[,}].*/\1/p" <<<"$report")
    if [[ $found != "$expected" ]]; then
        echo "WRONG: $field is ${found:-not reported}, not $expected" >&2
        wrong=1
    fi
}
expect stopped 900000
expect fired 100000
expect pending 0
expect early 0
expect late_ticks_max 0
((wrong == 0)) || exit 1

echo
echo "OK: 900000 stopped, 100000 fired, none early, none late, none lost."
echo "Most of the time per operation is the judging: each timer is compared with a record of its own. What the"
echo "wheel takes, some nanoseconds a call, ./dev bench measures alone."
echo "Picture: $plot"
echo
echo "Next: ./dev serve --data orders --http 127.0.0.1:11380"
