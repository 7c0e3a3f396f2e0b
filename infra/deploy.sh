#!/usr/bin/env bash
# `make deploy`: checks the account before SAM changes it, prints the planned change, and asks for confirmation.
#   STACK, ARCH, AWS_REGION   the stack, its architecture, its region
#   ANSWERS                   the file of the answers for the stack
#   SAM                       the program
#   YES=1                     asks nothing
#   IGNORE_QUOTAS=1           continues although the account's quotas are too small
#   PLAN=1                    prints the changes of each resource, and leaves them as a change set
#   TAGS                      tags of the stack and its resources, as Name=value
#   arguments                 parameters of the template, as Name=value
set -euo pipefail

fail() { printf 'deploy: %s\n' "$@" >&2; exit 1; }
say() { printf 'deploy: %s\n' "$@"; }
ask() {
    [ "${YES:-}" != 1 ] || { say "$1 Yes."; return 0; }
    [ -t 0 ] || fail "$1" 'There is no terminal for an answer: YES=1 answers with yes.'
    local answer
    read -r -p "deploy: $1 [y/N] " answer
    [[ $answer == [yY]* ]]
}
# Of lines with Name=value: the last value of a name.
value_of() { sed -n "s/^$1=//p" | tail -n 1; }
default_of() { awk -v name="  $1:" '$0 == name { found = 1 } found && $1 == "Default:" { gsub("\047", "", $2); print $2; exit }' template.yaml; }

# The stack as CloudFormation has it: its status, then its parameters as Name=value.
stack=$(aws cloudformation describe-stacks --stack-name "$STACK" --output text \
    --query 'Stacks[0].[StackStatus, Parameters[].join(`=`, [ParameterKey, ParameterValue])][]' 2>&1) || {
    [[ $stack == *'does not exist'* ]] || fail "$stack"
    stack=NONE
}
status=${stack%%[[:space:]]*}
of_stack=$(tr '\t' '\n' <<<"$stack")
given=$(printf '%s\n' "$@")
saved=$(grep -v -e '^Region=' -e '^Unfinished=' "$ANSWERS" 2>/dev/null || true)

# The effective value: of this call, else of the stack or of its unfinished creation, else the template's default.
effective() {
    local value
    value=$(value_of "$1" <<<"$of_stack"$'\n'"$overrides")
    printf '%s' "${value:-$(default_of "$1")}"
}

# Of the same name, the later one. Bash 3 of macOS has no tables.
merge() { awk -F= 'NF > 1 { if (!($1 in value)) order[++n] = $1; value[$1] = $0 } END { for (i = 1; i <= n; i++) print value[order[i]] }'; }

case $status in
    NONE | REVIEW_IN_PROGRESS) new=1 of_stack='' ;;
    ROLLBACK_COMPLETE | ROLLBACK_FAILED | CREATE_FAILED)
        ask "The first deployment of $STACK failed ($status). Delete its remains and deploy again?" || exit 1
        aws cloudformation delete-stack --stack-name "$STACK"
        aws cloudformation wait stack-delete-complete --stack-name "$STACK"
        new=1 of_stack=''
        ;;
    UPDATE_ROLLBACK_FAILED) fail "An update of $STACK could be neither completed nor rolled back: aws cloudformation continue-update-rollback --stack-name $STACK" ;;
    DELETE_FAILED) fail "The deletion of $STACK failed: docs/deploy.md, \"Tearing down\"." ;;
    *_IN_PROGRESS) fail "$STACK is being changed ($status). Try again when that is over." ;;
    *) new='' ;;
esac

unfinished=$(value_of Unfinished 2>/dev/null <"$ANSWERS" || true)
# An existing stack retains its parameters that this call does not set. A new one, or one whose creation did not
# finish, gets the stored answers.
if [ -n "$new$unfinished" ]; then overrides=$(merge <<<"$saved"$'\n'"$given"); else overrides=$(merge <<<"$given"); fi
overrides=$(merge <<<"$overrides"$'\n'"Architecture=$ARCH")
if [ -z "$new" ]; then
    before=$(value_of Architecture <<<"$of_stack")
    [ "$before" = "$ARCH" ] || ask "$STACK has the architecture $before and changes to $ARCH: its runs need a new image (make image). Continue?" || exit 1
fi

# ---------------------------------------------------------------- logs of an earlier stack of this name
if [ -n "$new" ]; then
    logs=$(aws logs describe-log-groups --log-group-name-prefix "/awo/$STACK/" --query 'logGroups[].logGroupName' --output text)
    [ -z "$logs" ] || [ "$logs" = None ] || fail "An earlier stack $STACK has left its logs, and a new one cannot take them over: $(tr '\t' ' ' <<<"$logs")." \
        'Give another STACK=, or delete them: aws logs delete-log-group --log-group-name NAME'
fi

# ---------------------------------------------------------------- the role with which API Gateway writes logs
role=$(aws apigateway get-account --query cloudwatchRoleArn --output text)
wanted=$(value_of ApiLogRole <<<"$overrides")
if [ "$role" = None ]; then
    [ -n "$wanted" ] || [ -z "$new" ] || overrides+=$'\nApiLogRole=Create'
    [ "$wanted" != Existing ] || fail "ApiLogRole=Existing, and API Gateway has no role for logs in $AWS_REGION: set ApiLogRole=Create."
