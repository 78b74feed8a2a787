"""Many definitions at once: each with its own result, or all or nothing.

``POST /v1/tasks/bulk`` works in chunks: the tasks of a chunk cost a few statements, and no chunk
is so long (a quarter of a second) that the transaction looks idle to the database. While the
database writes a chunk, its tasks are presented and the next chunk is prepared.
``POST /v1/tasks`` writes the tasks of several callers together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DataError, IntegrityError, transaction

from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput, PunctualError, QuotaExceeded
from tasks import quotas
from tasks.creation import Prepared, prepare_tasks, reserve_for, write_tasks
from tasks.definition import Definition
from tasks.limits import Limits
from tasks.models import Task
from tasks.repeats import Repeats
from tasks.standing_pauses import share
from tasks.validation.bodies import parse_one_of_many

MAX_TASKS = 10_000
#: A larger chunk would not fit into the socket while the database works on the one before.
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Created:
    """A task that was created, and the result of ``Call.show`` for it."""

    task: Task
    definition: Definition
    shown: Any


Result = Created | Exception


@dataclass(frozen=True, slots=True)
class Call:
    """The tenant, the actor, the time of the database and the limits of a call.

    The bodies are as a request's parser reads them. ``show`` presents a task for the caller's
    answer; it may also be called for a task that is not created in the end.
    """

    tenant_id: UUID
    actor: Actor
    now: datetime
    limits: Limits
    show: Callable[[Task, Definition], Any] = lambda task, definition: None
    repeats: Repeats = field(default_factory=Repeats)


class _Chunk:
    """Some of the bodies, read: definitions and refusals, and the definitions' tasks."""

    def __init__(self, begin: int, bodies: Sequence[Any], call: Call) -> None:
        self.begin = begin
        self.parsed = [_parse(body, call) for body in bodies]
        self.valid = [result for result in self.parsed if isinstance(result, Definition)]
        try:
            self.prepared: Prepared | None = _prepare(self.valid, call)
        except PunctualError:
            self.prepared = None  # preparing each alone will show which one is wrong


class _Chunks:
    """Reads the bodies, a chunk at a time."""

    def __init__(self, bodies: Sequence[Any], call: Call) -> None:
        self._bodies = bodies
        self._call = call
        self._begin = 0
        self._ahead: _Chunk | None = None

    def __iter__(self) -> Iterator[_Chunk]:
        quotas.spend(self._call.tenant_id, len(self._bodies))
        # Until all are written, no pause begins in the tenant and no calendar is deleted.
        share(self._call.tenant_id)
        while self._begin < len(self._bodies):
            chunk, self._ahead = self._ahead or self._read(), None
            self._begin += _CHUNK
            yield chunk

    def read_on(self) -> None:
        """Read the next chunk and prepare its tasks."""
        self._ahead = self._read()

    def _read(self) -> _Chunk:
        bodies = self._bodies[self._begin : self._begin + _CHUNK]
        return _Chunk(self._begin, bodies, self._call)


def create_each(bodies: Sequence[Any], call: Call) -> Iterator[Result]:
    """Create the valid tasks; yield a task or the refusal of each body, in order.

    Raise QuotaExceeded where the tenant's quotas do not allow all of them: the caller undoes all.
    """
    chunks = _Chunks(bodies, call)
    for chunk in chunks:
        made = iter(_create_valid(chunk, call, chunks.read_on))
        for result in chunk.parsed:
            yield next(made) if isinstance(result, Definition) else result


def create_all(bodies: Sequence[Any], call: Call) -> Iterator[Result]:
    """Create all, in the caller's transaction; raise InvalidInput that names what is wrong.

    The errors are those of the first chunk that has any. Raise TooLarge for a large payload,
    QuotaExceeded where the tenant's quotas do not allow all.
    """
    chunks = _Chunks(bodies, call)
    for chunk in chunks:
        _refuse(chunk.parsed, chunk.begin)
        yield from _create(chunk.prepared or _prepare(chunk.valid, call), call, chunks.read_on)


