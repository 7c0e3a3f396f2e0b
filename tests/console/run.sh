#!/usr/bin/env bash
# Checks the console's types and runs its tests in a browser: tests/console/run.sh TOOLS SEED, the folder that
# install.sh has made and the program seed-console. With a number of runs behind these it measures instead how
# long the first page takes with so many. FOCUS_PYTHON names the Python that has DuckDB, if there is one.
set -euo pipefail
here=$(dirname "$0")
CHROMIUM=$(command -v chromium || command -v chromium-browser)
TOOLS=$(realpath "$1")
SEED=$(realpath "$2")
export CHROMIUM TOOLS SEED
if [ $# -gt 2 ]; then
    exec node "$here/measure.mjs" "$3"
fi
"$here/check-types.sh" "$1"
node --test --test-reporter spec "$here/console.test.mjs" "$here/engineers.test.mjs" "$here/finance.test.mjs" "$here/questions.test.mjs"
