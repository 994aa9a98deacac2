#!/usr/bin/env bash
# reference.sh [FOLDER [HEADERS]]: the HTML reference into FOLDER (build/reference), out of the
# headers in HEADERS (include/elapse). What Doxygen warns of is an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ELAPSE_REFERENCE=${1-build/reference}
ELAPSE_HEADERS=${2-include/elapse}
ELAPSE_VERSION=$(sed -n 's/.*ELAPSE_VERSION_TEXT *"\(.*\)"/\1/p' "$ELAPSE_HEADERS/version.h")
export ELAPSE_REFERENCE ELAPSE_HEADERS ELAPSE_VERSION

(($# > 0)) || rm -rf "$ELAPSE_REFERENCE"
mkdir -p "$ELAPSE_REFERENCE"
# Of a filter that fails Doxygen says nothing, but makes an empty page: so this comes first.
for header in "$ELAPSE_HEADERS"/*.h; do
    scripts/manual/reference_filter.py "$header" >/dev/null
done
doxygen docs/reference/Doxyfile
