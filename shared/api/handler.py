"""Django's ASGI handler for views and middleware that are all synchronous.

Django's own lets each middleware choose, and a request goes from the loop to a thread and back
for every change between them; here it goes to one thread, once.
"""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase


class OneThreadHandler(ASGIHandler):
    """Answers a request in one thread of its own, as WSGI would."""

    def load_middleware(self, is_async: bool = False) -> None:
        """Load every middleware as a synchronous one."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Return what the views answer."""
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)