elif [ -z "$wanted" ]; then
    [ -z "$new" ] || overrides+=$'\nApiLogRole=Existing'
elif [ "$wanted" = Create ] && [ "$(value_of ApiLogRole <<<"$of_stack")" != Create ]; then
    ask "API Gateway writes its logs by $role, in the whole account and region. Replace it for all APIs there?" || exit 1
fi

# ---------------------------------------------------------------- the quotas of the account
too_small() {
    [ "${IGNORE_QUOTAS:-}" = 1 ] || fail "$@" 'IGNORE_QUOTAS=1 deploys nevertheless.'
    say "$@"
}
tasks=$(effective MaxTasks) cpu=$(effective RunnerCpu)
vcpus=$(aws service-quotas get-service-quota --service-code fargate --quota-code L-3032A538 --query Quota.Value --output text 2>/dev/null) || vcpus=''
# The cleaner of the file system needs some, too.
cleaner=256
if [ -n "$(effective SubnetIds)" ] || [ "$(effective Archives)" = Off ]; then [ -n "$(effective FileSystemId)" ] || cleaner=0; fi
needed=$(((tasks * cpu + cleaner + 1023) / 1024))
if [ -z "$vcpus" ]; then
    say "Fargate's quota could not be read: check that the account has $needed vCPUs for MaxTasks=$tasks."
elif [ "$needed" -gt "${vcpus%.*}" ]; then
    fitting=$(((${vcpus%.*} * 1024 - cleaner) / cpu))
    too_small "MaxTasks=$tasks tasks of $cpu CPU units and $cleaner for the cleaner are $needed vCPUs, and the account has ${vcpus%.*} on Fargate." \
        "Set PARAMETERS='MaxTasks=$((fitting > 0 ? fitting : 1))', or request more:" \
        "aws service-quotas request-service-quota-increase --service-code fargate --quota-code L-3032A538 --desired-value $needed"
fi
# Reservations count against what no function of the account has reserved; other stacks' are gone from it, and this one's too.
limits=$(aws lambda get-account-settings --query 'AccountLimit.[ConcurrentExecutions,UnreservedConcurrentExecutions]' --output text)
at_once=${limits%%[[:space:]]*} unreserved=${limits##*[[:space:]]}
current() { value_of "$1" <<<"$of_stack"; }
held=$(($(current StreamConcurrency || true) + $(current ControlConcurrency || true) + 0))
available=$((unreserved + held - 100))
# Enough to reserve some: the functions that runs depend on are guaranteed, and live streams are capped.
if [ -n "$new" ] && [ "$at_once" -ge 1000 ]; then
    if [ "$available" -ge 300 ]; then
        say "Sets ControlConcurrency=100 and StreamConcurrency=200 unless you give them: $unreserved concurrent functions of the account are not reserved."
        overrides=$(merge <<<$'ControlConcurrency=100\nStreamConcurrency=200\n'"$overrides")
    else
        say "Reserves no concurrent functions unless you give ControlConcurrency and StreamConcurrency: $unreserved of the account are not reserved," \
            'and Lambda keeps 100 of them unreserved. An update can reserve some later (docs/deploy.md, "Parameters").'
    fi
fi
reserved=$(($(effective StreamConcurrency) + $(effective ControlConcurrency)))
if [ "$reserved" -gt "$held" ] && [ "$reserved" -gt "$available" ]; then
    too_small "StreamConcurrency and ControlConcurrency reserve $reserved concurrent functions, and this stack may have $((available > 0 ? available : 0)): of the account's $at_once, $unreserved are not reserved, and 100 must stay so." \
        "Set PARAMETERS='StreamConcurrency=0 ControlConcurrency=0', or request more:" \
        "aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value $((at_once + 1000))"
elif [ "$at_once" -lt 100 ]; then
    say "The account's limit is $at_once concurrent functions, which a few live streams of runs use up. Request 1000:" \
        'aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value 1000'
fi

# Networks and addresses that a stack with these parameters has.
networks() { [ -n "$1" ] && echo 0 || echo 1; }
addresses() {
    case "$1/$2" in
        /NatPerZone) echo 2 ;;
        /Nat) echo 1 ;;
        *) echo 0 ;;
    esac
}
# Of what the account has, whether there is room for more: what, number of more, how many there are, quota with its code.
room_for() {
    local quota
    [ "$2" -gt 0 ] || return 0
    quota=$(aws service-quotas get-service-quota --service-code "$4" --quota-code "$5" --query Quota.Value --output text 2>/dev/null) || quota=5
    [ $(($2 + $3)) -le "${quota%.*}" ] || too_small "The stack makes $2 $1 more, and $AWS_REGION has $3 of ${quota%.*}." \
        "Set PARAMETERS='SubnetIds=… SecurityGroupIds=…' or Network=Public (docs/deploy.md, \"The network\"), or request more:" \
        "aws service-quotas request-service-quota-increase --service-code $4 --quota-code $5 --desired-value $(($2 + $3))"
}
subnets=$(effective SubnetIds) kind=$(effective Network)
more_networks=$(networks "$subnets") more_addresses=$(addresses "$subnets" "$kind")
if [ -z "$new" ]; then
    more_networks=$((more_networks - $(networks "$(current SubnetIds)")))
    more_addresses=$((more_addresses - $(addresses "$(current SubnetIds)" "$(current Network)")))
