#!/usr/bin/env bash
# draw.sh: draws each .dot file of this folder as an SVG file, with Graphviz (Debian: graphviz).
# The plots are made by the benchmarks: `./dev bench --plots DIRECTORY`, also with --rivals or --runtimes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
for file in *.dot; do
    dot -Tsvg "$file" -o "${file%.dot}.svg"
done
