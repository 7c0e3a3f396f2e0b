#!/usr/bin/env bash
# Runs a command with the programs of tests/agents/package.json before all others in the PATH:
# `run.sh INSTALLED COMMAND…`. The agents' user must get to them, and where this repository lies it
# may not; so they are found in a place of their own, as links where the file system allows that.
set -euo pipefail
installed=$1
shift
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
cp -al "$installed/node_modules" "$place/" 2>/dev/null || {
    rm -rf "$place/node_modules"
    cp -a "$installed/node_modules" "$place/"
}
PATH="$place/node_modules/.bin:$PATH" "$@"
