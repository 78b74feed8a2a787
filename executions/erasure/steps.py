"""The steps of an erasure: each is a transaction of its own, and an interrupted one is repeated.

The Celery task of the system worker calls them; housekeeping replaces a lost message. A step locks
the erasure's row, so that no two workers do the same, and notes how far it has come. Erasing what
is erased changes nothing, so only the counts of the certificate depend on that note.
"""

from __future__ import annotations

import gzip
import logging
from datetime import timedelta
from uuid import UUID

import redis
from django.db import transaction

from events import audit
from executions.broker import RUN_ERASURE, publish_system_job
from executions.changes.cancellation import cancel_locked
from executions.loop.clocks import database_now
from executions.models import Erasure, Execution
from executions.querysets import ErasureQuerySet
from shared.actor import SYSTEM
from shared.encryption import DecryptionFailed, open_sealed, seal
from shared.ids import first_id_at, moment_of
from shared.sealing_contexts import Context, idempotency_context
from shared.sql import rows, run
from shared.sql_arrays import of_blobs, of_integers
from tasks import erasing as erasing_tasks

log = logging.getLogger("executions.services.erasure")

_OPEN, _EXECUTIONS, _LETTERS, _ANSWERS, _REST = range(5)
_AT_ONCE = 500
_STEPS_AT_ONCE = 20
_NO_ID = UUID(int=0)
_MILLISECOND = timedelta(milliseconds=1)
#: An erasure that no worker took for this long waits, or has lost its message.
_LOST_AFTER = timedelta(seconds=30)
_GZIP = b"\x1f\x8b"
_ERASED = b'{"erased":true}'


def run_some(erasure_id: UUID) -> bool:
    """Do some steps of an erasure; return whether more is left to do now.

    False also when another worker has it, when it waits for running executions to end, and when it
    has ended. Raise database errors and Unavailable: uncommitted work was not done.
    """
    return all(_step(erasure_id) for _ in range(_STEPS_AT_ONCE))


def is_running(erasure_id: UUID) -> bool:
    """Return whether an erasure has not ended: it waits, or another worker has it."""
    return _running().filter(pk=erasure_id).exists()


def wake_waiting() -> int:
    """Hand every erasure that no worker has to one; return how many."""
    with transaction.atomic():
        now = database_now()
        waiting = _running().filter(woken_at__lte=now - _LOST_AFTER)
        ids = list(waiting.select_for_update(skip_locked=True).values_list("id", flat=True))
        Erasure.objects.filter(pk__in=ids).update(woken_at=now)
    for erasure_id in ids:
        hand_on(erasure_id)
    return len(ids)


def hand_on(erasure_id: UUID) -> None:
    """Ask the system worker to continue an erasure; only log when the broker is away."""
    try:
        publish_system_job(RUN_ERASURE, str(erasure_id))
    except redis.RedisError as error:
        log.warning(
            "erasure.not_handed_on", extra={"erasure_id": str(erasure_id), "reason": str(error)}
        )


def wake_on_commit(erasure_id: UUID) -> None:
    """Hand an erasure to a worker after this transaction commits."""
    transaction.on_commit(lambda: hand_on(erasure_id), robust=True)


def _running() -> ErasureQuerySet:
    """Return the erasures of tasks that have not ended; a command erases tenants."""
    return Erasure.objects.filter(ended_at=None, object_kind="task")


def _step(erasure_id: UUID) -> bool:
    """Do one step in a transaction; return whether the next one can be done now."""
    with transaction.atomic():
        # The race: two messages of one erasure. The second one skips the locked row.
        found = _running().filter(pk=erasure_id)
        erasure = found.select_for_update(skip_locked=True).first()
        if erasure is None:
            return False
        more = _PHASES[erasure.phase](erasure)
        erasure.woken_at = database_now()
        erasure.save()
        return more


def _end_open(erasure: Erasure) -> bool:
    """Cancel what is unfinished; go on once nothing is: a later outcome would bring content."""
    ids = [row[0] for row in rows("erasure/still_open", {"task": erasure.object_id})]
    if ids:
        cancel_locked([row for row in Execution.objects.held(ids) if row.finished_at is None])
    if _is_in_use(erasure):
        return False
    _enter(erasure, _EXECUTIONS)
    return True


def _is_in_use(erasure: Erasure) -> bool:
    """Return whether an execution is unfinished, or a bulk job may send its payload yet."""
    wanted = {"task": erasure.object_id, "tenant": erasure.tenant_id}
    open_ = rows("erasure/still_open", {"task": erasure.object_id})
    return bool(open_) or bool(rows("erasure/job_is_active", wanted)[0][0])


def _blank_executions(erasure: Erasure) -> bool:
    after = erasure.after_id or _NO_ID
    wanted = {"task": erasure.object_id, "after": after, "limit": _AT_ONCE}
    ids = [row[0] for row in rows("erasure/next_executions", wanted)]
    if not ids:
        _enter(erasure, _LETTERS)
        return True
    # An attempt has the time prefix of its execution.
    bounds = {
        "low": first_id_at(moment_of(ids[0])),
        "high": first_id_at(moment_of(ids[-1]) + _MILLISECOND),
    }
    _count(erasure, "executions", run("erasure/blank_executions", {"ids": ids, **bounds}))
    _count(erasure, "attempts", run("erasure/blank_attempts", {"ids": ids, **bounds}))
    _blank_jobs(erasure, ids)
    erasure.after_id = ids[-1]
    return True


