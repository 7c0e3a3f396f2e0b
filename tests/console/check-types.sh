#!/usr/bin/env bash
# Checks the console's scripts against the types of the API's document: tests/console/check-types.sh TOOLS,
# the folder in which npm has installed what package.json names.
set -euo pipefail
tools=$(realpath "$1")
cd "$(dirname "$0")/../.."
checked=$tools/checked
rm -rf "$checked" && mkdir -p "$checked"
cp functions/console/static/*.js functions/console/types/* "$checked"
"$tools/node_modules/.bin/openapi-typescript" docs/openapi.json --output "$checked/api.types.d.ts" >/dev/null
"$tools/node_modules/.bin/tsc" --project "$checked"
