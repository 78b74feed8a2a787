"""The ASGI application: HTTP by Django, live updates by Channels."""

from __future__ import annotations

import os
from typing import cast

import django
from channels.routing import ProtocolTypeRouter

from shared.api.body_limit import Application, BodyLimit
from shared.api.handler import OneThreadHandler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")

django.setup(set_prefix=False)
django_application = cast(Application, OneThreadHandler())
# Consumers and views import models, which are there once Django's application is.
from executions.api.long_poll import LongPoll  # noqa: E402 - see above
from notifications.routing import websocket_application  # noqa: E402 - see above

application = ProtocolTypeRouter(
    {"http": BodyLimit(LongPoll(django_application)), "websocket": websocket_application}
)
