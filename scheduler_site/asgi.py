"""The ASGI application: HTTP by Django, live updates by Channels."""

from __future__ import annotations

import os

import django
from channels.routing import ProtocolTypeRouter

from api.protocol.body_limit import BodyLimit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")

django.setup(set_prefix=False)
# Consumers and views import models, which need Django to be set up.
from api.pools.long_poll import LongPoll  # noqa: E402 - see above
from notifications.routing import websocket_application  # noqa: E402 - see above
from scheduler_site.web_handler import ThreadedHandler  # noqa: E402 - see above

application = ProtocolTypeRouter(
    {"http": BodyLimit(LongPoll(ThreadedHandler())), "websocket": websocket_application}
)
