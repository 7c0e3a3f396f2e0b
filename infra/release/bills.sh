#!/usr/bin/env bash
# Writes a bill of materials (CycloneDX) for each released program: bills.sh CARGO_CYCLONEDX DIST VERSION TARGET.
# cargo-cyclonedx writes beside every manifest of the workspace; nothing of that stays.
set -euo pipefail
cyclonedx=$(realpath "$1") dist=$(realpath "$2") version=$3 target=$4
cd "$(dirname "$0")/../.."
root=$(pwd)
bill=awo-bill-of-materials

clean() { find . -path ./target -prune -o -name "$bill.json" -exec rm {} +; }
trap clean EXIT

# The date of the commit, so that the same sources give the same bytes.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
"$cyclonedx" cyclonedx --quiet --format json --spec-version 1.5 --target "$target" --no-build-deps \
    --override-filename "$bill"
for program in infra/cli:awo infra/local:awo-local functions/runner:runner; do
    # Paths of the machine that builds are nobody's business.
    sed "s|path+file://$root|path+file://.|g" "${program%%:*}/$bill.json" >"$dist/awo-$version-$target-${program##*:}.cdx.json"
done
