"""Reads untrusted iCalendar files, each in a process of its own that is stopped in time.

Every door calls :func:`read_ical`, before it opens a transaction. A process reads two files at a
time: each takes a thread of the web process, and a tenant can make a file take long.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from shared.exceptions import FieldError, InvalidInput, TooLarge, Unavailable
from tasks.ical.found import Found
from tasks.ical.limits import MAX_BYTES, Limits

_AT_A_TIME = 2
_WAIT_SECONDS = 5.0
#: From start to answer on a busy machine; the process bounds its own processor time.
_WALL_SECONDS = 60.0
_CHECKOUT = Path(__file__).resolve().parents[2]
_PROGRAM = (sys.executable, "-m", "tasks.ical.child")
_turns = threading.BoundedSemaphore(_AT_A_TIME)


def read_ical(
    raw: bytes, *, now: datetime, charset: str = "", limits: Limits | None = None
) -> Found:
    """Return the days, windows and remarks of an iCalendar file.

    Raise InvalidInput for bytes that are no iCalendar file, TooLarge, and Unavailable while other
    files are being read.
    """
    if len(raw) > MAX_BYTES:
        raise TooLarge(f"The iCalendar file is larger than {MAX_BYTES} bytes.")
    request = {"now": now.isoformat(), "charset": charset, "limits": asdict(limits or Limits())}
    if not _turns.acquire(timeout=_WAIT_SECONDS):
        raise Unavailable("Other iCalendar files are being read. Try again in a few seconds.")
    try:
        answer = _ask(json.dumps(request).encode() + b"\n" + raw)
    finally:
        _turns.release()
    if "problem" in answer:
        raise _refused(f"Line {answer['line']}: {answer['problem']}")
    return Found.load(answer)


def _ask(question: bytes) -> dict[str, Any]:
    try:
        done = subprocess.run(
            _PROGRAM,
            input=question,
            capture_output=True,
            timeout=_WALL_SECONDS,
            cwd=_CHECKOUT,
            env=_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _refused("The file takes too long to read.") from None
    if done.returncode < 0:
        raise _refused("The file takes too much time or memory to read.")
    if done.returncode:
        raise RuntimeError(f"the reader of iCalendar files failed: {done.stderr.decode()[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _environment() -> dict[str, str]:
    """Return the variables that the process needs to find its modules; none of our secrets."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}


def _refused(message: str) -> InvalidInput:
    return InvalidInput([FieldError("#/ical", "ical_invalid", message)], message)
