#!/usr/bin/env bash
# The layout of every C file is that of .clang-format.
set -euo pipefail
source tests/project/lint/files.sh

c_files | xargs clang-format --dry-run -Werror
