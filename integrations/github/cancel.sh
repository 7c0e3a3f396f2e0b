#!/usr/bin/env bash
# Cancels the run of a workflow that was cancelled. To cancel a run twice has no other effect.
# shellcheck source-path=SCRIPTDIR source=api.sh
source "$(dirname "${BASH_SOURCE[0]}")/api.sh"
call POST "/v1/runs/$AWO_RUN/cancel"
echo "The run $AWO_RUN is cancelled."
