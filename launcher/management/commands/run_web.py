"""``manage.py run_web``: the ASGI server: REST API, admin, console, live push."""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import suppress
from types import FrameType
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from api.pools.long_poll import ROOM
from api.protocol import answer_counts
from api.protocol.head_limit import HeadLimit
from shared import web_counts
from shared.clock_watch import ClockWatch
from shared.garbage import collect_seldom
from shared.interpreter import take_short_turns

#: Interval between two ticks of uvicorn, which also renew the date in answers.
_TICK_SECONDS = 1.0


class Command(BaseCommand):
    """Serve on HOST and PORT until stopped; the first signal lets requests end."""

    help = "Serve the REST API and the console."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Run uvicorn in this process."""
        self.check(tags=["tokens"])
        # uvicorn drains on a signal and then raises it again for the previous handler.
        signal.signal(signal.SIGTERM, _end)
        signal.signal(signal.SIGINT, _end)
        config = _config("scheduler_site.asgi:application")
        ClockWatch("web").start()
        # What is loaded now is left out of every later collection.
        config.load()
        collect_seldom()
        take_short_turns()
        _Server(config).run(sockets=_listeners(settings.HOST, settings.PORT))


def _config(application: Any) -> uvicorn.Config:
    proxies = list(settings.TRUSTED_PROXIES)
    return uvicorn.Config(
        application,
        host=settings.HOST,
        port=settings.PORT,
        http=HeadLimit,
        ws="websockets-sansio",
        ws_max_size=16 * 1024,
        loop="uvloop",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        # By default uvicorn believes the proxy headers of any client on this machine.
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=10,
    )


class _Server(uvicorn.Server):
    """A server that answers waiting long polls when it ends, and wakes seldom while it is idle."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._signalled = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._adding: asyncio.Task[None] | None = None

    async def main_loop(self) -> None:
        """Check once a second whether to end, not ten times: each check wakes an idle machine."""
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._signalled.wait()
            await self._flush_counts()

    async def _flush_counts(self) -> None:
        """Add up what was counted, in threads: a server may be slow to answer, or away."""
        if web_counts.any_waits() and (self._flushing is None or self._flushing.done()):
            self._flushing = asyncio.create_task(asyncio.to_thread(web_counts.flush))
        if answer_counts.is_due() and (self._adding is None or self._adding.done()):
            self._adding = asyncio.create_task(asyncio.to_thread(answer_counts.flush))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End at the first signal without waiting for the next check."""
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._signalled.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the waiting long polls, then end as uvicorn does."""
        ROOM.close()
        await super().shutdown(sockets)
        await asyncio.to_thread(web_counts.flush)
        await asyncio.to_thread(answer_counts.flush)


def _listeners(host: str, port: int) -> list[socket.socket]:
    """Listen on every address of the host, beside other web processes of the same account.

    The kernel shares the connections out among the listening processes, so a dead one gets none.
    Raise CommandError when another program has the port, or this machine has no such address.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        addresses = dict.fromkeys((family, address) for family, *_, address in found)
        return [
            socket.create_server(address, family=family, reuse_port=True)
            for family, address in addresses
        ]
    except OSError as error:
        raise CommandError(f"cannot listen on {host}, port {port}: {error.strerror}") from error


def _end(*_: object) -> None:
    raise SystemExit(0)
