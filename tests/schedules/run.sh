#!/usr/bin/env bash
# Compares random expressions with croniter (PyPI) and cron-parser (npm): run.sh DIRECTORY BINARY NUMBER SEED.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
directory=$1 binary=$2 number=$3 seed=$4

mkdir -p "$directory"
if [ ! -x "$directory/venv/bin/python" ]; then
    python3 -m venv "$directory/venv"
fi
"$directory/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
cp "$here/package.json" "$here/check.mjs" "$directory"
npm install --prefix "$directory" --no-audit --no-fund --no-package-lock --loglevel error

echo "Expressions of seed $seed"
"$binary" "$number" "$seed" >"$directory/cases"
"$directory/venv/bin/python" "$here/check.py" <"$directory/cases"
node "$directory/check.mjs" <"$directory/cases"