def create_for_each(asked: Sequence[tuple[Call, Any]]) -> list[Created | PunctualError]:
    """Create the valid tasks of a tenant's calls with one body each; return a result for each.

    The calls have one time and share the parts that they read. The caller's transaction must share
    the tenant's pauses. Raise when not all valid tasks can be created; then none is.
    """
    parsed = [_parse(body, call) for call, body in asked]
    valid = [
        (call, result)
        for (call, _), result in zip(asked, parsed, strict=True)
        if isinstance(result, Definition)
    ]
    first, _ = asked[0]
    refused = _over_rate(valid)
    prepared = _prepare_each(first, valid, refused)
    try:
        reserve_for(prepared)
    except QuotaExceeded:
        # Each call is refused or accepted by itself.
        refused |= _over_quota(valid, refused)
        prepared = _prepare_each(first, valid, refused)
    made = iter(_create(prepared, first, reserved=True))
    places = iter(range(len(valid)))
    return [
        (refused.get(next(places)) or next(made)) if isinstance(result, Definition) else result
        for result in parsed
    ]


_Valid = Sequence[tuple[Call, Definition]]


def _over_rate(valid: _Valid) -> dict[int, PunctualError]:
    """Spend the rate for each call; return the refusals by place."""
    refused: dict[int, PunctualError] = {}
    for place, (call, _) in enumerate(valid):
        try:
            quotas.spend(call.tenant_id, 1)
        except QuotaExceeded as error:
            refused[place] = error
    return refused


def _over_quota(valid: _Valid, refused: Mapping[int, PunctualError]) -> dict[int, PunctualError]:
    """Reserve for each call that is not refused yet; return the new refusals by place."""
    found: dict[int, PunctualError] = {}
    for place, one in enumerate(valid):
        if place not in refused:
            try:
                # The refusal of all of them has counted; nothing of these is written yet.
                reserve_for(_prepare_each(one[0], [one], {}), may_count=False)
            except QuotaExceeded as error:
                found[place] = error
    return found


def _prepare_each(first: Call, valid: _Valid, refused: Mapping[int, PunctualError]) -> Prepared:
    kept = [one for place, one in enumerate(valid) if place not in refused]
    return prepare_tasks(
        first.tenant_id,
        [definition for _, definition in kept],
        actors=[call.actor for call, _ in kept],
        now=first.now,
    )


def _parse(body: Any, call: Call) -> Definition | PunctualError:
    try:
        return parse_one_of_many(body, call.repeats, now=call.now, limits=call.limits)
    except PunctualError as refused:
        return refused


def _prepare(definitions: Sequence[Definition], call: Call) -> Prepared:
    actors = [call.actor] * len(definitions)
    return prepare_tasks(call.tenant_id, definitions, actors=actors, now=call.now)


def _create(
    prepared: Prepared,
    call: Call,
    read_on: Callable[[], object] | None = None,
    *,
    reserved: bool = False,
) -> list[Created]:
    created: list[Created] = []

    def meanwhile() -> None:
        for task, made in zip(prepared.tasks, prepared.definitions, strict=True):
            created.append(Created(task, made, call.show(task, made)))
        if read_on:
            read_on()

    log_at_once = read_on is not None
    write_tasks(
        prepared, meanwhile=meanwhile, shared=True, log_at_once=log_at_once, reserved=reserved
    )
    return [one if one.task.pause_id is None else _shown_anew(one, call) for one in created]


def _shown_anew(one: Created, call: Call) -> Created:
    return Created(one.task, one.definition, call.show(one.task, one.definition))


def _create_valid(chunk: _Chunk, call: Call, read_on: Callable[[], object]) -> Sequence[Result]:
    if chunk.prepared:
        try:
            with transaction.atomic():
                return _create(chunk.prepared, call, read_on)
        except QuotaExceeded:
            raise  # for the whole call
        except (PunctualError, DataError, IntegrityError):
            pass  # validation let an invalid one through
    # Each gets a savepoint and an answer of its own.
    return [_create_alone(definition, call) for definition in chunk.valid]


def _create_alone(definition: Definition, call: Call) -> Result:
    try:
        with transaction.atomic():
            return _create(_prepare([definition], call), call)[0]
    except QuotaExceeded:
        raise
    except (PunctualError, DataError, IntegrityError) as refused:
        return refused


def _refuse(parsed: Sequence[Any], start: int) -> None:
    errors: list[FieldError] = []
    for place, result in enumerate(parsed, start):
        if isinstance(result, InvalidInput):
            errors += [
                FieldError(f"#/tasks/{place}{error.pointer[1:]}", error.code, error.message)
                for error in result.errors
            ]
        elif isinstance(result, PunctualError):
            raise result
    if errors:
        raise InvalidInput(errors, "Nothing was created: not every task is valid.")
