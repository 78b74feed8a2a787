"""Calls of one tenant that come at the same time run together, in one durable transaction.

``@idempotent_together`` wraps a view's handler. In a web process, of each tenant:

1. a call that finds no leader leads; later calls wait;
2. the leader takes all waiting calls and locks their keys; the first calls among them run
   together, and their answers are stored with the COMMIT;
3. it wakes them all, and makes the first call that has arrived meanwhile the next leader.

A call without company is a group of one and does not wait. Groups that follow each other begin some
milliseconds apart, so that each is worth its transaction: the longer a group takes, because the
machine is busy or the calls are many, the later the next one begins and the more calls it has. So a
tenant's crowd has a transaction under way for a part of the time only, and leaves the rest to other
tenants. A second call under a key that
waits or runs here gets 409 at once. A replay, a key that is locked elsewhere, and every call of a
group that fails runs alone afterwards, as with ``@idempotent``. If the group was committed after
all, the call finds its answer under its key.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast
from uuid import UUID

import structlog
from django.db import connection
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from api.idempotency import (
    Call,
    IdempotencyInProgress,
    call_of,
    finding_known,
    holding,
    queue_of,
    refuse,
    run_once,
    storing,
)
from api.protocol.views import PunctualView
from shared import sql
from shared.exceptions import PunctualError

logger = structlog.get_logger(__name__)

Handler = TypeVar("Handler", bound=Callable[..., Any])

#: Time from the start of a group to the start of the next one, where calls waited for it: at least
#: this, as many times what the group took, and at most that.
_APART_SECONDS, _TIMES, _MOST_APART_SECONDS = 0.012, 2.0, 0.03

#: An answer that is frozen already, or the refusal of a call that changed nothing.
Outcome = HttpResponse | PunctualError


@dataclass(frozen=True, slots=True)
class Together:
    """How calls of one tenant run together.

    ``ask`` returns statements that run in the same round trip as the lock of the keys, after it.
    ``run`` gets the calls' views and the results of these statements, and returns the outcome of
    each call. An error that it raises undoes all.
    """

    ask: Callable[[UUID], Sequence[sql.Asked]]
    run: Callable[[Sequence[Any], Sequence[sql.Done]], Sequence[Outcome]]

    def run_alone(self, view: PunctualView) -> HttpResponse:
        """Run one call in the caller's transaction, which holds its key."""
        [outcome] = self.run([view], sql.together(*self.ask(view.tenant_id)))
        if isinstance(outcome, PunctualError):
            raise outcome
        return outcome


def idempotent_together(together: Together) -> Callable[[Handler], Handler]:
    """Run calls of a handler in groups; the handler itself runs a call that goes alone."""
    groups = _Groups(together)

    def decorate(handler: Handler) -> Handler:
        @wraps(handler)
        def once(view: PunctualView, request: Request) -> HttpResponseBase:
            call = cast(Call, call_of(view, request, required=True))
            outcome = groups.outcome_of(_Member(view, call))
            if isinstance(outcome, HttpResponse):
                return outcome
            # The call may have returned its connection to the pool while it waited. Take one before
            # the queue: a call with a place in it must not wait for a connection.
            connection.ensure_connection()
            with queue_of(call.tenant):
                if outcome is None:
                    return run_once(call, request, lambda: handler(view, request))
                refusal = refuse(call, request, outcome)
            if refusal is None:
                raise outcome
            return refusal

        once.idempotency_required = True  # type: ignore[attr-defined]  # read by the schema
        return cast(Handler, once)

    return decorate


def apart(took: float) -> float:
    """Return how long after the start of a group that took so long the next one may start."""
    return min(max(_APART_SECONDS, _TIMES * took), _MOST_APART_SECONDS)


class _Member:
    """A call that waits to be run with others, and its outcome; None if it goes alone."""

    def __init__(self, view: PunctualView, call: Call) -> None:
        self.view = view
        self.call = call
        self.outcome: Outcome | None = None
        self.leads = False
        #: When it begins to lead, by the monotonic clock.
        self.leads_from = 0.0
        self.woken = threading.Event()


