"""Reports of the test receiver to the installation, over a socket file of the data directory.

The product's client calls addresses of networks, never files: no webhook can reach this. Only the
file's owner can read here; the API asks for a tenant's key.

GET /requests/SEGMENT?path=&webhook_id=&limit=   the requests below the segment, newest first
DELETE /requests/SEGMENT                         forgets them
GET /connections                                 how many connections callers keep open
DELETE /connections                              closes them, each after its answer
POST /trials/SEGMENT?fault=&after=&seconds=      begins a trial of the demo (see ``trials``)
GET /trials/SEGMENT                              the last trial, and its tally
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from receiver.connection import Connection
from receiver.messages import Answer, Request, answer_json
from receiver.rooms import Rooms
from receiver.trials import begun
from shared.unix_http import listener

#: The file in a data directory.
FILE = "receiver.sock"
_REQUESTS, _TRIALS = "/requests/", "/trials/"


class Control:
    """A second server of the receiver; answers about its rooms and connections."""

    def __init__(self, rooms: Rooms, connections: set[Connection], *, trials: bool = False) -> None:
        self._rooms = rooms
        self._takes_trials = trials
        self._watched = connections
        self._own: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._path: Path | None = None
        self.stopping = False

    async def start(self, path: Path) -> None:
        """Listen on the file, which only its owner may use; OSError where it cannot be made."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: Connection(self), sock=listener(path))
        self._path = path

    async def stop(self) -> None:
        """Close everything and remove the file."""
        self.stopping = True
        if self._server is None or self._path is None:
            return
        self._server.close()
        for connection in list(self._own):
            connection.abort()
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()

    def opened(self, connection: Connection) -> None:
        """Count a connection that was made."""
        self._own.add(connection)

    def closed(self, connection: Connection) -> None:
        """Forget a connection that was lost."""
        self._own.discard(connection)

    def take(self, request: Request, reply: Callable[[Answer], None]) -> None:
        """Answer at once; nothing here is recorded."""
        if request.path == "/connections":
            reply(self._connections(request))
        elif request.path.startswith(_REQUESTS):
            reply(self._requests(request))
        elif request.path.startswith(_TRIALS) and self._takes_trials:
            reply(self._trials(request))
        else:
            reply(answer_json(404, {"error": "unknown path"}))

    def _connections(self, request: Request) -> Answer:
        if request.method == "GET":
            return answer_json(200, {"open": len(self._watched)})
        if request.method != "DELETE":
            return Answer(405, headers=(("Allow", "GET, DELETE"),))
        closed = list(self._watched)
        for connection in closed:
            connection.close_when_idle()
        return answer_json(200, {"closed": len(closed)})

    def _requests(self, request: Request) -> Answer:
        room = self._rooms.find(request.path.removeprefix(_REQUESTS))
        if room is None:
            return answer_json(404, {"error": "no such segment"})
        if request.method == "DELETE":
            room.recent.clear()
            return Answer(204)
        if request.method != "GET":
            return Answer(405, headers=(("Allow", "GET, DELETE"),))
        try:
            return answer_json(200, room.recent.listing(request.query))
        except ValueError as error:
            return answer_json(400, {"error": str(error)})

    def _trials(self, request: Request) -> Answer:
        room = self._rooms.find(request.path.removeprefix(_TRIALS))
        if room is None:
            return answer_json(404, {"error": "no such segment"})
        if request.method not in ("GET", "POST"):
            return Answer(405, headers=(("Allow", "GET, POST"),))
        if request.method == "POST":
            try:
                room.trial = begun(request.query)
            except ValueError as error:
                return answer_json(400, {"error": str(error)})
        trial = room.trial
        return answer_json(200, {"trial": trial.described() if trial else None})
