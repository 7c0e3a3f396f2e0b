#!/usr/bin/env bash
# Waits for the run and writes its result as outputs. Ends with 1 unless the run succeeded, and was verified if
# that is required.
# shellcheck source-path=SCRIPTDIR source=api.sh
source "$(dirname "${BASH_SOURCE[0]}")/api.sh"

# Longest wait for the cost after the end, in seconds.
SETTLEMENT_LIMIT=60
limit=$(jq --null-input 'env.AWO_TIMEOUT_MINUTES | tonumber * 60 | floor' 2>/dev/null) || fail 'timeout-minutes is not a number'
deadline=$((SECONDS + limit))
ended='' shown=''
while :; do
    call GET "/v1/runs/$AWO_RUN"
    place=$(jq -r '"\(.status)\(if .phase then ", \(.phase)" else "" end), iteration \(.iteration) of \(.maxIterations)"' "$answer")
    [ "$place" = "$shown" ] || printf '%s\n' "$place"
    shown=$place
    if [ "$(jq -r 'has("completedAt")' "$answer")" = true ]; then
        : "${ended:=$SECONDS}"
        [ "$(jq -r 'has("settledAt")' "$answer")" = true ] && break
        ((SECONDS - ended < SETTLEMENT_LIMIT)) || break
        sleep 1
        continue
    fi
    ((SECONDS < deadline)) || break
    sleep "$AWO_POLL_SECONDS"
done

outputs=$(jq -r '{status, verified, branch, commit, "pull-request": .prUrl, credits: .cost.credits, "error-code": .error.code}
    | to_entries[] | "\(.key)\t\(if .value == null then "" else .value end)"' "$answer")
while IFS=$'\t' read -r name value; do
    output "$name" "$value"
done <<<"$outputs"

[ -n "$ended" ] || fail "the run has not ended after $AWO_TIMEOUT_MINUTES minutes; it continues"
[ "$(jq -r .status "$answer")" = succeeded ] ||
    fail "the run $(jq -r '.status + if .error then " (\(.error.code)): \(.error.message)" else "" end' "$answer")"
[ "$AWO_REQUIRE_VERIFIED" != true ] || [ "$(jq -r .verified "$answer")" = true ] ||
    fail 'the run succeeded, but no test verified its result'
