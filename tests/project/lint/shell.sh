#!/usr/bin/env bash
# No shell script gives shellcheck anything to say.
set -euo pipefail
source tests/project/lint/files.sh

shell_files | xargs shellcheck --external-sources
