"""Waits for a run and follows its events, beside the generated client. Both survive connections that break,
a service that restarts and 429: after five attempts in a row without progress the last error is raised.

    run = wait(runs_api, order.run_id, timeout=1800)
    for event in follow(runs_api, order.run_id): print(event["sequence"], event["type"])
"""

import json
import time

from urllib3.exceptions import HTTPError

from awo_client.exceptions import ApiException

TERMINAL = ("succeeded", "failed", "canceled")
LAST_EVENTS = ("run.completed", "run.failed", "run.cancelled")
MAX_ATTEMPTS = 5
# Seconds: the first and the longest pause, between questions and between attempts.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0
CONNECT_LIMIT = 10.0
# The stream has a comment every 15 s; one that is silent for so long is broken.
SILENCE_LIMIT = 60.0


class _Patience:
    """A deadline, and the attempts in a row that brought nothing."""

    def __init__(self, timeout):
        self.deadline = None if timeout is None else time.monotonic() + timeout
        self.attempts = 0

    def left(self, limit):
        """Seconds until the deadline, at most `limit`; raises TimeoutError after it."""
        left = limit if self.deadline is None else min(limit, self.deadline - time.monotonic())
        if left <= 0:
            raise TimeoutError("the run did not end in time; it continues")
        return left

    def failed(self, error):
        """Sleeps before another attempt, or raises what no other attempt can repair."""
        status = getattr(error, "status", None)
        self.attempts += 1
        if self.attempts >= MAX_ATTEMPTS or (status is not None and status != 429 and status < 500):
            raise error
        stated = (getattr(error, "headers", None) or {}).get("Retry-After", "")
        pause = float(stated) if stated.isdigit() else FIRST_PAUSE * 2 ** (self.attempts - 1)
        time.sleep(self.left(min(max(pause, FIRST_PAUSE), LONGEST_PAUSE)))


def wait(runs, run_id, timeout=None):
    """Returns the run once it has ended. Raises TimeoutError after `timeout` seconds; the run continues."""
    patience, pause = _Patience(timeout), FIRST_PAUSE
    while True:
        limits = (CONNECT_LIMIT, patience.left(SILENCE_LIMIT))
        try:
            run = runs.get_run(run_id, _request_timeout=limits)
        except (ApiException, HTTPError) as error:
            patience.failed(error)
            continue
        if run.status in TERMINAL:
            return run
        patience.attempts = 0
        time.sleep(patience.left(pause))
        pause = min(pause * 1.5, LONGEST_PAUSE)


def follow(runs, run_id, after=0, timeout=None):
    """Yields each event after the sequence `after` once, in order, until the run has ended.

    An event is the dictionary of its JSON, so that a type that is newer than this client comes too.
    """
    patience = _Patience(timeout)
    while True:
        limits = (CONNECT_LIMIT, patience.left(SILENCE_LIMIT))
        try:
            response = runs.list_run_events_without_preload_content(
                run_id, last_event_id=after, _headers={"Accept": "text/event-stream"}, _request_timeout=limits)
            try:
                if response.status == 204:
                    return
                if response.status != 200:
                    raise ApiException(http_resp=response, body=response.data.decode("utf-8", "replace"))
                began = time.monotonic()
                for line in response:
                    if time.monotonic() - began > LONGEST_PAUSE:
                        patience.attempts = 0
                    if line.startswith(b"data:"):
                        event = json.loads(line[5:])
                        patience.attempts, after = 0, event["sequence"]
                        yield event
                        if event["type"] in LAST_EVENTS:
                            return
                    patience.left(SILENCE_LIMIT)
            finally:
                response.close()
            # The stream ended before the run, as it does after 14 minutes.
            patience.failed(ConnectionError("the stream of events ends without an event"))
        except (ApiException, HTTPError) as error:
            patience.failed(error)
