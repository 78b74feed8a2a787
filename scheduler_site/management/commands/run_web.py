"""``manage.py run_web``: the ASGI server: REST API, admin, console, live push."""

from __future__ import annotations

import signal
import socket
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand

from executions.api.long_poll import ROOM
from shared.clock_watch import ClockWatch
from shared.garbage import collect_seldom
from shared.interpreter import take_short_turns


class Command(BaseCommand):
    """Serve on HOST and PORT until stopped; the first signal lets requests end."""

    help = "Serve the REST API and the console."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Run uvicorn in this process."""
        # uvicorn drains on a signal and then raises it again for whoever handled it before it.
        signal.signal(signal.SIGTERM, _end)
        signal.signal(signal.SIGINT, _end)
        config = uvicorn.Config(
            "scheduler_site.asgi:application",
            host=settings.HOST,
            port=settings.PORT,
            http="httptools",
            ws="websockets-sansio",
            ws_max_size=16 * 1024,
            loop="uvloop",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
        )
        ClockWatch("web").start()
        # What is loaded now is left out of every later collection.
        config.load()
        collect_seldom()
        take_short_turns()
        _Server(config).run()


class _Server(uvicorn.Server):
    """Lets no call wait for work that holds the end up."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer who waits, then end as ever."""
        ROOM.close()
        await super().shutdown(sockets)


def _end(*_: object) -> None:
    raise SystemExit(0)
