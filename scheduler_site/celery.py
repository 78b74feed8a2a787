"""The Celery application: carries batches to workers and housekeeping to the system worker.

For executions it uses no ETA, no countdown, no revoke and no broker priorities: the database
holds the future, and a lost message is repaired by its lease.
"""

from __future__ import annotations

import os

import orjson
from celery import Celery
from kombu.serialization import register

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")

register(
    "orjson",
    lambda value: orjson.dumps(value).decode(),
    orjson.loads,
    content_type="application/x-orjson",
    content_encoding="utf-8",
)


app = Celery("punctual")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(related_name="celery_tasks")
