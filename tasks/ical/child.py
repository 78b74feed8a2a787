"""The process that reads one iCalendar file: the request from stdin, the result to stdout.

Started by ``reading`` with ``python -m``; it has no database, no settings and no secret. It bounds
itself before it reads a byte of the file: the kernel ends it when its own timers do not.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from datetime import datetime
from typing import BinaryIO

from tasks.ical.file import read_file
from tasks.ical.found import NotIcal
from tasks.ical.limits import Limits

#: Beside the file's own time: loading the libraries, and writing the answer.
_MORE_SECONDS = 10
#: Address space. A file of 8 MiB takes 200 MiB.
_MEMORY_BYTES = 768 * 1024 * 1024
_NICENESS = 5


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Read a request and answer it."""
    request = json.loads(source.readline())
    limits = Limits(**request["limits"])
    _bound(int(limits.file_seconds) + _MORE_SECONDS)
    now = datetime.fromisoformat(request["now"])
    try:
        found = read_file(source.read(), now=now, charset=request["charset"], limits=limits)
        answer = found.dump()
    except NotIcal as problem:
        answer = {"line": problem.line, "problem": str(problem)}
    target.write(json.dumps(answer).encode())
    target.flush()


def _bound(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    os.nice(_NICENESS)


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
