"""The receiver of webhooks on an address that other hosts reach; as that of the peers otherwise.

Run: ``python -m bench.machines_receiver 10.231.77.1``.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvloop

from bench.installation import CHECKOUT, InstallationError, stop
from bench.peers.receiver import Arrivals, Receiver
from bench.peers.target import Target
from scheduler_site.supervisor_process import ProcessSpec, spawn_options

_WAITING = 4096
_STOP_SECONDS = 15.0


@contextmanager
def running(address: str) -> Iterator[Target]:
    """Start a receiver on the address, yield it, stop it; InstallationError when it does not."""
    argv = (sys.executable, "-m", "bench.machines_receiver", address)
    spec = ProcessSpec("receiver", "receiver", argv, dict(os.environ))
    process = subprocess.Popen(
        spec.argv, cwd=CHECKOUT, stdout=subprocess.PIPE, **spawn_options(spec)
    )
    try:
        line = process.stdout.readline().decode().strip() if process.stdout else ""
        if not line.startswith("http://"):
            raise InstallationError(f"the receiver did not start on {address}")
        target = Target(line, process.pid)
        try:
            yield target
        finally:
            target.close()
    finally:
        stop(process, _STOP_SECONDS)
        if process.stdout:
            process.stdout.close()


async def serve(address: str) -> None:
    """Listen on a free port of the address until SIGTERM; print the URL when calls may come."""
    loop = asyncio.get_running_loop()
    arrivals = Arrivals()
    server = await loop.create_server(lambda: Receiver(arrivals), address, 0, backlog=_WAITING)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    print(f"http://{address}:{server.sockets[0].getsockname()[1]}", flush=True)
    await ended.wait()
    server.close()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
