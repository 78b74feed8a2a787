"""A link to a server's socket file that a test cuts: refused, or silent as a dead network is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

_CHUNK = 64 * 1024

State = Literal["open", "refused", "silent"]


class CutLink:
    """A running link; ``become`` changes it from any thread."""

    def __init__(self, target: str, path: Path) -> None:
        self.path = path
        self._target = target
        self._state: State = "open"
        self._tasks: set[asyncio.Task[None]] = set()
        self._speaks = asyncio.Event()
        self._speaks.set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def become(self, state: State) -> None:
        """Change the link; one that refuses loses the connections that there are, too."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._change, state)

    async def serve(self, listening: threading.Event, done: threading.Event) -> None:
        """Carry connections until done."""
        self._loop = asyncio.get_running_loop()
        async with await asyncio.start_unix_server(self._welcome, str(self.path)):
            # What is started by root connects as an account of its own.
            self.path.chmod(0o666)
            listening.set()
            await asyncio.to_thread(done.wait)
            self._change("refused")
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _change(self, state: State) -> None:
        self._state = state
        if state == "silent":
            self._speaks.clear()
        else:
            self._speaks.set()
        if state == "refused":
            for task in self._tasks:
                task.cancel()

    def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._state == "refused":
            writer.close()
            return
        task = asyncio.ensure_future(self._carry(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, out = await asyncio.open_unix_connection(self._target)
        ways = [
            asyncio.ensure_future(self._copy(reader, out)),
            asyncio.ensure_future(self._copy(there, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            out.close()
            writer.close()

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(_CHUNK):
            await self._speaks.wait()
            sink.write(data)
            await sink.drain()


@contextmanager
def cut_link(target: str, path: Path) -> Iterator[CutLink]:
    """Run a link at ``path`` to the socket file ``target``, for a block."""
    link = CutLink(target, path)
    listening, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(link.serve(listening, done)))
    thread.start()
    assert listening.wait(120)
    try:
        yield link
    finally:
        done.set()
        thread.join(20)
