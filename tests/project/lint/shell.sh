#!/usr/bin/env bash
# No shell script has a finding of shellcheck.
set -euo pipefail
source tests/project/lint/files.sh

shell_files | xargs shellcheck --external-sources
