"""The built-in test receiver: a small HTTP server that answers as its path says.

``up`` and ``manage.py run_receiver`` start it for first steps, the load reports for counting.
Listens on 127.0.0.1 only; needs no settings, no database and no Redis, so
``python -m scheduler_site.receiver`` works too. Answers of one connection keep their order.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvloop

from scheduler_site import env
from scheduler_site.receiver_answers import Answers
from scheduler_site.receiver_chaos import Chaos
from scheduler_site.receiver_connection import Connection
from scheduler_site.receiver_jobs import LongJobs
from scheduler_site.receiver_ledgers import NamedLedgers, is_named
from scheduler_site.receiver_messages import Answer, Request, answer_json
from scheduler_site.receiver_outgoing import Outgoing, callbacks
from scheduler_site.receiver_records import Ledger, RecentRequests, ledger_line
from scheduler_site.receiver_signature import SignatureCheck
from shared.addresses import AllowList

ADDRESS = "127.0.0.1"
THIS_MACHINE = "127.0.0.0/8"
#: How long answers that are under way may take once a stop was asked for.
STOP_SECONDS = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReceiverOptions:
    """How a receiver runs; port 0 takes a free one."""

    port: int = 0
    ledger: Path | None = None
    secret: str = ""
    #: What ``/chaos`` may forward to besides the receiver itself, as WEBHOOK_ALLOWED_NETWORKS.
    forward_to: tuple[str, ...] = (THIS_MACHINE,)
    #: Where the ledgers of ``/ledger/NAME/…`` are; without it there are none.
    ledgers: Path | None = None


class Receiver:
    """The server with what its connections share."""

    def __init__(self, options: ReceiverOptions) -> None:
        self._options = options
        self._check = SignatureCheck(options.secret) if options.secret else None
        self._answers = Answers(self._check)
        self._recent = RecentRequests()
        self._jobs = LongJobs(callbacks())
        # Its port is known only when it listens.
        self._chaos: Chaos | None = None
        self._ledger: Ledger | None = None
        self._named = NamedLedgers(options.ledgers, self._ledger_failed)
        self._server: asyncio.Server | None = None
        self.unconnected = asyncio.Event()
        self.unconnected.set()
        self.connections: set[Connection] = set()
        self.stopping = False
        self.port = 0

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

    async def stop(self) -> None:
        """Accept nothing more, finish what is under way within a few seconds, close all."""
        self.stopping = True
        if self._server:
            self._server.close()
        await self._jobs.close()
        if self._chaos:
            await self._chaos.close()
        for connection in list(self.connections):
            connection.close_when_idle()
        try:
            await asyncio.wait_for(self.unconnected.wait(), STOP_SECONDS)
        except TimeoutError:
            logger.info("answers cut off at the stop: %d", len(self.connections))
            self._abort_all()
        if self._ledger:
            await self._ledger.close()
        await self._named.close()

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
        """Decide the answer, record the request, then reply: on disk first where a ledger is."""
        own = self._about_itself(request)
        if own is not None:
            reply(own)
        elif not is_named(request):
            self._answer(request, self._ledger, reply)
        elif (found := self._named.find(request)) is not None:
            self._answer(*found, reply)
        else:
            reply(answer_json(404, {"error": "no such ledger"}))

    def _answer(
        self, request: Request, ledger: Ledger | None, reply: Callable[[Answer], None]
    ) -> None:
        def record(answer: Answer) -> None:
            self._recent.add(request, answer)
            if ledger is None:
                reply(answer)
            else:
                line = ledger_line(request, answer, self._check)
                ledger.append(line, lambda: reply(answer))

        if request.path == "/chaos" and self._chaos is not None:
            self._chaos.take(request, self.port, record)
        elif request.path == "/long-job":
            record(self._jobs.take(request))
        else:
            record(self._answers.answer(request))

    def _about_itself(self, request: Request) -> Answer | None:
        path = request.path
        if path == "/healthz":
            return answer_json(200, {"status": "ok", "connections": len(self.connections)})
        if path not in ("/requests", "/connections"):
            return None
        # A page of another site that rebinds its name to 127.0.0.1 must not read payloads.
        host = (request.header("host") or "").rpartition(":")[0] or request.header("host")
        if host not in (ADDRESS, "localhost"):
            return answer_json(403, {"error": "only as 127.0.0.1 or localhost"})
        if path == "/connections":
            return self._close_connections(request)
        if request.method == "DELETE":
            self._recent.clear()
            return Answer(204)
        if request.method != "GET":
            return Answer(405, headers=(("Allow", "GET, DELETE"),))
        try:
            return answer_json(200, self._recent.listing(request.query))
        except ValueError as error:
            return answer_json(400, {"error": str(error)})

    def _close_connections(self, request: Request) -> Answer:
        if request.method != "DELETE":
            return Answer(405, headers=(("Allow", "DELETE"),))
        closed = list(self.connections)
        for connection in closed:
            connection.close_when_idle()
        return answer_json(200, {"closed": len(closed)})

    def _ledger_failed(self, error: OSError) -> None:
        # An answer without its line would make the ledger lie; a closed connection does not.
        logger.critical("ledger cannot be written: %s", error)
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
    await stop.wait()
    await receiver.stop()


def serve(options: ReceiverOptions, ready: Callable[[str], None]) -> None:
    """Run a receiver until SIGTERM or SIGINT; ``ready`` gets the line with its address."""
    uvloop.run(_run(options, ready))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the receiver's options, the same for the command and for the module."""
    parser.add_argument("--port", type=int, default=8001, help="0 takes a free one (8001)")
    parser.add_argument("--ledger", type=Path, help="append one JSON line per request")
    said = "directory of the ledgers of /ledger/NAME/…, each a file NAME.jsonl that is there"
    parser.add_argument("--ledgers", type=Path, help=said)
    # By environment where others can read the command line.
    secret = os.environ.get("RECEIVER_SECRET", "")
    parser.add_argument("--secret", default=secret, help="whsec_… to check signatures with")
    # What bounds webhooks bounds the receiver's own calls, where an installation started it.
    allowed = env.words("WEBHOOK_ALLOWED_NETWORKS", THIS_MACHINE)
    said = "what /chaos may forward to (WEBHOOK_ALLOWED_NETWORKS, else this machine)"
    parser.add_argument("--forward-to", nargs="*", default=allowed, metavar="CIDR", help=said)


def _announce(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Run from a command line; 0 after a clean stop, 1 when it cannot start."""
    parser = argparse.ArgumentParser(description="Test receiver")
    add_arguments(parser)
    given = parser.parse_args(arguments)
    try:
        serve(
            ReceiverOptions(
                given.port, given.ledger, given.secret, tuple(given.forward_to), given.ledgers
            ),
            _announce,
        )
    except (OSError, ValueError) as error:
        sys.stderr.write(f"receiver: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
