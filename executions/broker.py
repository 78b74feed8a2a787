"""Publish to the broker: all work for the workers goes through this module."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Any, cast

import redis
from celery import current_app
from kombu.connection import Connection
from kombu.exceptions import OperationalError
from kombu.pools import ProducerPool, producers

from shared.redis_client import client
from wire.messages import Sent

#: The Celery task that takes a batch of executions.
DELIVER = "executions.deliver"
#: The Celery task that does a part of a bulk job.
RUN_BULK_JOB = "executions.run_bulk_job"
#: The Celery task that makes more tasks follow a changed calendar.
FOLLOW_CALENDAR = "executions.follow_calendar"
#: The Celery task that follows a new release of the zone database.
CHECK_ZONES = "executions.check_zone_rules"
#: The Celery task that counts what tenants with quotas store.
RECOUNT_QUOTAS = "executions.recount_quotas"
#: The Celery task that keeps the heads of audit chains.
WRITE_HEADS = "executions.write_audit_heads"
#: The Celery task that continues an erasure.
RUN_ERASURE = "executions.run_erasure"
#: The Celery task that continues to seal the values of a tenant anew.
RESEAL = "executions.reseal"
#: The Celery task that makes day tables again for executions that end late.
MAKE_DAYS = "executions.make_days"
_SYSTEM_QUEUE = "system"
_PROBE_KEY = "punctual:probe"
#: Without these a publisher whose broker is away sleeps for seconds, in steps that grow: long
#: enough for a scheduler to lose its partitions.
AT_ONCE = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}


def publish(queue: str, message: Sent) -> None:
    """Hand a message to a queue; raise redis.ConnectionError at once when the broker is away."""
    _send(DELIVER, queue, [message])


def publish_system_job(task: str, *arguments: str) -> None:
    """Ask the system worker to run a Celery task; raise as :func:`publish` does."""
    _send(task, _SYSTEM_QUEUE, list(arguments))


def ask_for_days(days: Iterable[datetime], **_: object) -> None:
    """Ask the system worker to make the tables of these days; raise as :func:`publish` does."""
    publish_system_job(MAKE_DAYS, " ".join(f"{day:%Y%m%d}" for day in days))


def probe() -> None:
    """Raise redis.ConnectionError unless a message could be handed over now.

    Redis has to take a write, because a full Redis or a replica still answers reads.
    """
    client().set(_PROBE_KEY, 1, ex=60)
    try:
        with _producers(current_app.conf.broker_url).acquire(block=True) as producer:
            producer.connection.ensure_connection(**AT_ONCE)
    except (OperationalError, redis.RedisError, OSError) as error:
        raise redis.ConnectionError(str(error)) from error


def _send(task: str, queue: str, arguments: list[Any]) -> None:
    try:
        with _producers(current_app.conf.broker_url).acquire(block=True) as producer:
            current_app.send_task(
                task,
                args=arguments,
                queue=queue,
                producer=producer,
                retry=False,
                ignore_result=True,
                # Celery would write out each batch a second time, and nothing reads that text.
                argsrepr="",
                kwargsrepr="",
            )
    except (OperationalError, redis.RedisError, OSError) as error:
        raise redis.ConnectionError(str(error)) from error


@cache
def _producers(url: str) -> ProducerPool:
    options = {**current_app.conf.broker_transport_options, **AT_ONCE}
    connection = cast(Connection, current_app.connection(url, transport_options=options))
    return cast(ProducerPool, producers[connection])
