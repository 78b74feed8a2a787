"""Turns of shared channels: one that does not answer holds up neither mails nor other channels.

A channel gets one message at a time, and what is owed to it waits together after a failure
(``notifications.claims``). Of the threads of a system worker at most two send to channels, and one
more to channels whose last message failed; the rest stays free for mails and other jobs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from threading import BoundedSemaphore
from uuid import UUID

import redis

from executions.loop.clocks import database_now
from notifications.broker import wake_sender
from notifications.choices import DeliveryStatus
from notifications.claims import claimable
from notifications.models import Delivery

log = logging.getLogger(__name__)

THREADS, THREADS_AFTER_FAILURE = 2, 1
_SENDING = BoundedSemaphore(THREADS)
_TRYING_AGAIN = BoundedSemaphore(THREADS_AFTER_FAILURE)
#: A message that finds all of these threads taken is tried again after this long.
_PUT_OFF = timedelta(seconds=1)
_PUT_OFF_AFTER_FAILURE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Turn:
    """Whether this thread may send a delivery now, and its shared channel, if it has one."""

    granted: bool
    channel_id: UUID | None


@contextmanager
def turn_of(delivery_id: UUID) -> Iterator[Turn]:
    """Take a turn for the delivery; without one it is put off for a moment.

    Deliveries to members always have one.
    """
    found = Delivery.objects.filter(pk=delivery_id, alert_channel__isnull=False)
    channel = found.values_list("alert_channel_id", "alert_channel__failed_at").first()
    if channel is None:
        yield Turn(granted=True, channel_id=None)
        return
    channel_id, failed_at = channel
    failed = failed_at is not None
    threads = _TRYING_AGAIN if failed else _SENDING
    if not threads.acquire(blocking=False):
        _put_off(delivery_id, _PUT_OFF_AFTER_FAILURE if failed else _PUT_OFF)
        yield Turn(granted=False, channel_id=channel_id)
        return
    try:
        yield Turn(granted=True, channel_id=channel_id)
    finally:
        threads.release()


def wake_next(channel_id: UUID) -> None:
    """Wake a sender for the channel's next due delivery, whose own wake-up found it taken."""
    due = Delivery.objects.filter(claimable(database_now()), alert_channel_id=channel_id)
    following = due.order_by("next_attempt_at", "id").values_list("id", flat=True).first()
    if following is None:
        return
    try:
        wake_sender(following)
    except redis.ConnectionError as error:
        # The row stays due; the recorder wakes a sender once the broker is back.
        log.warning("deliveries.held_back", extra={"reason": str(error), "count": 1})


def one_of_each_channel(rows: Sequence[tuple[UUID, UUID | None]]) -> list[UUID]:
    """Return the deliveries to wake senders for: the first of each channel, and all of members."""
    seen: set[UUID] = set()
    chosen = []
    for delivery_id, channel_id in rows:
        if channel_id is None or channel_id not in seen:
            chosen.append(delivery_id)
        if channel_id is not None:
            seen.add(channel_id)
    return chosen


def _put_off(delivery_id: UUID, wait: timedelta) -> None:
    waiting = Delivery.objects.filter(pk=delivery_id, status=DeliveryStatus.PENDING)
    waiting.update(next_attempt_at=database_now() + wait, woken_at=None)
