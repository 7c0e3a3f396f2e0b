#!/usr/bin/env bash
# Asks the Debian release of the image of runs whether the packages that its Dockerfile and that of the
# development container install can be installed there, stage by stage. Nothing is installed, and apt's own lists stay as they are.
set -euo pipefail
cd "$(dirname "$0")/../.."
file=infra/runner/Dockerfile
release=$(sed -n 's/^ARG DEBIAN_IMAGE=debian:\([a-z]*\)-slim@.*/\1/p' "$file")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,preferences,trusted}
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $release main" > "$work/sources"
: > "$work/status"
apt() {
    apt-get -q -o Dir::Etc::sourcelist="$work/sources" -o Dir::Etc::sourceparts=- \
        -o Dir::Etc::preferencesparts="$work/preferences" -o Dir::State::lists="$work/lists" \
        -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root "$@"
}
apt update > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
# The packages of each `apt-get install`, with the stage that it is in; `$PACKAGES` is whatever somebody names.
sed -s -e ':a' -e '/\\$/N; s/\\\n//; ta' "$file" .devcontainer/Dockerfile | awk '
    /^FROM / { stage = $NF ~ /RUST_IMAGE/ ? "devcontainer" : $NF }
    /apt-get install/ { sub(/.*--no-install-recommends/, ""); sub(/&&.*/, ""); gsub(/\$PACKAGES/, ""); print stage, $0 }' |
    while read -r stage packages; do
        # shellcheck disable=SC2086 # Names of packages are words.
        if ! apt --simulate install --no-install-recommends $packages > "$work/log" 2>&1; then
            cat "$work/log" >&2
            echo "$stage: not all of these can be installed in $release: $packages" >&2
            exit 1
        fi
        echo "$stage: $(grep -c ^Inst "$work/log") packages of $release"
    done
