"""The built-in test receiver: a small HTTP server whose answers depend on the path.

``up`` and ``manage.py run_receiver`` start it for first steps, the load reports for counting.
Listens on 127.0.0.1 only; needs no database and no Redis, so ``python -m receiver``
works too. Every tenant may call it, so it shows and changes nothing over the network: only the
socket file of ``receiver.control`` reports the requests below a tenant's address.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import secrets
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import uvloop

from receiver.answers import Answers
from receiver.chaos import Chaos
from receiver.connection import Connection
from receiver.control import Control
from receiver.jobs import LongJobs
from receiver.ledgers import TenantLedgers
from receiver.messages import Answer, Request, answer_json
from receiver.outgoing import Callbacks, Outgoing
from receiver.records import Ledger, ledger_line
from receiver.rooms import Room, Rooms
from receiver.signature import SignatureCheck
from shared import env
from shared.addresses import AllowList
from shared.receiver_address import segment_of

ADDRESS = "127.0.0.1"
THIS_MACHINE = "127.0.0.0/8"
#: How long answers that are under way may take once a stop was asked for.
STOP_SECONDS = 5.0
#: A receiver without an installation announces the address of this tenant.
ALONE = UUID(int=0)
#: Paths that make calls of their own, and so work only below a tenant's address.
_OWN_ONLY = ("/chaos", "/long-job")
_OWN_ONLY_ERROR = (
    "This path makes calls, so it works only below a tenant's own address: "
    "GET /v1/receiver of the API, or manage.py receiver show, returns that."
)

logger = logging.getLogger("scheduler_site.receiver")


@dataclass(frozen=True, slots=True)
class ReceiverOptions:
    """How a receiver runs; port 0 takes a free one."""

    port: int = 0
    ledger: Path | None = None
    secret: str = ""
    #: Networks that ``/chaos`` may forward to besides the receiver (WEBHOOK_ALLOWED_NETWORKS).
    forward_to: tuple[str, ...] = (THIS_MACHINE,)
    #: Where the ledgers of tenants are; without it there are none.
    ledgers: Path | None = None
    #: The socket file that reports requests; without it nothing does.
    control: Path | None = None
    #: Whether the control file takes trials, which make a tenant's answers fail for a while.
    trials: bool = False
    #: The installation that ``/long-job`` reports to (PUBLIC_URL); without it to none.
    callbacks: str = ""
    #: The key of tenants' segments; without one a new key, for the one announced address.
    key: bytes = field(default=b"", repr=False)


class Receiver:
    """The server, with the state that its connections share."""

    def __init__(self, options: ReceiverOptions) -> None:
        self._key = options.key or secrets.token_bytes(32)
        self._options = options
        self._check = SignatureCheck(options.secret) if options.secret else None
        self._answers = Answers(self._check)
        self._rooms = Rooms(self._key, self._check)
        self._jobs = LongJobs(Callbacks(options.callbacks))
        # Its port is known only when it listens.
        self._chaos: Chaos | None = None
        self._ledger: Ledger | None = None
        self._ledgers = TenantLedgers(options.ledgers, self._ledger_failed)
        self._server: asyncio.Server | None = None
        self.unconnected = asyncio.Event()
        self.unconnected.set()
        self.connections: set[Connection] = set()
        self._control = Control(self._rooms, self.connections, trials=options.trials)
        self.stopping = False
        self.port = 0

    @property
    def own_address(self) -> str:
        """Return the own address that a receiver without an installation announces."""
        return f"http://{ADDRESS}:{self.port}/{segment_of(self._key, ALONE)}/"

    async def start(self) -> None:
        """Listen; afterwards ``port`` is the port in use. OSError when it is taken."""
        if self._options.ledger:
            self._ledger = Ledger(self._options.ledger, self._ledger_failed)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self), ADDRESS, self._options.port, backlog=4096
        )
        self.port = int(self._server.sockets[0].getsockname()[1])
        allow = AllowList([*self._options.forward_to, f"{ADDRESS}/32:{self.port}"])
        self._chaos = Chaos(Outgoing(allow))
        if self._options.control:
            await self._control.start(self._options.control)

    async def stop(self) -> None:
        """Accept no new connections, finish answers within a few seconds, close all."""
        self.stopping = True
        if self._server:
            self._server.close()
        await self._control.stop()
        await self._jobs.close()
        if self._chaos:
            await self._chaos.close()
        for connection in list(self.connections):
            connection.close_when_idle()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self.unconnected.wait()
        except TimeoutError:
            logger.info("receiver.cut_off", extra={"count": len(self.connections)})
            self._abort_all()
        if self._ledger:
            await self._ledger.close()
        await self._ledgers.close()

    def opened(self, connection: Connection) -> None:
        """Count a connection that was made."""
        self.connections.add(connection)
        self.unconnected.clear()

    def closed(self, connection: Connection) -> None:
        """Forget a connection that was lost."""
        self.connections.discard(connection)
        if not self.connections:
            self.unconnected.set()

    def take(self, request: Request, reply: Callable[[Answer], None]) -> None:
        """Decide the answer, record the request, then reply; a ledger's line is on disk first."""
        if request.path == "/healthz":
            reply(answer_json(200, {"status": "ok"}))
        elif (entered := self._rooms.enter(request)) is not None:
            below, room = entered
            self._answer_below(below, room, reply)
        elif request.path in _OWN_ONLY:
            self._recorder(request, self._ledger, reply)(
                answer_json(403, {"error": _OWN_ONLY_ERROR})
            )
        else:
            self._recorder(request, self._ledger, reply)(self._answers.answer(request))

    def _answer_below(self, request: Request, room: Room, reply: Callable[[Answer], None]) -> None:
        tell = self._recorder(request, self._ledgers.find(room.segment) or self._ledger, reply)

        def record(answer: Answer) -> None:
            if room.trial is not None:
                answer = room.trial.judge(request, answer)
            room.recent.add(request, answer)
            tell(answer)

        if request.path == "/chaos" and self._chaos is not None:
            self._chaos.take(request, self.port, record)
        elif request.path == "/long-job":
            record(self._jobs.take(request))
        else:
            record(room.answers.answer(request))

    def _recorder(
        self, request: Request, ledger: Ledger | None, reply: Callable[[Answer], None]
    ) -> Callable[[Answer], None]:
        if ledger is None:
            return reply

        def record(answer: Answer) -> None:
            line = ledger_line(request, answer, self._check)
            ledger.append(line, lambda: reply(answer))

        return record

    def _ledger_failed(self, error: OSError) -> None:
        # An answer without its line would make the ledger lie; a closed connection does not.
        logger.critical("receiver_ledger.not_written", extra={"reason": str(error)})
        self._abort_all()

    def _abort_all(self) -> None:
        for connection in list(self.connections):
            connection.abort()


