"""Compares lines of cron-cases with croniter: expression, time zone, moment, three times."""

import sys
from datetime import datetime
from zoneinfo import ZoneInfo

from croniter import croniter


def times(expression: str, zone: str, after: str, number: int) -> list[datetime]:
    start = datetime.fromisoformat(after).astimezone(ZoneInfo(zone))
    reader = croniter(expression, start)
    return [reader.get_next(datetime) for _ in range(number)]


def main() -> int:
    wrong = number = 0
    for line in sys.stdin:
        expression, zone, after, *expected = line.rstrip("\n").split("\t")
        number += 1
        wanted = [datetime.fromisoformat(time) for time in expected]
        found = times(expression, zone, after, len(wanted))
        if found != wanted:
            wrong += 1
            if wrong <= 20:
                print(f"{expression!r} in {zone} after {after}: {expected}, croniter: "
                      f"{[time.astimezone(ZoneInfo('UTC')).isoformat() for time in found]}")
    print(f"croniter: {number} expressions, {wrong} differ")
    return 1 if wrong or not number else 0


sys.exit(main())
