#!/usr/bin/env bash
# run.sh [FILE...]: shows what the program built as release does. Without a FILE it
# makes a million orders, of which 900,000 are paid before their timer is due, and
# checks the outcome by the numbers; relative names are those of the caller's folder.
set -euo pipefail

build=$(cd "$(dirname "${BASH_SOURCE[0]}")/../build" && pwd)
elapse=$build/release/elapse

# Files of the caller's.
for file in "$@"; do
    name=${file##*/}
    [[ $file != - ]] || name=standard-input
    plot=$build/${name%%.*}.svg
    "$elapse" replay --plot "$plot" "$file"
    printf 'Picture: %s\n\n' "$plot"
done
(($# == 0)) || exit 0

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
((wrong == 0)) || exit 1

echo
echo "OK: 900000 stopped, 100000 fired, none early, none lost."
echo "Picture: $plot"
