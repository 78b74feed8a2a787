"""Kills one process on request, for the demo's breaks; asked over a socket file of ``up``.

Only an ``up`` that was started with the demo listens here, and only the file's owner can ask. The
supervisor starts a killed process again, as after any crash.

POST /strikes?kind=worker&after=5   kills one process of the kind in so many seconds
GET /strikes                        the last one: what was killed, when, and whether it is back
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from launcher.supervised_process import SupervisedProcess
from receiver.connection import Connection
from receiver.messages import Answer, Request, answer_json, whole_number
from shared.unix_http import listener

#: The file in a data directory.
FILE = "supervisor.sock"
_PATH = "/strikes"
#: Kind -> the names of its processes; workers of other pools get none of the demo's work.
_NAMES = {"worker": re.compile(r"worker-\d+"), "scheduler": re.compile(r"scheduler-\d+")}
_LONGEST_WAIT_SECONDS = 60


@dataclass(slots=True)
class _Strike:
    """One strike; the times are seconds since 1970."""

    kind: str
    due_at: float
    struck_at: float | None = None
    pid: int | None = None
    target: SupervisedProcess | None = None

    def described(self) -> dict[str, Any]:
        """Return the strike as the socket shows it."""
        target = self.target
        is_back = target is not None and target.pid not in (None, self.pid)
        return {
            "kind": self.kind,
            "due_at": _text(self.due_at),
            "struck_at": _text(self.struck_at),
            "name": target.spec.name if target else None,
            "pid": self.pid,
            "back_at": _text(target.started_at) if target and is_back else None,
            "new_pid": target.pid if target and is_back else None,
        }


class Strikes:
    """A small server of the supervisor; one strike waits at a time."""

    def __init__(
        self,
        path: Path,
        processes: Sequence[SupervisedProcess],
        log: Callable[[str, str], None],
    ) -> None:
        self._path = path
        self._processes = processes
        self._log = log
        self._last: _Strike | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self.stopping = False

    async def start(self) -> None:
        """Listen on the file; OSError where it cannot be made."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(
            lambda: Connection(self), sock=listener(self._path)
        )

    async def stop(self) -> None:
        """Call off a strike that waits, close everything and remove the file."""
        self.stopping = True
        if self._timer is not None:
            self._timer.cancel()
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.abort()
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()

    def opened(self, connection: Connection) -> None:
        """Count a connection that was made."""
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        """Forget a connection that was lost."""
        self._connections.discard(connection)

    def take(self, request: Request, reply: Callable[[Answer], None]) -> None:
        """Answer at once."""
        if request.path != _PATH:
            reply(answer_json(404, {"error": "unknown path"}))
        elif request.method == "GET":
            reply(answer_json(200, {"strike": self._last.described() if self._last else None}))
        elif request.method == "POST":
            reply(self._order(request))
        else:
            reply(Answer(405, headers=(("Allow", "GET, POST"),)))

    def _order(self, request: Request) -> Answer:
        try:
            kind = request.query.get("kind", "")
            after = whole_number(request.query, "after", 0, (0, _LONGEST_WAIT_SECONDS))
        except ValueError as error:
            return answer_json(400, {"error": str(error)})
        if kind not in _NAMES:
            return answer_json(400, {"error": f"kind must be one of {', '.join(_NAMES)}"})
        if self._last is not None and self._timer is not None:
            return answer_json(409, {"error": "another strike waits for its time"})
        if not self._living(kind):
            return answer_json(409, {"error": f"no {kind} is alive"})
        self._last = _Strike(kind, time.time() + after)
        self._timer = asyncio.get_running_loop().call_later(after, self._strike, self._last)
        return answer_json(202, {"strike": self._last.described()})

    def _living(self, kind: str) -> list[SupervisedProcess]:
        """Return the living processes of the kind, the oldest first."""
        found = [
            one
            for one in self._processes
            if one.pid is not None and _NAMES[kind].fullmatch(one.spec.name)
        ]
        return sorted(found, key=lambda one: one.started_at)

    def _strike(self, strike: _Strike) -> None:
        self._timer = None
        target = next(iter(self._living(strike.kind)), None)
        if target is None:
            self._log("supervisor", f"no {strike.kind} is alive: the demo's break killed none")
            return
        strike.target, strike.pid, strike.struck_at = target, target.pid, time.time()
        self._log("supervisor", f"{target.spec.name} (pid {target.pid}) is killed for the demo")
        target.crash()


def _text(moment: float | None) -> str | None:
    if moment is None:
        return None
    found = datetime.fromtimestamp(moment, UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")
