#!/usr/bin/env bash
# Installs what the console's tests need: Debian's Chromium, if it is not there and this user may install
# packages, and what package.json names, from npm: tests/console/install.sh DIR.
set -uo pipefail
dir=$1
here=$(dirname "$0")

# The installed browser, or nothing.
browser() { command -v chromium || command -v chromium-browser; }

missing() {
    echo "tests/console/install.sh: $1" >&2
    exit 1
}

if ! browser >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    echo "Installing Chromium, once."
    { apt-get update && apt-get install --yes --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1
fi
browser >/dev/null || missing 'no Chromium: install the package chromium'
command -v node >/dev/null || missing 'no Node.js'

if [ ! "$dir/installed" -nt "$here/package-lock.json" ]; then
    echo "Installing the tools of the console's tests from npm into $dir, once."
    rm -rf "$dir" && mkdir -p "$dir" && cp "$here/package.json" "$here/package-lock.json" "$dir"
    npm ci --prefix "$dir" --no-audit --no-fund --loglevel error || missing 'npm could not install the tools'
    touch "$dir/installed"
fi
