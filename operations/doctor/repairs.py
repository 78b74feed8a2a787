"""The repairs of ``doctor --fix``: they make missing things and never change existing ones.

Each repair can be repeated at any time, also while everything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import redis
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, transaction

from events import audit
from executions.complete import outcome_stream
from executions.ledger import days
from executions.loop.clocks import database_now
from operations.housekeeping_entries import ensure_entries
from shared.actor import COMMAND
from shared.commands import first_line
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, client

#: The result of a repair that had nothing to do.
NOTHING = "nothing was missing"


@dataclass(frozen=True, slots=True)
class Repair:
    """The result of one repair; ``failed`` is the reason of a failure."""

    repair: str
    done: str
    failed: str = ""


def repair_all() -> Iterator[Repair]:
    """Do every safe repair and yield what each did."""
    for name, work in _REPAIRS:
        try:
            repair = Repair(name, work())
            if repair.done != NOTHING:
                audit.record_of_installation(
                    COMMAND, "doctor.repaired", "repair", name, done=repair.done
                )
            yield repair
        except (DatabaseError, ImproperlyConfigured, redis.RedisError, OSError) as error:
            yield Repair(name, "", first_line(error))


def _days() -> str:
    with transaction.atomic(durable=True):
        made = days.ensure_days_ahead(database_now())
    return f"made {made} day tables" if made else NOTHING


def _entries() -> str:
    with transaction.atomic(durable=True):
        made = ensure_entries()
    return f"made {', '.join(made)}" if made else NOTHING


def _outcome_group() -> str:
    if not settings.REDIS_URL:
        raise ImproperlyConfigured("No address of Redis is known.")
    if _has_group():
        return NOTHING
    outcome_stream.ensure_group()
    return "made the recorders' group"


def _has_group() -> bool:
    try:
        groups = client().xinfo_groups(OUTCOME_STREAM)
    except redis.ResponseError:
        # No stream yet.
        return False
    return any(group["name"] in (OUTCOME_GROUP, OUTCOME_GROUP.encode()) for group in groups)


_REPAIRS: Sequence[tuple[str, Callable[[], str]]] = (
    ("day tables", _days),
    ("housekeeping", _entries),
    ("outcome group", _outcome_group),
)
