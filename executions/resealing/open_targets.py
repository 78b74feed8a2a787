"""Moves URLs and arguments that older versions stored in clear into the sealed parts of their rows.

Only of tenants whose operator has said, by ``keys reseal``, that no process runs that cannot read
the sealed form. The rows themselves say what is left to do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import transaction

from executions.bulk import sealed_options
from executions.loop.clocks import database_now
from executions.resealing.sealing_anew import Place
from shared.data_keys import ACTIVE_SECONDS
from shared.encryption import DecryptionFailed, is_under_data_key, open_json, seal_json
from shared.sealing_contexts import bulk_payload_context, revision_context
from shared.sql import json_value, rows, run
from tasks import sealed_targets

_AT_ONCE = 200
_BYTES_AT_ONCE = 8 * 1024 * 1024
#: How often, and for how long in all, transactions from before are waited for.
_LOOKS, _LOOK_SECONDS = 50, 0.2
_wait = threading.Event().wait


class Left(NamedTuple):
    """How many rows hold in clear what belongs into their sealed part."""

    versions: int
    jobs: int


@dataclass(slots=True)
class Closed:
    """The result of a pass so far; ``place`` is where a later one may continue."""

    done: int = 0
    unreadable: int = 0
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class OpenTargets:
    """A pass over one table: like a column with sealed values, it has a title."""

    title: str
    #: -> the statement that finds the next rows, and what is done with one of them.
    find: str
    first: Any
    close: Callable[[tuple[Any, ...]], bool]


def close_targets(
    step: OpenTargets, tenant_id: UUID | None = None, begin: Place | None = None
) -> Iterator[Closed]:
    """Seal what rows of a table hold in clear; yield the result so far after each batch.

    Of one tenant, or of all; from the begin, or from the place of an earlier pass. A row that
    another session has changed or locked stays as it is, and so does one that no key opens.
    """
    result = Closed()
    after = step.first if begin is None or begin.after is None else begin.after[0]
    while True:
        wanted = {"after": after, "tenant": tenant_id, "limit": _AT_ONCE, "bytes": _BYTES_AT_ONCE}
        with transaction.atomic():
            run("resealing/take_time")
            rows("resealing/plan_in_order")
            rows("resealing/plan_by_keys")
            found = rows(step.find, wanted)
        _close_each(step, found, result)
        if found:
            after = found[-1][0]
        result.place = Place(after=(after,))
        yield result
        if not found:
            return


def wait_for_processes(begun_at: datetime) -> None:
    """Wait until every process knows that targets are sealed, which was stored at this moment.

    Until then one may store a target in clear, behind the pass. Waits ten seconds at most for
    transactions that have begun before; ``count_open`` has what a longer one stores.
    """
    moment = begun_at + timedelta(seconds=ACTIVE_SECONDS)
    _wait(max(0.0, (moment - database_now()).total_seconds()))
    for _ in range(_LOOKS):
        if not rows("resealing/open_since_before", {"moment": moment})[0][0]:
            return
        _wait(_LOOK_SECONDS)


def count_open(tenant_id: UUID | None = None) -> Left:
    """Return what a tenant, or all, still have in clear; also where targets are not sealed yet."""
    with transaction.atomic():
        run("resealing/take_time")
        [counts] = rows("resealing/open_left", {"tenant": tenant_id})
    return Left(*counts)


def _close_each(step: OpenTargets, found: Sequence[tuple[Any, ...]], result: Closed) -> None:
    for row in found:
        try:
            result.done += step.close(row)
        except DecryptionFailed:
            result.unreadable += 1


def _close_version(row: tuple[Any, ...]) -> bool:
    key, tenant_id, task_id, version, definition, old = row
    context = revision_context(tenant_id, task_id, version)
    stored = json_value(definition)
    plain, secret = sealed_targets.closed(stored["target"], open_json(bytes(old), context))
    sealed = seal_json(secret, context)
    # The race: an erasure has destroyed the keys of the tenant since. What it has closed is not
    # sealed again by the key of the installation, which backups have.
    if not is_under_data_key(sealed):
        return False
    text = orjson.dumps({**stored, "target": plain}).decode()
    parameters = {"id": key, "plain": text, "sealed": sealed, "old": bytes(old)}
    return run("resealing/close_version", parameters) > 0


def _close_job(row: tuple[Any, ...]) -> bool:
    key, tenant_id, stored, old = row
    options = json_value(stored)
    sealed = None if old is None else bytes(old)
    if "url" in (options.get("into") or {}):
        sealed = seal_json(options["into"], bulk_payload_context(tenant_id, key))
        if not is_under_data_key(sealed):
            return False
    text = orjson.dumps(sealed_options.readable(options)).decode()
    parameters = {"id": key, "options": text, "sealed": sealed, "old": old}
    return run("resealing/close_job", parameters) > 0


#: In the order of the passes, behind those over columns: what they seal has the newest key.
OPEN_TARGETS = (
    OpenTargets("task_revisions.definition", "resealing/open_versions", 0, _close_version),
    OpenTargets("bulk_jobs.options", "resealing/open_jobs", UUID(int=0), _close_job),
)
