#!/usr/bin/env bash
# All installed headers together in one C++ program, by each standard, without a warning.
set -euo pipefail
# shellcheck source=tests/project/install/support.sh
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
needs_cxx
start_empty cxx_headers

headers=$(cd "$PREFIX/include" && printf '#include <%s>\n' elapse/*.h)
printf '%s\nint main() { return elapse_version() == nullptr; }\n' "$headers" >all.cpp
for standard in c++11 c++17 c++20; do
    "$CXX" -std=$standard -Wall -Wextra -Wpedantic -Werror -I "$PREFIX/include" all.cpp \
        "$PREFIX/$lib/libelapse.a" -o "all-$standard"
    "./all-$standard" || fail "the program of $standard"
done
