#!/usr/bin/env bash
# draw.sh: draws each .dot file beside it as an SVG file, with Graphviz (Debian: graphviz).
# The plots come from the benchmark: `./dev bench --plots DIRECTORY` and its kin.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
for file in *.dot; do
    dot -Tsvg "$file" -o "${file%.dot}.svg"
done
