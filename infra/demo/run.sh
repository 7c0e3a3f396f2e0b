#!/bin/sh
# The demo: a real git repository with failing tests, the service, one work order, and a check of
# the result that does not take the service's word for it.
#
# Everything lives in one temporary directory that is removed at the end. AWO_BIN_DIR names the folder of the
# programs `awo`, `awo-local` and `runner`.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${AWO_BIN_DIR:-$here/../../target/debug}" && pwd)
# The runner works as another user where it can, so the directory above it is open to passers.
work=$(mktemp -d "${TMPDIR:-/tmp}/awo-demo.XXXXXX")
chmod 711 "$work"
log=$work/service.log
origin=$work/origin.git
service=''
succeeded=''

# finish [CODE]: ends the started processes, and reports the fault unless the demo was interrupted.
finish() {
    trap - EXIT INT TERM
    if [ -n "$service" ]; then
        kill "$service" 2>/dev/null || true
        wait "$service" 2>/dev/null || true
    fi
    if [ -n "${1:-}" ]; then
        printf '\nInterrupted; nothing of the demo is left.\n' >&2
    elif [ -z "$succeeded" ] && [ -s "$log" ]; then
        printf '\nThe demo did not get to its end. The last lines of the service:\n' >&2
        grep -v '"event":"request"' "$log" | tail -n 30 >&2
    fi
    rm -rf "$work"
    [ -n "$succeeded" ] || exit "${1:-1}"
}
trap finish EXIT
trap 'finish 130' INT
trap 'finish 143' TERM

step() {
    if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
        printf '\n\033[1m%s\033[0m\n' "$*"
    else
        printf '\n%s\n' "$*"
    fi
}

# The same result whatever this machine's git is set to.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0

# checked DIRECTORY: runs the project's tests there, indented; exits as they do.
checked() {
    if make -s -C "$1" test >"$work/tests.log" 2>&1; then outcome=0; else outcome=1; fi
    grep -v '^make' "$work/tests.log" | sed 's/^/    /'
    return $outcome
}

step '1. A repository whose tests fail'
git init -q --bare --initial-branch=main "$origin"
cp -R "$here/project" "$work/author"
rm -rf "$work/author/build"
cd "$work/author"
git init -q --initial-branch=main
git add -A
git -c user.name=Author -c user.email=author@example.com commit -q -m 'Add the almanac library'
git push -q "$origin" main
cd "$work"
if checked "$work/author"; then
    echo 'The tests pass already: there is nothing to show.' >&2
    exit 1
fi

step '2. The service starts: API, queue, database and runner on this machine only'
export AWO_DATA_DIR="$work/data" AWO_READY_FILE="$work/ready"
export AWO_PORT=0 AWO_ALLOW_FILE_REPOSITORIES=1
unset AWO_URL AWO_API_KEY AWO_WORKSPACE_ROOT
"$bin/awo-local" >"$log" 2>&1 &
service=$!
waited=0
until [ -s "$AWO_READY_FILE" ]; do
    if ! kill -0 "$service" 2>/dev/null || [ "$waited" -ge 300 ]; then
        echo 'The service did not start.' >&2
        exit 1
    fi
    waited=$((waited + 1))
    sleep 0.1
done
echo "    it is ready on $(sed 's/.*"baseUrl":"\([^"]*\)".*/\1/' "$AWO_READY_FILE")"

step '3. A work order, followed to its end'
cat >"$work/task.txt" <<'TASK'
Some of the almanac's functions are wrong. Two complaints are known:
1900 counts as a leap year (test a_century_is_no_leap_year), and bookings are
refused that begin when another ends (test appointments_that_touch_do_not_overlap).
Fix these, and make all tests pass.
TASK
sed 's/^/    > /' "$work/task.txt"
echo
"$bin/awo" submit --repo "file://$origin" --prompt "@$work/task.txt" \
    --max-iterations 5 --max-credits 50 --follow

step '4. What the service put on the branch'
branch=$(git -C "$origin" for-each-ref --format='%(refname:short)' refs/heads/awo/)
git -C "$origin" --no-pager log --oneline --stat "main..$branch" | sed 's/^/    /'

step '5. What it cost'
"$bin/awo" credits --limit 2

step '6. The check: a fresh clone of each branch, tested without the service'
git clone -q --branch main "$origin" "$work/before"
git clone -q --branch "$branch" "$origin" "$work/after"
echo '  main'
if checked "$work/before"; then
    echo 'main passes, though it was not changed.' >&2
    exit 1
fi
echo "  $branch"
if ! checked "$work/after"; then
    echo 'The tests fail on the branch: the service was wrong to call this a success.' >&2
    exit 1
fi
if [ -n "$(git -C "$work/after" diff --name-only origin/main -- tests Makefile)" ]; then
    echo 'The tests themselves were changed.' >&2
    exit 1
fi
succeeded=yes
step 'The tests pass on the branch and fail on main. The demo is over; nothing of it is left.'
echo 'To keep a service running and try your own repository: make run'
