"""The ASGI application: HTTP by Django, live updates by Channels."""

from __future__ import annotations

import os
from typing import cast

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

from shared.api.body_limit import Application, BodyLimit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")

django_application = cast(Application, get_asgi_application())
# Consumers and views import models, which are there once Django's application is.
from executions.api.long_poll import LongPoll  # noqa: E402 - see above
from notifications.routing import websocket_application  # noqa: E402 - see above

application = ProtocolTypeRouter(
    {"http": BodyLimit(LongPoll(django_application)), "websocket": websocket_application}
)
