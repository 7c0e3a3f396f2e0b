"""What a person sees of a check: a line per step with the time, and limits for every wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
BEGAN = time.monotonic()


class CheckFailed(Exception):
    """The check found something; its text is for the person who runs it."""


def say(text: str) -> None:
    print(f"[{time.monotonic() - BEGAN:7.1f} s] {text}", flush=True)


@contextmanager
def step(name: str):
    say(f"{name} …")
    began = time.monotonic()
    yield
    say(f"{name}: done in {time.monotonic() - began:.1f} s")


def expect(holds: object, otherwise: str) -> None:
    if not holds:
        raise CheckFailed(otherwise)


def wait_for(what: str, seconds: float, probe: Callable[[], T | None], pause: float = 0.1) -> T:
    """The first answer of `probe` that is something; a failed check after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        found = probe()
        if found is not None and found is not False:
            return found
        if time.monotonic() > deadline:
            raise CheckFailed(f"{what}: not within {seconds:.0f} s")
        time.sleep(pause)
