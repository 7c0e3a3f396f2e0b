#!/bin/sh
# Installs awo, awo-local and runner from a release, without root and without a compiler. The archive is
# compared with the release's SHA256SUMS before anything of it is unpacked.
set -eu

usage() {
    cat <<'USAGE'
Usage: install.sh RELEASE [--prefix DIR]

  RELEASE       where the files of a release are: a folder, or a URL (https, file, or http of this machine)
  --prefix DIR  folder that gets bin/ and share/; ~/.local without it

Examples:
  sh install.sh target/dist                       # what `make dist` has built
  curl -fsSL "$RELEASE/install.sh" | sh -s -- "$RELEASE"
USAGE
}

# Largest files that are downloaded, in bytes, and longest time for one, in seconds.
MAX_SUMS=1000000
MAX_ARCHIVE=500000000
MAX_SECONDS=900

# fail FAULT [REMEDY]
fail() {
    printf 'install.sh: %s\n' "$1" >&2
    [ -z "${2:-}" ] || printf '  what to do: %s\n' "$2" >&2
    exit 1
}

need() {
    command -v "$1" >/dev/null 2>&1 || fail "there is no program $1" "install the package $1"
}

# The target of the archive for this machine.
target() {
    [ "$(uname -s)" = Linux ] || fail "a release has no programs for $(uname -s)" 'build from source: README.md'
    case "$(uname -m)" in
        x86_64 | amd64) echo x86_64-unknown-linux-gnu ;;
        aarch64 | arm64) echo aarch64-unknown-linux-gnu ;;
        *) fail "a release has no programs for $(uname -m)" 'build from source: README.md' ;;
    esac
}

# True if a URL's host is this machine, by any port.
is_loopback() {
    authority=${1#http://}
    authority=${authority%%/*}
    case "$authority" in
        *:*) port=${authority##*:} host=${authority%:*} ;;
        *) port=80 host=$authority ;;
    esac
    case "$port" in '' | *[!0-9]*) return 1 ;; esac
    case "$host" in 127.0.0.1 | localhost) ;; *) return 1 ;; esac
}

# fetch NAME FILE BYTES: a file of the release.
fetch() {
    case "$release" in
        https://*) protocol='=https' ;;
        http://*)
            is_loopback "$release" || fail "$release is not encrypted" 'use https'
            protocol='=http'
            ;;
        *://*) fail "$release is no address that this program knows" 'use https, file or a folder' ;;
        *)
            cp "$release/$1" "$2" 2>/dev/null || fail "cannot read $release/$1" 'name the folder that has SHA256SUMS'
            return
            ;;
    esac
    need curl
    curl --proto "$protocol" --proto-redir "$protocol" --fail --silent --show-error --location --retry 2 \
        --max-time "$MAX_SECONDS" --max-filesize "$3" --output "$2" "$release/$1" ||
        fail "cannot download $release/$1" 'compare the address with that of SHA256SUMS in a browser'
}

# The SHA-256 of a file.
checksum() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1" | cut -c 1-64
    else
        need shasum
        shasum -a 256 "$1" | cut -c 1-64
    fi
}

# place FILE TARGET: replaces a file at once, also a program that runs.
place() {
    mkdir -p "$(dirname "$2")" && cp -p "$1" "$2.new.$$" && mv -f "$2.new.$$" "$2" ||
        fail "cannot write $2" 'choose a folder of yours with --prefix'
}

main() {
    release='' prefix=${HOME:-}/.local
    while [ $# -gt 0 ]; do
        case "$1" in
            -h | --help)
                usage
                exit 0
                ;;
            --prefix)
                [ -n "${2:-}" ] || fail '--prefix needs a folder' 'sh install.sh --help'
                prefix=$2
                shift
                ;;
            --prefix=?*) prefix=${1#--prefix=} ;;
            -*) fail "there is no option $1" 'sh install.sh --help' ;;
            *)
                [ -z "$release" ] || fail "one release is installed, and $1 is a second one" 'sh install.sh --help'
                release=${1%/}
                ;;
        esac
        shift
    done
    if [ -z "$release" ]; then
        usage >&2
        exit 2
    fi
    release=${release#file://}
    for program in awk tar gzip sed find; do need "$program"; done

    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    target=$(target)
    fetch SHA256SUMS "$work/sums" "$MAX_SUMS"
    # The archive of this machine, whose name is nothing but a name.
    awk -v target="$target" 'length($1) == 64 && $1 !~ /[^0-9a-f]/ && NF == 2 {
        name = $2; sub(/^\*/, "", name)
        end = "-" target ".tar.gz"
        if (name !~ /[^0-9A-Za-z._+-]/ && name ~ /^awo-[0-9]/ && substr(name, length(name) - length(end) + 1) == end) print $1, name
    }' "$work/sums" >"$work/archives"
    case "$(wc -l <"$work/archives" | tr -d ' ')" in
        1) read -r expected name <"$work/archives" ;;
        0) fail "SHA256SUMS of $release has no archive for $target" 'choose another release, or build from source: README.md' ;;
        *) fail "SHA256SUMS of $release has several archives for $target" 'name the folder of one release' ;;
    esac
    fetch "$name" "$work/$name" "$MAX_ARCHIVE"
    actual=$(checksum "$work/$name")
    [ "$actual" = "$expected" ] ||
        fail "$name has the SHA-256 $actual, and SHA256SUMS states $expected: nothing was installed" \
            'download it again; if it stays so, report it to who publishes the release'

    tar -xzf "$work/$name" -C "$work" --no-same-owner || fail "$name cannot be unpacked" 'report it to who publishes the release'
    tree=$work/${name%.tar.gz}
    for program in awo awo-local runner; do
        [ -x "$tree/bin/$program" ] || fail "$name lacks bin/$program" 'report it to who publishes the release'
    done
    version=$("$tree/bin/awo" --version 2>&1) ||
        fail "the programs do not run on this machine: $version" 'build from source: README.md'

    mkdir -p "$prefix/bin" 2>/dev/null && [ -w "$prefix/bin" ] ||
        fail "cannot write to $prefix/bin" 'choose a folder of yours with --prefix'
    prefix=$(cd "$prefix" && pwd)
    # The unit starts the program where it is installed.
    escaped=$(printf '%s' "$prefix" | sed 's/[&|\\]/\\&/g')
    sed "s|/opt/awo|$escaped|g" "$tree/share/awo.service" >"$work/unit" && cp "$work/unit" "$tree/share/awo.service"
    (cd "$tree" && find bin share -type f) >"$work/files"
    while read -r file; do
        place "$tree/$file" "$prefix/$file"
    done <"$work/files"

    printf 'Installed %s below %s.\n' "$version" "$prefix"
    case ":$PATH:" in
        *":$prefix/bin:"*) ;;
        *) printf 'Add it to your PATH:\n\n    export PATH="%s/bin:$PATH"\n\n' "$prefix" ;;
    esac
    printf 'Start the service with `awo-local`; `awo --help` lists the commands.\n'
}

# At the end, so that a download that breaks off runs nothing.
main "$@"
