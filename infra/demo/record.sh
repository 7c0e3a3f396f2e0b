#!/usr/bin/env bash
# Records the demo as an animated picture: `record.sh TOOLS BINARIES PICTURE`. The tools (asciinema from
# PyPI, svg-term from npm) are installed into the first folder, once; neither becomes part of the product.
set -euo pipefail
tools=$1 binaries=$(realpath "$2") picture=$3
here=$(cd "$(dirname "$0")" && pwd)

if [ ! -e "$tools/installed" ]; then
    mkdir -p "$tools"
    python3 -m venv "$tools/python"
    "$tools/python/bin/pip" install --quiet --disable-pip-version-check asciinema==2.4.0
    npm install --prefix "$tools" --no-audit --no-fund --loglevel error svg-term-cli@2.1.1
    touch "$tools/installed"
fi

TERM=xterm-256color AWO_BIN_DIR=$binaries "$tools/python/bin/asciinema" rec --quiet --overwrite \
    --cols 96 --rows 40 --command "$here/run.sh" "$tools/demo.cast"

# Six times slower, so that it can be read, and the end stays for a while.
"$tools/python/bin/python" - "$tools/demo.cast" > "$tools/slow.cast" <<'SLOWER'
import json, sys
head, *events = open(sys.argv[1]).read().splitlines()
print(head)
at = 0
for at, kind, text in map(json.loads, events):
    print(json.dumps([at * 6, kind, text]))
print(json.dumps([at * 6 + 8, "o", "\n"]))
SLOWER
"$tools/node_modules/.bin/svg-term" --in "$tools/slow.cast" --out "$picture" --window
