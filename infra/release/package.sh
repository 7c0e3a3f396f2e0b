#!/usr/bin/env bash
# Packs programs as a release: package.sh PROGRAMS DIST VERSION TARGET [LICENSES]. PROGRAMS has `awo`, `awo-local` and
# `runner`, LICENSES the licences of what they link; DIST gets an archive with the layout of a prefix (bin/, share/), `install.sh`, and `SHA256SUMS` of
# everything in DIST whose name begins with `awo-`. The same programs give the same bytes.
set -euo pipefail
programs=$(realpath "$1") dist=$2 version=$3 target=$4
root=$(cd "$(dirname "$0")/../.." && pwd)
name=awo-$version-$target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tree=$work/$name
mkdir -p "$tree"/bin "$tree"/share/{man,doc/awo,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d} "$dist"
install -m 755 "$programs"/{awo,awo-local,runner} "$tree/bin"
"$programs/awo" man --dir "$tree/share/man/man1"
"$programs/awo" completions bash >"$tree/share/bash-completion/completions/awo"
"$programs/awo" completions zsh >"$tree/share/zsh/site-functions/_awo"
"$programs/awo" completions fish >"$tree/share/fish/vendor_completions.d/awo.fish"
install -m 644 "$root/infra/single-server/awo.service" "$tree/share"
install -m 644 "$root"/{LICENSE,CHANGELOG.md,SECURITY.md} "$tree/share/doc/awo"
[ -z "${5:-}" ] || install -m 644 "$5" "$tree/share/doc/awo"
chmod -R u=rwX,go=rX "$tree"

# The date of the commit, so that the time of the build does not matter.
date=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
tar --create --directory "$work" --sort=name --mtime="@$date" --owner=0 --group=0 --numeric-owner --format=gnu "$name" |
    gzip --no-name --best >"$work/archive"
mv "$work/archive" "$dist/$name.tar.gz"
chmod 644 "$dist/$name.tar.gz"
install -m 755 "$root/infra/release/install.sh" "$dist"
(cd "$dist" && sha256sum awo-* >"$work/sums" && install -m 644 "$work/sums" SHA256SUMS)
echo "$dist/$name.tar.gz"