class _Groups:
    """The calls that wait to be run with others, by tenant; a tenant with an entry has a leader."""

    def __init__(self, together: Together) -> None:
        self._together = together
        self._lock = threading.Lock()
        self._waiting: dict[UUID, list[_Member]] = {}
        #: The contexts of the keys that wait or run.
        self._under_way: set[bytes] = set()

    def outcome_of(self, member: _Member) -> Outcome | None:
        """Run a call with others of the same moment; return None where it is to go alone.

        Raise IdempotencyInProgress where a call with its key waits or runs.
        """
        with self._first_of_its_key(member.call.context.label):
            self._join(member)
            if member.leads:
                self._lead(member)
            return member.outcome

    @contextmanager
    def _first_of_its_key(self, context: bytes) -> Iterator[None]:
        with self._lock:
            if context in self._under_way:
                raise IdempotencyInProgress
            self._under_way.add(context)
        try:
            yield
        finally:
            with self._lock:
                self._under_way.discard(context)

    def _join(self, member: _Member) -> None:
        with self._lock:
            waiting = self._waiting.get(member.call.tenant)
            if waiting is None:
                member.leads = True
                self._waiting[member.call.tenant] = []
                return
            # The first waiting call will most likely lead next and needs its connection.
            keeps_connection = not waiting
            waiting.append(member)
        _wait(member, keeps_connection)

    def _lead(self, leader: _Member) -> None:
        group = [leader]
        _wait_until(leader.leads_from)
        began = time.monotonic()
        try:
            # Takes one of the tenant's few places; more callers gather until its turn.
            with queue_of(leader.call.tenant):
                group += self._gathered(leader.call.tenant)
                _run(group, self._together)
        except Exception as error:  # noqa: BLE001 - undone; each call alone shows its own fault
            logger.warning("calls go alone", calls=len(group), error=type(error).__name__)
        finally:
            self._wake(group, began + apart(time.monotonic() - began))

    def _gathered(self, tenant: UUID) -> list[_Member]:
        with self._lock:
            gathered, self._waiting[tenant] = self._waiting[tenant], []
        return gathered

    def _wake(self, group: Sequence[_Member], following_from: float) -> None:
        """Wake the group, and before it the next leader where calls wait for one."""
        tenant = group[0].call.tenant
        with self._lock:
            waiting = self._waiting[tenant]
            following = waiting.pop(0) if waiting else None
            if following is None:
                del self._waiting[tenant]
            else:
                following.leads = True
                following.leads_from = following_from
        for member in ([following] if following else []) + list(group):
            member.woken.set()


def _wait(member: _Member, keeps_connection: bool) -> None:
    if not keeps_connection:
        # Returns the connection to the pool, as the end of the request does. There are fewer
        # connections than threads, and other tenants need them.
        connection.close()
    # No time limit: the leader always wakes every member, also after an error, and the database's
    # own time-outs bound how long that takes.
    member.woken.wait()


def _wait_until(moment: float) -> None:
    if (left := moment - time.monotonic()) > 0:
        threading.Event().wait(left)


def _run(group: Sequence[_Member], together: Together) -> None:
    """Run the first calls, and give each member its outcome once that is committed."""
    calls = [member.call for member in group]
    with sql.sent_with_commit() as run_last:
        held, known, *done = sql.together(
            holding(calls), finding_known(calls), *together.ask(calls[0].tenant)
        )
        seen = {key for (key,) in known.rows}
        first = [
            member
            for member, (is_held,) in zip(group, held.rows, strict=True)
            if is_held and member.call.key not in seen
        ]
        outcomes = together.run([member.view for member in first], done) if first else []
        outcome_of = list(zip(first, outcomes, strict=True))
        answered = [(m.call, found) for m, found in outcome_of if isinstance(found, HttpResponse)]
        if answered:
            run_last(*storing(answered))
    for member, outcome in outcome_of:
        member.outcome = outcome