def _blank_letters(erasure: Erasure) -> bool:
    """Erase dead letters by their task: they stay when the days of their executions go."""
    after = erasure.after_id or _NO_ID
    wanted = {"task": erasure.object_id, "after": after, "limit": _AT_ONCE}
    ids = [row[0] for row in rows("erasure/next_letters", wanted)]
    if not ids:
        _enter(erasure, _ANSWERS)
        return True
    _count(erasure, "dead_letters", run("erasure/blank_letters", {"ids": ids}))
    _blank_jobs(erasure, ids)
    erasure.after_id = ids[-1]
    return True


def _blank_jobs(erasure: Erasure, ids: list[UUID]) -> None:
    """Erase the payloads of ended bulk jobs that have acted on these rows."""
    jobs = {"tenant": erasure.tenant_id, "ids": ids}
    _count(erasure, "bulk_jobs", run("erasure/blank_jobs", jobs))


def _blank_answers(erasure: Erasure) -> bool:
    """Erase the stored answers of calls that name the task, of some calls."""
    after = 0 if erasure.after_id is None else erasure.after_id.int
    wanted = {"tenant": erasure.tenant_id, "after": after, "limit": _AT_ONCE}
    found = rows("erasure/answers_after", wanted)
    changed: list[tuple[int, bytes, bytes]] = []
    for number, key, stored in found:
        old, context = bytes(stored), idempotency_context(erasure.tenant_id, key)
        if (blank := _blank_answer(erasure, old, context)) is not None:
            changed.append((number, old, blank))
    if changed:
        parameters = {
            "ids": of_integers([one[0] for one in changed]),
            "old": of_blobs([one[1] for one in changed]),
            "sealed": of_blobs([one[2] for one in changed]),
        }
        _count(erasure, "idempotency_records", run("erasure/blank_answers", parameters))
    if len(found) < _AT_ONCE:
        _enter(erasure, _REST)
    else:
        erasure.after_id = UUID(int=found[-1][0])
    return True


def _blank_answer(erasure: Erasure, sealed: bytes, context: Context) -> bytes | None:
    """Return an answer without content for one that names the task; None for another one."""
    try:
        stored = open_sealed(sealed, context)
    except DecryptionFailed:
        return None
    packed = stored.startswith(_GZIP)
    body = gzip.decompress(stored) if packed else stored
    is_own = body.startswith(b'{"id":"%s"' % str(erasure.id).encode())
    if is_own or str(erasure.object_id).encode() not in body or body == _ERASED:
        return None
    return seal(gzip.compress(_ERASED) if packed else _ERASED, context)


def _blank_rest(erasure: Erasure) -> bool:
    task, tenant = erasure.object_id, erasure.tenant_id
    wanted = {"task": task, "tenant": tenant}
    if _is_in_use(erasure):
        # Once more from the begin, which counts anew.
        erasure.counts = {}
        _enter(erasure, _OPEN)
        return True
    _blank_jobs(erasure, [task])
    _count(erasure, "bulk_job_names", run("erasure/blank_job_names", wanted))
    _blank_alerts(erasure)
    _count(erasure, "admin_log", run("erasure/blank_admin_log", {"task": task}))
    run("erasure/blank_budget_events", {"task": task})
    _count(erasure, "task_revisions", erasing_tasks.blank(tenant, task))
    _count(erasure, "tasks", 1)
    erasure.audit_count, erasure.audit_digest = rows("erasure/audit_digest", wanted)[0]
    erasure.ended_at = database_now()
    facts = {"object_kind": "task", "object_id": str(task), "counts": erasure.counts}
    audit.record(tenant, SYSTEM, "erasure.completed", "erasure", erasure.id, after=facts)
    return False


def _blank_alerts(erasure: Erasure) -> None:
    wanted = {"task": erasure.object_id, "tenant": erasure.tenant_id}
    found = rows("erasure/alerts_of_task", wanted)
    own = {"alerts": [alert for alert, is_alone in found if is_alone]}
    run("erasure/remove_deliveries", own)
    run("erasure/remove_alert_tasks", own)
    run("erasure/remove_mutes", own)
    run("erasure/remove_alerts", own)
    shared = [alert for alert, is_alone in found if not is_alone]
    run("erasure/blank_alerts", {"alerts": shared})
    _count(erasure, "alerts", len(found))


def _enter(erasure: Erasure, phase: int) -> None:
    erasure.phase, erasure.after_id = phase, None


def _count(erasure: Erasure, table: str, number: int) -> None:
    erasure.counts[table] = erasure.counts.get(table, 0) + number


_PHASES = (_end_open, _blank_executions, _blank_letters, _blank_answers, _blank_rest)
