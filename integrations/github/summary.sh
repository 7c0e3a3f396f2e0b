#!/usr/bin/env bash
# Adds the result to the job's summary. What agents and repositories wrote stands in it as code.
# shellcheck source-path=SCRIPTDIR source=api.sh
source "$(dirname "${BASH_SOURCE[0]}")/api.sh"
call GET "/v1/runs/$AWO_RUN"
jq -r '
    def code: tostring | gsub("[`|\r\n]"; " ") | "`\(.)`";
    def row($name; value): if value == null then empty else "| \($name) | \(value | code) |" end;
    "### Work order \(.workOrderId | code)", "", "| | |", "|---|---|",
    row("run"; .runId), row("status"; .status), row("verified"; .verified), row("branch"; .branch), row("commit"; .commit),
    (.prUrl // empty | if test("^https://[A-Za-z0-9._~:/-]+$") then "| pull request | <\(.)> |" else row("pull request"; .) end),
    row("iterations"; .iteration), row("credits"; .cost.credits),
    (.error // empty | "", "\(.code | code)", "", (.message | gsub("\r"; "") | split("\n")[] | "    \(.)"))
' "$answer" >>"$GITHUB_STEP_SUMMARY"