fi
[ "$more_networks" -le 0 ] || room_for VPC "$more_networks" "$(aws ec2 describe-vpcs --query 'length(Vpcs)' --output text)" vpc L-F678F1CE
[ "$more_addresses" -le 0 ] || room_for 'Elastic IP address' "$more_addresses" "$(aws ec2 describe-addresses --query 'length(Addresses)' --output text)" ec2 L-0263D0A3

# ---------------------------------------------------------------- deploy
account=$(aws sts get-caller-identity --query Account --output text)
verb=$([ -n "$new" ] && echo Make || echo Update)
[ -z "${PLAN:-}" ] || verb="Plan only: $verb"
ask "$verb the stack $STACK in $AWS_REGION of the account $account, with $(tr '\n' ' ' <<<"$overrides")?" || exit 1
mkdir -p "$(dirname "$ANSWERS")"
answers() { { merge <<<"$saved"$'\n'"$overrides"; echo "Region=$AWS_REGION"; printf '%s' "${1:-}"; } >"$ANSWERS.new" && mv "$ANSWERS.new" "$ANSWERS"; }

"${MAKE:-make}" --no-print-directory sam-build STACK="$STACK" ARCH="$ARCH"

tags=()
for tag in ${TAGS:-}; do
    [[ $tag == ?*=* ]] || fail "TAGS: $tag is not Name=value."
    tags+=("$tag")
done
if [ -n "${PLAN:-}" ]; then
    # As the first deployment would: the data is protected in a second step.
    [ -z "$new" ] || overrides=$(merge <<<"$overrides"$'\nDataOnDelete=Delete')
fi

# A cluster's first task in an account needs this role, and ECS creates it too late for the first stack.
if [ -z "${PLAN:-}" ]; then
    linked=$(aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com 2>&1) ||
        [[ $linked == *'has been taken'* || $linked == *EntityAlreadyExists* ]] || fail "$linked"
fi

resources() {
    aws cloudformation describe-stack-resources --stack-name "$STACK" --output text \
        --query "StackResources[?ResourceType=='$1'].PhysicalResourceId" | tr '\t' '\n'
}
application() { resources AWS::CodeDeploy::Application; }
sam_deploy() {
    local parameters=()
    while IFS= read -r parameter; do [ -z "$parameter" ] || parameters+=("$parameter"); done
    "$SAM" deploy --stack-name "$STACK" --region "$AWS_REGION" --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND \
        --resolve-s3 --no-progressbar --no-fail-on-empty-changeset "$change_set" ${tags[@]+--tags "${tags[@]}"} \
        --parameter-overrides "${parameters[@]}"
}
change_set=--no-confirm-changeset
if [ -n "${PLAN:-}" ]; then
    change_set=--no-execute-changeset
    sam_deploy <<<"$overrides"
    say "Nothing was changed. The changes are a change set of $STACK, and \`make deploy\` without PLAN makes them."
    exit 0
fi

# CodeDeploy refuses to begin while an alarm is active, and a deployment group keeps the alarms that it has.
if [ "$(effective DeployAlarms)" = Off ]; then
    say 'DeployAlarms=Off: no alarm stops this update or rolls it back. Set DeployAlarms=On afterwards.'
    [ -n "$new" ] || while read -r group; do
        [ -z "$group" ] || [ "$group" = None ] || aws deploy update-deployment-group --application-name "$(application)" \
            --current-deployment-group-name "$group" --alarm-configuration enabled=false >/dev/null
    done < <(resources AWS::CodeDeploy::DeploymentGroup)
fi
if [ -n "$new" ]; then
    # The resources of a failed first deployment must not remain. Protection of the data follows once the stack
    # exists.
    answers $'Unfinished=1\n'
    sam_deploy <<<"$(merge <<<"$overrides"$'\n'"DataOnDelete=Delete")" || {
        aws cloudformation describe-stack-events --stack-name "$STACK" --output text --query \
            'StackEvents[?ResourceStatus==`CREATE_FAILED`].[LogicalResourceId,ResourceStatusReason]' >&2 2>/dev/null || true
        fail "The first deployment failed. \`make deploy\` deletes its remains and tries again, with the answers in $ANSWERS."
    }
    [ "$(effective DataOnDelete)" = Delete ] || sam_deploy <<<"$(merge <<<"$overrides"$'\n'"DataOnDelete=$(effective DataOnDelete)")"
elif [ -n "$unfinished" ]; then
    sam_deploy <<<"$(merge <<<"DataOnDelete=$(default_of DataOnDelete)"$'\n'"$overrides")"
else
    sam_deploy <<<"$overrides"
fi
answers
say "$STACK is deployed. \`make image\` pushes the image of runs; docs/deploy.md has the next steps."
