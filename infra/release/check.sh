#!/usr/bin/env bash
# Installs a release into an empty folder, without root where that can be, and shows the demo with what was
# installed: check.sh DIST.
set -euo pipefail
dist=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
# The runner works as another user where it can.
chmod 711 "$work"
trap 'rm -rf "$work"' EXIT

(cd "$dist" && sha256sum --check --quiet SHA256SUMS)
sh "$dist/install.sh" "file://$dist" --prefix "$work/prefix"
"$work/prefix/bin/awo-local" --version
"$work/prefix/bin/awo" --version
test -s "$work/prefix/share/man/man1/awo.1" -a -s "$work/prefix/share/man/man1/awo-submit.1"
grep -q "^ExecStart=$work/prefix/bin/awo-local$" "$work/prefix/share/awo.service"
# Each program's dependencies are in its bill of materials.
for program in awo awo-local runner; do
    python3 - "$dist"/awo-*-linux-gnu-"$program".cdx.json <<'BILL'
import json, sys
bill = json.load(open(sys.argv[1], encoding="utf-8"))
if bill["bomFormat"] != "CycloneDX" or len(bill["components"]) < 20 or "file:///" in json.dumps(bill):
    sys.exit(f"check.sh: {sys.argv[1]} lacks components, or names a path of the machine that built it")
BILL
done
AWO_BIN_DIR=$work/prefix/bin "$root/infra/demo/run.sh" >"$work/demo.log" || { cat "$work/demo.log" >&2; exit 1; }
tail -n 2 "$work/demo.log" | head -n 1
