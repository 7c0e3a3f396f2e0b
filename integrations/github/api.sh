# Calls of the service, for the scripts of the steps. They need bash, curl and jq.
# shellcheck shell=bash
set -euo pipefail

MAX_ATTEMPTS=6
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
answer=$scratch/answer

# Shows an error in the log and at the workflow's run, and ends. The text is one line of no further command.
fail() {
    local text=${1//'%'/%25}
    text=${text//$'\r'/%0D}
    printf '::error title=Work order::%s\n' "${text//$'\n'/%0A}"
    exit 1
}

# call METHOD PATH [curl's options]: the answer's body is in $answer. Repeats what fails in passing, so a POST needs
# an idempotency key. The API key goes to curl by its standard input, which no list of processes shows.
call() {
    local method=$1 path=$2 status pause=1 attempt
    shift 2
    [[ $AWO_API_KEY =~ ^[A-Za-z0-9_.-]+$ ]] || fail 'api-key is empty or is not an API key'
    for ((attempt = 1; ; attempt++)); do
        status=$(printf 'header = "Authorization: Bearer %s"\n' "$AWO_API_KEY" |
            curl --config - --silent --show-error --proto '=http,https' --max-time 60 --request "$method" \
                --output "$answer" --write-out '%{http_code}' "$@" "${AWO_URL%/}$path") || status=000
        case $status in
            2??) return ;;
            000 | 429 | 5??) ;;
            *) break ;;
        esac
        ((attempt < MAX_ATTEMPTS)) || break
        sleep "$pause"
        pause=$((pause * 2))
    done
    fail "$method $path: $(jq -r '"\(.error.code): \(.error.message)"' "$answer" 2>/dev/null || echo "no answer of the service (status $status)")"
}

# output NAME VALUE: an output of the step, on one line.
output() {
    printf '%s=%s\n' "$1" "${2//[$'\r\n']/ }" >>"$GITHUB_OUTPUT"
}
