#!/usr/bin/env bash
# `make restore`: brings tables of a stack back to a moment, under their names, so that the stack goes on with them.
#   STACK, AWS_REGION   the stack and its region
#   AT                  the moment, as 2026-11-20T08:00:00Z
#   TABLES              outputs of the stack that name tables; the four of a stack unless set
#   YES=1               asks nothing
# Each step is skipped if it is done already, so an interrupted call is repeated with the same AT.
set -euo pipefail
# Times are compared as text.
export TZ=UTC LC_ALL=C

fail() { printf 'restore: %s\n' "$@" >&2; exit 1; }
say() { printf 'restore: %s\n' "$@"; }
pause=${PAUSE_SECONDS:-15}
read -r -a outputs <<<"${TABLES:-WorkTable LedgerTable SettingsTable DeliveriesTable}"
[[ ${AT:-} =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$ ]] || fail 'AT is the moment to return to, as AT=2026-11-20T08:00:00Z.'
# Part of the names of what this call makes, so that a repeated one finds it.
stamp=$(tr -d ':-' <<<"$AT")

status() { aws dynamodb describe-table --table-name "$1" --query Table.TableStatus --output text 2>/dev/null || echo NONE; }
until_status() {
    until [ "$(status "$1")" = "$2" ]; do sleep "$pause"; done
}
backup_of() {
    aws dynamodb list-backups --table-name "$1" --backup-type USER --output text \
        --query "BackupSummaries[?BackupName=='$2' && BackupStatus=='AVAILABLE'].BackupArn | [0]"
}
# Makes a backup of a table and waits for it.
back_up() {
    local backup
    backup=$(backup_of "$1" "$2")
    [ "$backup" != None ] || backup=$(aws dynamodb create-backup --table-name "$1" --backup-name "$2" --query BackupDetails.BackupArn --output text)
    until [ "$(aws dynamodb describe-backup --backup-arn "$backup" --query BackupDescription.BackupDetails.BackupStatus --output text)" = AVAILABLE ]; do sleep "$pause"; done
}

tables=()
for output in "${outputs[@]}"; do
    table=$(aws cloudformation describe-stacks --stack-name "$STACK" --query "Stacks[0].Outputs[?OutputKey=='$output'].OutputValue" --output text)
    [ -n "$table" ] && [ "$table" != None ] || fail "The stack $STACK has no output $output."
    tables+=("$table")
done
# The settings that a restored table lacks, from the tables as they are: attribute of expiry, protection, own tags.
settings=".local/restore/$STACK-$stamp"
mkdir -p "$settings"
for table in "${tables[@]}"; do
    [ ! -s "$settings/$table" ] || continue
    [ "$(status "$table")" = ACTIVE ] || fail "$table is not there, and neither are its settings: docs/deploy.md, \"A table that was deleted\"."
    window=$(aws dynamodb describe-continuous-backups --table-name "$table" --output text --query \
        'ContinuousBackupsDescription.PointInTimeRecoveryDescription.[PointInTimeRecoveryStatus,EarliestRestorableDateTime,LatestRestorableDateTime]')
    read -r recovery earliest latest <<<"$window"
    [ "$recovery" = ENABLED ] || fail "$table has no point-in-time recovery."
    # Both in UTC and of the same form, so letters compare as times do.
    [[ ! ${AT%Z} < ${earliest:0:19} && ! ${AT%Z} > ${latest:0:19} ]] || fail "$table can be restored to moments from $earliest to $latest, and AT is $AT."
    description=$(aws dynamodb describe-table --table-name "$table" --query 'Table.[DeletionProtectionEnabled,TableArn]' --output text)
    read -r protected arn <<<"$description"
    expiry=$(aws dynamodb describe-time-to-live --table-name "$table" --query TimeToLiveDescription.AttributeName --output text)
    tags=$(aws dynamodb list-tags-of-resource --resource-arn "$arn" --query "Tags[?!starts_with(Key, 'aws:')]" --output json | tr -d '\n')
    printf '%s\n' "$protected" "$arn" "$expiry" "$tags" >"$settings/$table.new"
    mv "$settings/$table.new" "$settings/$table"
done

say "Restores ${tables[*]} of $STACK to $AT. Everything written since is lost in them, and the service fails while they are replaced."
if [ "${YES:-}" != 1 ]; then
    [ -t 0 ] || fail 'There is no terminal for an answer: YES=1 answers with yes.'
    read -r -p 'restore: Continue? [y/N] ' answer
    [[ $answer == [yY]* ]] || exit 1
fi

# ---------------------------------------------------------------- beside the tables, which takes hours if they are large
for table in "${tables[@]}"; do
    copy="$table-$stamp"
    [ "$(status "$copy")" != NONE ] || [ "$(backup_of "$copy" "$copy")" != None ] || aws dynamodb restore-table-to-point-in-time \
        --source-table-name "$table" --target-table-name "$copy" --restore-date-time "$AT" >/dev/null
done
for table in "${tables[@]}"; do
    copy="$table-$stamp"
    [ "$(backup_of "$copy" "$copy")" = None ] || continue
    until_status "$copy" ACTIVE
    back_up "$copy" "$copy"
    say "$copy is $table as of $AT."
done
# Of what is there, for those who look for the cause.
for table in "${tables[@]}"; do
    [ "$(status "$table")" != ACTIVE ] || [ -e "$settings/$table.replaced" ] || back_up "$table" "$table-$stamp-damaged"
done

# ---------------------------------------------------------------- in their places
for table in "${tables[@]}"; do
    [ ! -e "$settings/$table.replaced" ] || continue
    if [ "$(status "$table")" = ACTIVE ]; then
        aws dynamodb update-table --table-name "$table" --no-deletion-protection-enabled >/dev/null
        until_status "$table" ACTIVE
        aws dynamodb delete-table --table-name "$table" >/dev/null
    fi
    until_status "$table" NONE
    touch "$settings/$table.replaced"
done
for table in "${tables[@]}"; do
    [ "$(status "$table")" != NONE ] || aws dynamodb restore-table-from-backup --target-table-name "$table" \
        --backup-arn "$(backup_of "$table-$stamp" "$table-$stamp")" >/dev/null
done
for table in "${tables[@]}"; do
    until_status "$table" ACTIVE
    { read -r protected && read -r arn && read -r expiry && read -r tags; } <"$settings/$table"
    [ "$(aws dynamodb describe-time-to-live --table-name "$table" --query TimeToLiveDescription.AttributeName --output text)" = "$expiry" ] ||
        aws dynamodb update-time-to-live --table-name "$table" --time-to-live-specification "Enabled=true,AttributeName=$expiry" >/dev/null
    aws dynamodb update-continuous-backups --table-name "$table" --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true >/dev/null
    [ "$tags" = '[]' ] || aws dynamodb tag-resource --resource-arn "$arn" --tags "$tags"
    # The last one, since the table is not ACTIVE for a moment afterwards.
    [ "$protected" != True ] || aws dynamodb update-table --table-name "$table" --deletion-protection-enabled >/dev/null
    say "$table is back, with expiry, recovery and protection as before."
done
for table in "${tables[@]}"; do
    [ "$(status "$table-$stamp")" != ACTIVE ] || aws dynamodb delete-table --table-name "$table-$stamp" >/dev/null
done
say "Next: awo admin check-ledger. The backups $stamp and $stamp-damaged of each table remain until you delete them."
