"""Child processes that never outlive the check, however it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

STOP_SECONDS = 15
PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    # Also when the check itself is killed with -9. Only Linux has it; elsewhere the end of the
    # check's own `finally` has to do.
    try:
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    except (AttributeError, OSError):
        pass


@contextmanager
def running(command: list[str], log: Path, environment: dict[str, str], cwd: Path, **pipes):
    """A process with a session of its own, of which nothing is left afterwards."""
    with log.open("ab") as out:
        child = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=pipes.get("stdin", subprocess.DEVNULL),
            stdout=pipes.get("stdout", out),
            stderr=out,
            start_new_session=True,
            preexec_fn=_die_with_parent,
            text=True,
            bufsize=1,
        )
    try:
        yield child
    finally:
        if child.stdin:
            child.stdin.close()
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(child.pid, sign)
                child.wait(STOP_SECONDS)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        child.wait()


def tail(path: Path, lines: int = 40) -> str:
    if not path.exists():
        return "(no log)"
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
