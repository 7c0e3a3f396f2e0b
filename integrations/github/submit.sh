#!/usr/bin/env bash
# Creates the work order. Outputs: work-order-id, run-id.
# shellcheck source-path=SCRIPTDIR source=api.sh
source "$(dirname "${BASH_SOURCE[0]}")/api.sh"
printf '::add-mask::%s\n' "$AWO_API_KEY"

request=$scratch/request
JOB="$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID" jq --null-input '
    {workspaceSource: ({type: "git", repository: env.AWO_REPOSITORY} + if env.AWO_BRANCH == "" then {} else {branch: env.AWO_BRANCH} end),
     metadata: {ciJob: env.JOB}}
    + if env.AWO_PROMPT == "" then {} else {taskPrompt: env.AWO_PROMPT} end
    | . * (env.AWO_BODY | fromjson)' >"$request" 2>/dev/null || fail 'body is not a JSON object'
call POST /v1/work-orders --header 'Content-Type: application/json' --header "Idempotency-Key: $AWO_IDEMPOTENCY_KEY" \
    --data-binary "@$request"
output work-order-id "$(jq -r .id "$answer")"
output run-id "$(jq -r .runId "$answer")"
jq -r '"Work order \(.id), run \(.runId)"' "$answer"
