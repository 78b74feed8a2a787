"""The routes of WebSockets, behind the gate that checks the page's origin."""

from __future__ import annotations

from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import WebsocketDenier
from django.urls import path, re_path

from notifications.consumers import LiveConsumer
from notifications.origins import OriginGate
from shared import tenant_scope


class TenantScopeGate:
    """Let every socket begin without a tenant, as requests do."""

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket to its end within a tenant scope of its own."""
        with tenant_scope.of_request():
            await self._application(scope, receive, send)


websocket_application = TenantScopeGate(
    OriginGate(
        AuthMiddlewareStack(
            URLRouter(
                [
                    path("ws/live", LiveConsumer.as_asgi()),
                    re_path("", WebsocketDenier.as_asgi()),
                ]
            )
        )
    )
)
