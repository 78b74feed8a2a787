"""How the web process runs Django: each request in one of a few threads, from end to end.

Every view and middleware here is synchronous. Django's own handler for ASGI makes a thread for each
request and changes threads at each border between its asynchronous middleware and a view; that
costs as much as a small request itself, and many threads slow each other down. The threads are
shared by tenants (``shared.fair_slots``): a crowd of one tenant leaves the last of them to others,
and requests that wait for a thread get it by shares, not in the order in which they came.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import FileResponse, StreamingHttpResponse
from django.urls import set_script_prefix

from api.protocol.body_limit import Message
from api.protocol.known_callers import sharer_of
from api.protocol.rate_limits import THREADS
from shared.fair_slots import Caller, FairSlots


class ThreadedHandler(ASGIHandler):
    """An ASGI application for HTTP alone; a request that has begun is worked on to its end."""

    def __init__(self) -> None:
        # Not ASGIHandler's own, which adapts the middleware to the event loop.
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="web")
        # As many as there are threads: a request that has a slot finds a thread at once.
        self._slots = FairSlots(THREADS)

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        """Answer one request; send nothing to a caller who leaves before the body has arrived."""
        if scope["type"] != "http":
            raise ValueError(f"only HTTP is answered here, not {scope['type']}")
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        run = copy_context().run
        loop = asyncio.get_running_loop()
        async with self._slots.slot(Caller(sharer_of(scope))):
            response = await loop.run_in_executor(self._threads, run, self._respond, scope, body)
        await self.send_response(response, send)

    def _respond(self, scope: Message, body: Any) -> Any:
        """Return the whole response, closed: this thread gives its database connection back."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, body)
        response: Any = refusal if request is None else self.get_response(request)
        response._handler_class = self.__class__
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if isinstance(response, StreamingHttpResponse):
            # Files of our own, which are small.
            parts: Any = response.streaming_content
            response.streaming_content = _parts(list(parts))
        response.close()
        body.close()
        # Reference cycles hold them: they would stay in memory until the garbage collection.
        vars(response).pop("renderer_context", None)
        if request is not None:
            vars(request).clear()
        return response


async def _parts(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
