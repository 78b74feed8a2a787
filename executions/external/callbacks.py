"""The calls of the holder of an execution's token: heartbeat, complete, fail, release.

The holder is a receiver that was called with ``completion: callback``, or a worker that leased
over the API. The fencing token guards each call: a stale one changes nothing. No call waits for
reports of our own workers; their later reports under the same token are stale. While a tenant is
suspended, an attempt under way may end, and its token is worthless afterwards. A receiver may
repeat what it was sent: the values of named secrets are masked before anything is kept.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import transaction

from executions import transitions
from executions.attempts import attempts_of
from executions.choices import LEASED, AttemptOutcome, Status
from executions.complete.outcome_reports import facts_text
from executions.loop.clocks import database_now
from executions.models import Attempt, Execution
from executions.payloads import as_readable, result_of
from executions.transitions import Beaten, Finish
from shared import tenant_scope
from shared.encryption import DecryptionFailed, seal
from shared.exceptions import Conflict, NotFound, TooLarge
from shared.named_secrets.masking import masked_document, masked_text
from shared.named_secrets.opened import Secrets
from shared.notify import wake_schedulers_in
from shared.sealing_contexts import progress_context, result_context
from shared.sql import json_value, rows
from shared.tenant_scope import Purpose
from tasks.named_secrets.reading import named_secrets
from tenants.suspension import require_active
from wire import retry as another_try
from wire.costs import cost_of_result
from wire.retry import Ended, Known

PROGRESS_BYTES = 16 * 1024
RESULT_BYTES = 64 * 1024
#: The code of an error that the holder itself reported.
HOLDER_FAILED = "handler_error"
#: The reason of an execution whose holder wanted no other attempt.
_UNWANTED = "not_retryable"
_LONGEST_ERROR = 1000


@dataclass(frozen=True, slots=True)
class Failure:
    """A holder's report of its failure; without ``delay`` the policy decides when to retry.

    ``code`` is another one for work that could not be read and was not handed out.
    """

    message: str
    retry: bool = True
    delay: float | None = None
    code: str = HOLDER_FAILED


class PullWorker(NamedTuple):
    """The worker that ended a leased job; ``pool`` as the ledger names it."""

    tenant_id: UUID
    pool: str
    name: str


@dataclass(frozen=True, slots=True)
class Ending:
    """The result of a holder's call.

    ``ended_by`` is the pull worker whose attempt this call ended; None for a receiver, and for a
    call that only repeats what is recorded.
    """

    execution_id: UUID
    status: str
    attempt: int
    ended_by: PullWorker | None = None


class _Held(NamedTuple):
    """A row of the statement, in its order."""

    id: UUID
    tenant_id: UUID
    status: str
    token: int | None
    attempt: int
    max_attempts: int
    scheduled_for: datetime
    cancel_requested: bool
    worker: str
    leased: bool
    started_at: datetime | None
    policy: Any
    pool: str
    reason: str
    named_secrets: Any

    @property
    def number(self) -> int:
        """The number of the attempt under way, also while its start is not recorded."""
        return self.attempt + (1 if self.status == Status.QUEUED else 0)


@transaction.atomic
def heartbeat(
    execution_id: UUID, token: int, progress: Any = None, extend_seconds: int | None = None
) -> Beaten:
    """Keep the lease, and note the progress unless it is None.

    Raise TooLarge, or Conflict ``stale_lease``.
    """
    document = _document(progress, PROGRESS_BYTES, "#/progress")
    sealed = None
    if document is not None:
        sealed = _sealed_progress(execution_id, document)
    beaten = transitions.heartbeat(execution_id, token, sealed, extend_seconds)
    if beaten is None:
        _require_active(execution_id)
        raise _stale()
    return beaten


@transaction.atomic
def complete(execution_id: UUID, token: int, result: Any = None) -> Ending:
    """End the job with success, also when its cancel was requested.

    A repeat with the same result gets the same answer. Raise TooLarge, NotFound, or Conflict
    ``stale_lease``, also for another result than the recorded one.
    """
    document = _document(result, RESULT_BYTES, "#/result")
    held = _hold(execution_id)
    if document is not None:
        document = masked_document(document, _secrets_of(held))
        result = orjson.loads(document)
    sealed = None
    if document is not None:
        sealed = seal(document, result_context(held.tenant_id, execution_id))
    if not _holds(held, token):
        require_active(held.tenant_id)
        ended = _recorded(held, token, lambda one: one.outcome == AttemptOutcome.SUCCEEDED)
        _require_same("result", _is_the_result(held.id, result))
        return _again(held, ended)
    cost = cost_of_result(result)
    return _finish(
        held,
        token,
        status=Status.SUCCEEDED,
        outcome=AttemptOutcome.SUCCEEDED,
        sealed_result=sealed,
        timings=facts_text({}, cost),
        cost=cost.by_unit,
    )


@transaction.atomic
def fail(execution_id: UUID, token: int, failure: Failure) -> Ending:
    """End the attempt with failure; another follows by the policy, unless the holder wants none.

    A job whose cancel was requested is CANCELLED. A repeat with the same error gets the same
    answer. Raise NotFound, or Conflict ``stale_lease``, also for another error, or another wish for
    a retry, than the recorded one.
    """
    held = _hold(execution_id)
    message = masked_text(failure.message, _secrets_of(held))[:_LONGEST_ERROR]
    if not _holds(held, token):
        require_active(held.tenant_id)
        ended = _recorded(held, token, lambda one: one.error_code == HOLDER_FAILED)
        _require_same("error", ended.error_message == message)
        _require_same("wish for a retry", _wanted_retry(held, ended) in (None, failure.retry))
        return _again(held, ended)
    now = database_now()
    verdict = another_try.judge(
        Ended(held.number, held.max_attempts, held.scheduled_for, now, held.cancel_requested),
        json_value(held.policy),
        random.random,
        Known(refusal="" if failure.retry else _UNWANTED, delay=failure.delay),
    )
    cancelled = verdict.status == Status.CANCELLED
    if verdict.status == Status.RETRYING:
        wake_schedulers_in(verdict.retry_in)
    return _finish(
        held,
        token,
        status=verdict.status,
        outcome=AttemptOutcome.CANCELLED if cancelled else AttemptOutcome.FAILED,
        reason=verdict.reason,
        retry_in=verdict.retry_in,
        error_code=failure.code,
        error_message=message,
    )


@transaction.atomic
def release(execution_id: UUID, token: int) -> Ending:
    """Hand leased work back unstarted: PENDING again, no attempt used; a repeat changes nothing.

    Raise NotFound, Conflict ``stale_lease``, or Conflict ``already_started`` for work whose holder
    has sent a heartbeat, and for a receiver's work, which began when the request was sent.
    """
    held = _hold(execution_id)
    if not _holds(held, token):
        require_active(held.tenant_id)
        if held.leased and held.token == token and held.status == Status.PENDING:
            return Ending(held.id, held.status, held.attempt)
        raise _stale()
    if not held.leased or held.status != Status.QUEUED:
        raise Conflict("The execution has started; complete it or fail it.", code="already_started")
    transitions.release([(held.id, token)])
    return Ending(held.id, Status.PENDING, held.attempt)


def enter_tenant_of(execution_id: UUID) -> None:
    """Enter the tenant of an execution whose token was verified; of a missing one, no tenant."""
    if tenant_scope.current() is None:
        return
    with tenant_scope.across(Purpose.EXECUTION_TOKEN):
        # By name: such a statement shares the round trip of the binding.
        found = rows("callback/tenant", {"id": execution_id})
    tenant_scope.enter(found[0][0] if found else tenant_scope.NO_TENANT)


def _require_active(execution_id: UUID) -> None:
    """Raise TenantSuspended for a token whose attempt is over, of a suspended tenant."""
    tenant = Execution.objects.filter(pk=execution_id).values_list("tenant_id", flat=True).first()
    if tenant is not None:
        require_active(tenant)


def _hold(execution_id: UUID) -> _Held:
    # In this order: the second one finds an execution that ends while the first waits for it.
    one = {"id": execution_id}
    found = rows("callback/holder", one) or rows("callback/ended_holder", one)
    if not found:
        raise NotFound("There is no such execution.")
    return _Held(*found[0])


def _holds(held: _Held, token: int) -> bool:
    return held.token == token and held.status in LEASED


def _finish(held: _Held, token: int, **parts: Any) -> Ending:
    now = database_now()
    finish = Finish(
        execution_id=held.id,
        token=token,
        number=held.number,
        worker=held.worker,
        started_at=held.started_at or now,
        finished_at=now,
        **parts,
    )
    transitions.finish([finish])
    by = PullWorker(held.tenant_id, held.pool, held.worker) if held.leased else None
    return Ending(held.id, finish.status, held.number, by)


def _recorded(held: _Held, token: int, said: Callable[[Attempt], bool]) -> Attempt:
    """Return the attempt that this token has ended in the same way; raise Conflict without one."""
    for attempt in attempts_of([held.id])[held.id]:
        if attempt.fencing_token == token and said(attempt):
            return attempt
    raise _stale()


def _again(held: _Held, ended: Attempt) -> Ending:
    """Return the first answer for a repeated call."""
    return Ending(held.id, _status_after(held, ended), ended.number)


def _require_same(what: str, same: bool) -> None:
    if not same:
        raise Conflict(
            f"This token has ended its attempt already, with another {what}: the first one stays.",
            code="stale_lease",
        )


def _is_the_result(execution_id: UUID, result: Any) -> bool:
    """Return whether the execution is recorded with this result, in any order of keys."""
    execution = Execution.objects.get(pk=execution_id)
    recorded = as_readable(partial(result_of, execution)).whole()
    return _comparable(recorded) == _comparable(result)


def _comparable(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _wanted_retry(held: _Held, ended: Attempt) -> bool | None:
    """Return whether the holder that ended the attempt wanted another one; None: not known."""
    if held.token != ended.fencing_token or held.status == Status.RETRYING:
        return True
    return held.reason != _UNWANTED if held.status == Status.FAILED else None


def _status_after(held: _Held, attempt: Attempt) -> str:
    # A later holder has got the execution as a retry.
    return held.status if held.token == attempt.fencing_token else Status.RETRYING


def _sealed_progress(execution_id: UUID, document: bytes) -> bytes | None:
    """Return the progress as it is kept; None for an execution that has ended or never was."""
    found = rows("callback/secrets_of_holder", {"id": execution_id})
    if not found:
        return None
    tenant_id, names = found[0]
    masked = masked_document(document, _opened(tenant_id, names))
    return seal(masked, progress_context(tenant_id, execution_id))


def _secrets_of(held: _Held) -> Secrets | None:
    return _opened(held.tenant_id, held.named_secrets)


def _opened(tenant_id: UUID, names: Any) -> Secrets | None:
    """Return the secrets of these names, which the run was sent; None where no key opens one."""
    try:
        return named_secrets(tenant_id, json_value(names) or ())
    except DecryptionFailed:
        return None


def _document(value: Any, limit: int, pointer: str) -> bytes | None:
    if value is None:
        return None
    document = orjson.dumps(value)
    if len(document) > limit:
        raise TooLarge(f"{pointer} takes more than {limit} bytes as JSON.")
    return document


def _stale() -> Conflict:
    return Conflict(
        "The lease is over: it expired, was cancelled or has another holder.", code="stale_lease"
    )


def require_token(proven: int, said: int | None) -> int:
    """Return the fencing token that the execution token proves; raise Conflict for another one."""
    if said is not None and said != proven:
        raise _stale()
    return proven
