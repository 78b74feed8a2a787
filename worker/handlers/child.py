"""The process that runs handlers, one at a time: ``python -m worker.handlers.child FD PARENT``.

Started by a worker's handler host, which feeds it over a socket and reads its output. The main
thread runs the handlers; another receives cancels and ends the process when the worker has ended.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import queue
import socket
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any

import django
import orjson
from django.db import close_old_connections

from worker.children import die_with_parent
from worker.endings import RESULT_BYTES
from worker.handlers.context import Context
from worker.handlers.frames import Answer, Channel, Job, Run
from worker.handlers.registry import Permanent, find
from worker.vitals import resident_bytes


class Jobs:
    """Receives the worker's messages and runs its jobs, each in the main thread."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._waiting: queue.SimpleQueue[Run] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: tuple[int, Context] | None = None
        self._task: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def serve(self) -> None:
        """Run jobs until the process ends."""
        threading.Thread(target=self._hear, name="hears-worker", daemon=True).start()
        while True:
            job = self._waiting.get()
            answer = self._run(job)
            _flush()
            answer["memory_bytes"] = resident_bytes() or 0
            self._channel.send(answer)

    def _hear(self) -> None:
        while (said := self._channel.receive()) is not None:
            if said["verb"] == "run":
                self._waiting.put(said)
            elif said["verb"] == "cancel":
                self._cancel(said["token"])
        # The worker has ended, so no process waits for this run; another attempt replaces it.
        os._exit(0)

    def _cancel(self, token: int) -> None:
        with self._lock:
            if self._running is None or self._running[0] != token:
                return
            self._running[1].cancel()
            if self._task is not None:
                loop, task = self._task
                loop.call_soon_threadsafe(task.cancel)

    def _run(self, job: Job) -> Answer:
        function = find(job["handler"])
        if function is None:
            return {"verb": "unknown"}
        context = Context(job, self._channel.send)
        with self._lock:
            self._running = (job["token"], context)
        try:
            if inspect.iscoroutinefunction(function):
                result = asyncio.run(self._in_task(function, context))
            else:
                result = function(context, job["payload"])
            return _returned(result)
        except BaseException as error:  # noqa: BLE001 - also sys.exit() and a cancel end one run, not the process
            traceback.print_exc()
            return _raised(error, permanent=isinstance(error, Permanent))
        finally:
            with self._lock:
                self._running = self._task = None
            close_old_connections()

    async def _in_task(self, function: Any, context: Context) -> Any:
        task = asyncio.ensure_future(function(context, context.payload))
        with self._lock:
            self._task = (asyncio.get_running_loop(), task)
            if context.cancelled:
                task.cancel()
        return await task


def _returned(result: Any) -> Answer:
    try:
        size = len(orjson.dumps(result))
    except TypeError as error:
        return _raised(TypeError(f"The handler's result is no JSON: {error}"), permanent=True)
    if size > RESULT_BYTES:
        message = f"The handler's result takes {size} bytes; at most {RESULT_BYTES} are kept."
        return _raised(ValueError(message), permanent=True)
    return {"verb": "returned", "result": result}


def _raised(error: BaseException, *, permanent: bool) -> Answer:
    message = f"{type(error).__name__}: {error}".encode("utf-8", "replace").decode()
    return {"verb": "raised", "message": message[:1000], "permanent": permanent}


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def main(arguments: Sequence[str]) -> int:
    """Set Django up, import the modules that the worker names, and run jobs."""
    descriptor, parent = int(arguments[0]), int(arguments[1])
    die_with_parent(parent)
    channel = Channel(socket.socket(fileno=descriptor))
    hello = channel.hello()
    if hello is None:
        return 1
    try:
        django.setup()
        for module in hello["modules"]:
            importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - a module's error is reported, not only logged
        traceback.print_exc()
        _flush()
        channel.send({"verb": "broken", "message": _raised(error, permanent=False)["message"]})
        return 1
    channel.send({"verb": "ready"})
    Jobs(channel).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
