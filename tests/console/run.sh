#!/usr/bin/env bash
# Checks the console's types and runs its tests in a browser: tests/console/run.sh TOOLS SEED, the folder that
# install.sh has made and the program seed-console.
set -euo pipefail
here=$(dirname "$0")
"$here/check-types.sh" "$1"
CHROMIUM=$(command -v chromium || command -v chromium-browser) TOOLS=$(realpath "$1") SEED=$(realpath "$2") \
    node --test --test-reporter spec "$here/console.test.mjs"
