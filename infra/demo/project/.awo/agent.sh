#!/bin/sh
# The demo's agent: a program without a model, so that the demo needs no key and no network.
#
# It has learned a repair for each of this project's faults. It does not know which of them to
# make: it makes those whose test is named in its prompt, and no others. The first prompt is the
# task alone. Each later one also holds what verification found, so the names come from there.
# Its token counts are made up, so that a price applies.
set -eu

# repair FILE SED-SCRIPT: edits a file and reports it.
repair() {
    sed "$2" "$1" >"$TMPDIR/repaired"
    if cmp -s "$1" "$TMPDIR/repaired"; then
        return
    fi
    cat "$TMPDIR/repaired" >"$1"
    case $repaired in
    *"$1"*) ;;
    *) repaired="$repaired${repaired:+, }$1" ;;
    esac
    echo "repaired $1 for $test"
}

TMPDIR=${TMPDIR:-/tmp}
repaired=''

for test in $(grep -oE '[a-z0-9]+(_[a-z0-9]+)+' "$AWO_PROMPT" | sort -u); do
    case $test in
    a_century_is_no_leap_year)
        repair src/dates.c 's/return year % 4 == 0;/return year % 4 == 0 \&\& (year % 100 != 0 || year % 400 == 0);/' ;;
    a_date_in_february_has_its_weekday)
        repair src/dates.c 's/if (month < 2)/if (month < 3)/' ;;
    appointments_that_touch_do_not_overlap)
        repair src/intervals.c 's/a.start <= b.end && b.start <= a.end/a.start < b.end \&\& b.start < a.end/' ;;
    an_appointment_within_another_adds_nothing)
        repair src/intervals.c 's/^            all\[last\].end = all\[i\].end;/            if (all[i].end > all[last].end)\
                all[last].end = all[i].end;/' ;;
    minutes_after_hours_have_two_digits)
        repair src/durations.c 's/%dh%dm/%dh%02dm/' ;;
    esac
done

characters=$(wc -c <"$AWO_PROMPT")
cat >"$AWO_RESULT" <<RESULT
{
  "status": "completed",
  "summary": "${repaired:+repaired }${repaired:-found nothing in the prompt to repair}",
  "usage": [{
    "model": "gpt-4o-mini",
    "inputTokens": $((18000 + characters)),
    "outputTokens": 640,
    "cachedInputTokens": $((AWO_ITERATION * 4000))
  }]
}
RESULT