async def _run(options: ReceiverOptions, ready: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    receiver = Receiver(options)
    await receiver.start()
    ready(f"receiver listening on http://{ADDRESS}:{receiver.port}")
    if not options.key:
        ready(f"your own address, for /chaos and /long-job: {receiver.own_address}")
    await stop.wait()
    await receiver.stop()


def serve(options: ReceiverOptions, ready: Callable[[str], None]) -> None:
    """Run a receiver until SIGTERM or SIGINT; ``ready`` gets the line with its address."""
    uvloop.run(_run(options, ready))


def add_arguments(parser: argparse.ArgumentParser, callbacks: str = "") -> None:
    """Add the receiver's options, the same for the command and for the module."""
    parser.add_argument("--port", type=int, default=8001, help="0 takes a free one (8001)")
    parser.add_argument("--ledger", type=Path, help="append one JSON line per request")
    said = "directory of tenants' ledgers, each an existing file SEGMENT.jsonl"
    parser.add_argument("--ledgers", type=Path, help=said)
    said = "socket file on which the receiver reports requests; only its owner may read it"
    parser.add_argument("--control", type=Path, metavar="FILE", help=said)
    said = "take trials of the demo on the socket file: answers that fail for a while"
    parser.add_argument("--trials", action="store_true", help=said)
    said = "installation that /long-job reports to (PUBLIC_URL); without it /long-job refuses"
    parser.add_argument("--callbacks", default=callbacks, metavar="URL", help=said)
    # By environment where others can read the command line.
    secret = os.environ.get("RECEIVER_SECRET", "")
    parser.add_argument("--secret", default=secret, help="whsec_… to check signatures with")
    # Where an installation started it, the list that bounds webhooks bounds its own calls.
    allowed = env.words("WEBHOOK_ALLOWED_NETWORKS", THIS_MACHINE)
    said = "what /chaos may forward to (WEBHOOK_ALLOWED_NETWORKS, else this machine)"
    parser.add_argument("--forward-to", nargs="*", default=allowed, metavar="CIDR", help=said)


def options_of(given: Mapping[str, Any]) -> ReceiverOptions:
    """Return the receiver's options from the parsed arguments."""
    return ReceiverOptions(
        port=given["port"],
        ledger=given["ledger"],
        secret=given["secret"],
        forward_to=tuple(given["forward_to"]),
        ledgers=given["ledgers"],
        control=given["control"],
        trials=given["trials"],
        callbacks=given["callbacks"],
    )


def _announce(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Run from a command line; 0 after a clean stop, 1 when it cannot start."""
    parser = argparse.ArgumentParser(description="Test receiver")
    add_arguments(parser)
    given = parser.parse_args(arguments)
    try:
        serve(options_of(vars(given)), _announce)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"receiver: {error}\n")
        return 1
    return 0
