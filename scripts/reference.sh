#!/usr/bin/env bash
# reference.sh [FOLDER]: writes the HTML reference, the manual pages as HTML, into FOLDER
# (build/reference).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 -B scripts/manual/html_pages.py "${1-build/reference}"
