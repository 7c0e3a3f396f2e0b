#!/usr/bin/env bash
# A dependency that two commands build with different features is built twice, and so is all that stands
# on it. This fails when the programs of `make demo` or the tests of `-p awo-tests` ask for other features
# of a dependency than the whole workspace does; the fix is a feature in the manifest of `awo-local` or
# `awo-tests`, which says so.
set -euo pipefail
cd "$(dirname "$0")/.."

features() {
    cargo tree --locked --prefix none --format '{p} {f}' "$@" | sed 's/ (.*)$//' | grep -v '^awo' | sort -u
}

differences=0
compare() {
    local name=$1
    shift
    local other
    other=$(comm -23 <(features "$@") <(features --workspace --edges normal,build,dev))
    if [ -n "$other" ]; then
        printf '%s builds these with features of its own:\n%s\n' "$name" "$other" >&2
        differences=1
    fi
}

compare 'make demo' -p awo -p awo-local -p awo-runner --edges normal,build
compare '-p awo-tests' -p awo-tests --edges normal,build,dev
exit "$differences"
