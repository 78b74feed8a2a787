"""The routes of WebSockets, behind the gate that checks the page's origin."""

from __future__ import annotations

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import WebsocketDenier
from django.urls import path, re_path

from notifications.consumers import LiveConsumer
from notifications.origins import OriginGate

websocket_application = OriginGate(
    AuthMiddlewareStack(
        URLRouter(
            [
                path("ws/live", LiveConsumer.as_asgi()),
                re_path("", WebsocketDenier.as_asgi()),
            ]
        )
    )
)
