"""Plain records of the runner: the executions that a worker holds or has in flight."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from shared.fair_slots import Caller
from shared.trace_context import context_of
from wire import start_guard
from wire.destination_key import key_of
from wire.messages import Entry, Message
from wire.outcomes import Outcome, outcome_of
from wire.retry import Ended, Known, judge

_INTERNAL_RETRY_SECONDS = 10.0
#: Time-out of a target that sets none.
_RUNTIME_SECONDS = 60.0
#: Event loops round to milliseconds; half a millisecond more keeps a timer from firing before its
#: time and being set again.
ROUNDING_SECONDS = 0.0005


class Question(NamedTuple):
    """What a worker asks the start guard about one execution.

    ``nonce`` distinguishes this copy of the message from others. ``limits`` are those of the
    destination; ``runtime_ms`` is how long the execution may run at most.
    """

    token: int
    start_by_ms: int
    nonce: int
    destination: str = ""
    limits: str = ""
    runtime_ms: int = 0
    #: Its tenant, where that has limits of its own.
    tenant: str = ""
    tenant_limits: str = ""


#: Due time, priority, token and nonce order held work; a tuple compares faster than an object.
Place = tuple[float, int, int, int, "Held"]
#: Kinds of targets that run in a process of their own, for which they may wait.
_PROCESS_KINDS = frozenset({"command", "handler"})


@dataclass(slots=True, eq=False)
class Held:
    """One execution that the worker holds.

    ``destination`` is the name that the start guard knows, '' for work that calls no host. ``lane``
    is the same; a tenant's programs, and its handlers, have a lane each, named otherwise.
    """

    due: float
    priority: int
    token: int
    entry: Entry
    batch: Message
    size: int = 0
    nonce: int = field(default_factory=itertools.count(1).__next__)
    tenant: str = field(init=False)
    #: One divided by the tenant's weight: what a start adds to the tenant's level.
    step: float = field(init=False)
    destination: str = field(init=False)
    lane: str = field(init=False)
    #: The kind of a target that runs in a process of its own; '' of others.
    process: str = field(init=False)
    #: The limits of its destination, as the start guard reads them.
    limits: str = field(init=False)
    #: Those of its tenant.
    tenant_limits: str = field(init=False)
    #: Whether the start guard is asked at ``due`` and not a moment before.
    exact: bool = field(init=False)

    def __post_init__(self) -> None:
        entry = self.entry
        self.tenant, self.step, self.process = entry.get("tenant", ""), 1.0, ""
        if "weight" in entry:
            self.step = 1.0 / weight_of(entry)
        self.destination = self.lane = key_of(self.tenant, entry.get("destination", ""))
        if not self.lane and (kind := entry.get("target", {}).get("kind")) in _PROCESS_KINDS:
            # The name of a destination has a colon there.
            self.lane, self.process = f"{self.tenant}#{kind}", kind
        self.limits = str(entry.get("limits", ""))
        self.tenant_limits = str(entry.get("tenant_limits", ""))
        self.exact = self.limits != "" or self.tenant_limits != ""

    @property
    def place(self) -> Place:
        """Its position among the work that waits for its time."""
        return self.due, self.priority, self.token, self.nonce, self

    def question(self) -> Question:
        """Return the question to the start guard about it."""
        start_by = self.entry["start_by"]
        if not self.destination and not self.tenant_limits:
            return Question(self.token, start_by, self.nonce)
        target = self.entry["target"]
        runtime = float(target.get("timeout_seconds", _RUNTIME_SECONDS))
        runtime += float(target.get("cancel_grace_seconds", 0))
        asked = Question(
            self.token, start_by, self.nonce, self.destination, self.limits, int(runtime * 1000)
        )
        if not self.tenant_limits:
            return asked
        return asked._replace(tenant=self.entry["tenant"], tenant_limits=self.tenant_limits)


@dataclass(slots=True)
class Flying:
    """One request in flight, with the verdict under which the start guard allowed it."""

    held: Held
    started: float
    verdict: int = start_guard.GO
    task: asyncio.Task[None] | None = None
    cancelled: bool = False

    @property
    def probe(self) -> bool:
        """Whether it probes if its destination, whose circuit was open, works again."""
        return self.verdict == start_guard.PROBE

    def ids(self) -> dict[str, object]:
        """Return the ids for log lines about it."""
        entry = self.held.entry
        return {
            "execution_id": entry["id"],
            "task_id": entry["task"],
            "tenant_id": self.held.tenant,
            "trace_id": context_of(entry["id"], entry.get("trace")).trace_id,
            "attempt": entry["attempt"],
        }

    async def until_due(self, now: Callable[[], float]) -> None:
        """Wait for the due time; ``started`` is not before it.

        The start guard may answer early. A busy loop may reach this after the due time.
        """
        while (early := self.held.due - now()) > 0:
            await asyncio.sleep(early + ROUNDING_SECONDS)
            self.started = now()
        if self.started < self.held.due:
            self.started = now()


def weight_of(entry: Entry) -> float:
    """Return the weight of the entry's tenant; 1 where the message has none, or none above 0."""
    weight = entry.get("weight", 1)
    return weight if weight > 0 else 1


def caller_of(entry: Entry) -> Caller:
    """Return who waits for a slot when the entry does."""
    return Caller(
        entry.get("tenant", ""),
        weight_of(entry),
        entry.get("priority", 0),
        entry.get("due", 0.0),
    )


class Reports(Protocol):
    """Receives the runner's notes about destinations."""

    def ended(self, flight: Flying, outcome: Outcome) -> None:
        """Note the outcome of a request."""

    def waited(self, held: Held) -> None:
        """Note that work has waited too long for a slot."""


def ask_arguments(
    incarnation: str, worker: str, asked: Sequence[Question]
) -> tuple[list[str], list[str | int]]:
    """Return the destinations and limited tenants, and the arguments, of the script ``start``."""
    numbers: dict[str, int] = {}
    limits: list[str] = []
    for question in asked:
        if question.destination and question.destination not in numbers:
            numbers[question.destination] = len(numbers) + 1
            limits.append(question.limits)
        if question.tenant and question.tenant not in numbers:
            numbers[question.tenant] = len(numbers) + 1
            limits.append(question.tenant_limits)
    arguments: list[str | int] = [incarnation, worker, *limits]
    for question in asked:
        arguments += (question.token, question.start_by_ms, question.nonce)
        if numbers:
            own: int | str = numbers.get(question.destination, 0)
            if question.tenant:
                own = f"{own}+{numbers[question.tenant]}"
            arguments += (own, question.runtime_ms)
    return list(numbers), arguments


def internal_failure(entry: Entry, now: float) -> Outcome:
    """Return the outcome of an attempt that broke on our side; it is tried again in a while.

    ``now`` is the database's time, in seconds since 1970.
    """
    # The entry itself may be what broke.
    ended = Ended(
        number=entry["attempt"],
        max_attempts=entry["max_attempts"],
        scheduled_for=datetime.fromtimestamp(entry.get("scheduled_for", now), UTC),
        now=datetime.fromtimestamp(now, UTC),
    )
    known = Known(delay=_INTERNAL_RETRY_SECONDS)
    decision = judge(ended, entry.get("retry_policy", {}), random.random, known).said()
    outcome = outcome_of(decision, "FAILED")
    outcome["error_code"], outcome["error_message"] = "internal", "Internal error."
    return outcome
