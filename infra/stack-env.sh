#!/usr/bin/env bash
# From a stack's outputs (name, tab, value; a line each) to shell exports: what `awo admin` and `awo` read, and
# what the commands of docs/operate.md name. Values are quoted: an output is data.
set -euo pipefail
stack=${1:?the name of the stack}
declare -A variables=(
    [ApiUrl]=AWO_URL
    [WorkTable]=AWO_WORK_TABLE
    [LedgerTable]=AWO_LEDGER_TABLE
    [SettingsTable]=AWO_SETTINGS_TABLE
    [DeliveriesTable]=AWO_DELIVERIES_TABLE
    [RunQueueUrl]=RUN_QUEUE
    [RunDeadLettersUrl]=RUN_DEAD_LETTERS
    [DeliveriesQueueUrl]=DELIVERIES_QUEUE
    [DeliveriesDeadLettersUrl]=DELIVERIES_DEAD_LETTERS
    [Cluster]=CLUSTER
    [RunnerTask]=RUNNER_TASK
    [RunnerRepository]=RUNNER_REPOSITORY
    [Files]=FILES
    [FunctionLogs]=FUNCTION_LOGS
    [ApiLogs]=API_LOGS
    [RunnerLogs]=RUNNER_LOGS
)
needed=" ApiUrl WorkTable LedgerTable SettingsTable DeliveriesTable "
exports=$(printf 'export STACK=%q\nexport AWO_STACK=%q' "$stack" "$stack")
region=""
while IFS=$'\t' read -r output value; do
    if [ -n "${variables[$output]:-}" ]; then
        exports+=$(printf '\nexport %s=%q' "${variables[$output]}" "$value")
        needed=${needed/ $output / }
        # https://….execute-api.REGION.amazonaws.com/live
        [[ $output != ApiUrl || ! $value =~ \.execute-api\.([a-z0-9-]+)\. ]] || region=${BASH_REMATCH[1]}
    fi
done
if [ -n "${needed// /}" ]; then
    echo "stack-env: the stack $stack has no output:$needed- is it deployed, and this one?" >&2
    exit 1
fi
printf '%s\n' "$exports"
[ -z "$region" ] || printf 'export AWS_REGION=%q\n' "$region"
