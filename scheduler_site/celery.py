"""The Celery application: carries batches to workers and housekeeping to the system worker.

For executions it uses no ETA, no countdown, no revoke and no broker priorities: the database
holds the future, and the lease repairs a lost message.
"""

from __future__ import annotations

import os
from typing import Any

import orjson
from celery import Celery
from celery.app.amqp import AMQP
from celery.signals import setup_logging
from kombu.connection import Connection
from kombu.serialization import register

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")
# Django's checks load every page of the API and the console: 20 MB in a process that shows none.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

register(
    "orjson",
    lambda value: orjson.dumps(value).decode(),
    orjson.loads,
    content_type="application/x-orjson",
    content_encoding="utf-8",
)

#: How long, in seconds, a worker waits before it tries again to reach its broker.
_SOON = {"interval_start": 0.2, "interval_step": 0.2, "interval_max": 2.0}


class SoonBack(Connection):
    """A connection to the broker; a waiting process finds it within two seconds of its return.

    Celery's own waits begin at two seconds and grow to thirty, with no setting for them.
    """

    def ensure_connection(self, *args: Any, **kwargs: Any) -> Connection:
        """Return itself, connected; try again as often as the caller says."""
        given = {**_SOON, **kwargs}
        super().ensure_connection(*args, **given)  # type: ignore[no-untyped-call]  # kombu has none
        return self


class _Amqp(AMQP):
    Connection = SoonBack


@setup_logging.connect
def keep_logging(**_: object) -> None:
    """Leave the log as the settings have it: without a receiver Celery sets it up its own way."""


app = Celery("punctual", amqp=_Amqp)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(related_name="celery_tasks")
