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

# The demo as it is, in a terminal of this size; its pauses are kept, and the end stays for a while.
TERM=xterm-256color AWO_BIN_DIR=$binaries "$tools/python/bin/asciinema" rec --quiet --overwrite \
    --cols 96 --rows 40 --command "sh -c '\"$here/run.sh\"; sleep 6; echo'" "$tools/demo.cast"
"$tools/node_modules/.bin/svg-term" --in "$tools/demo.cast" --out "$picture" --window
