#!/usr/bin/env bash
# Installs Debian's Go and Maven for the tests of registries, if they are not there and this user may
# install packages. Fails where one of them is still missing.
set -uo pipefail

missing() {
    for program in go mvn; do
        command -v "$program" >/dev/null || return 0
    done
    return 1
}

if missing && command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    echo "Installing Go and Maven, once."
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update && apt-get install --yes --no-install-recommends golang-go maven; } </dev/null >/dev/null 2>&1
fi
! missing
