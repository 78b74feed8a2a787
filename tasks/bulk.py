"""Many definitions in one call: each with its own result, or all or nothing.

``POST /v1/tasks/bulk`` works through it in chunks: what a chunk creates costs a few statements,
and no chunk is so long (a quarter of a second) that the transaction looks idle to the database.
While the database writes a chunk, what it created is shown and the next one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DataError, IntegrityError, transaction

from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput, PunctualError
from tasks.definition import Definition
from tasks.limits import Limits
from tasks.models import Task
from tasks.repeats import Repeats
from tasks.services import create_tasks
from tasks.validation import parse_one_of_many

MAX_TASKS = 10_000
_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Created:
    """A task that was created, and what ``Call.show`` made of it."""

    task: Task
    definition: Definition
    shown: Any


Result = Created | Exception


@dataclass(frozen=True, slots=True)
class Call:
    """Whose tasks, by whom, at which time of the database, under which limits.

    The bodies are as a request's parser reads them. ``show`` makes what the caller answers of a
    task; it may be called for one that is not created after all.
    """

    tenant_id: UUID
    actor: Actor
    now: datetime
    limits: Limits
    show: Callable[[Task, Definition], Any] = lambda task, definition: None
    repeats: Repeats = field(default_factory=Repeats)


class _Chunks:
    """What the bodies say, a chunk at a time, with its place: definitions and refusals."""

    def __init__(self, bodies: Sequence[Any], call: Call) -> None:
        self._bodies = bodies
        self._call = call
        self._begin = 0
        self._ahead: list[Definition | PunctualError] = []

    def __iter__(self) -> Iterator[tuple[int, list[Definition | PunctualError]]]:
        while self._begin < len(self._bodies):
            self.read_on()
            parsed, self._ahead = self._ahead, []
            begin, self._begin = self._begin, self._begin + _CHUNK
            yield begin, parsed

    def read_on(self) -> None:
        """Read the next chunk, unless that is done."""
        if not self._ahead:
            bodies = self._bodies[self._begin : self._begin + _CHUNK]
            self._ahead = [_parse(body, self._call) for body in bodies]


def create_each(bodies: Sequence[Any], call: Call) -> Iterator[Result]:
    """Create what is valid; yield a task or the refusal of each body, in order."""
    chunks = _Chunks(bodies, call)
    for _, parsed in chunks:
        valid = [result for result in parsed if isinstance(result, Definition)]
        made = iter(_create_valid(valid, call, chunks.read_on))
        for result in parsed:
            yield next(made) if isinstance(result, Definition) else result


def create_all(bodies: Sequence[Any], call: Call) -> Iterator[Result]:
    """Create all, in the caller's transaction; raise InvalidInput that names what is wrong.

    The errors are those of the first chunk that has any. Raise TooLarge for a large payload.
    """
    chunks = _Chunks(bodies, call)
    for start, parsed in chunks:
        _refuse(parsed, start)
        yield from _create(parsed, call, chunks.read_on)


def _parse(body: Any, call: Call) -> Definition | PunctualError:
    try:
        return parse_one_of_many(body, call.repeats, now=call.now, limits=call.limits)
    except PunctualError as refused:
        return refused


def _create(
    definitions: Sequence[Any], call: Call, read_on: Callable[[], None] | None = None
) -> list[Created]:
    created: list[Created] = []

    def meanwhile(tasks: Sequence[Task]) -> None:
        for task, made in zip(tasks, definitions, strict=True):
            created.append(Created(task, made, call.show(task, made)))
        if read_on:
            read_on()

    create_tasks(call.tenant_id, definitions, actor=call.actor, now=call.now, meanwhile=meanwhile)
    return [one if one.task.pause_id is None else _shown_anew(one, call) for one in created]


def _shown_anew(one: Created, call: Call) -> Created:
    return Created(one.task, one.definition, call.show(one.task, one.definition))


def _create_valid(
    definitions: Sequence[Definition], call: Call, read_on: Callable[[], None]
) -> Sequence[Result]:
    try:
        with transaction.atomic():
            return _create(definitions, call, read_on)
    except (PunctualError, DataError, IntegrityError):
        # One of them slipped through validation; each gets a savepoint and an answer of its own.
        return [_create_alone(definition, call) for definition in definitions]


def _create_alone(definition: Definition, call: Call) -> Result:
    try:
        with transaction.atomic():
            return _create([definition], call)[0]
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
