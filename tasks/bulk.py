"""Many definitions in one call: each with its own result, or all or nothing.

``POST /v1/tasks/bulk`` works through it in chunks: what a chunk creates costs a few statements,
and no chunk is so long (a quarter of a second) that the transaction looks idle to the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    """A task that was created."""

    task: Task
    definition: Definition


Result = Created | Exception


@dataclass(frozen=True, slots=True)
class Call:
    """Whose tasks, by whom, at which time of the database, under which limits.

    The bodies are as a request's parser reads them.
    """

    tenant_id: UUID
    actor: Actor
    now: datetime
    limits: Limits
    repeats: Repeats = field(default_factory=Repeats)


def create_each(bodies: Sequence[Any], call: Call) -> Iterator[Result]:
    """Create what is valid; yield a task or the refusal of each body, in order."""
    for start in range(0, len(bodies), _CHUNK):
        parsed = [_parse(body, call) for body in bodies[start : start + _CHUNK]]
        made = iter(_create_valid([p for p in parsed if isinstance(p, Definition)], call))
        for result in parsed:
            yield next(made) if isinstance(result, Definition) else result


def create_all(bodies: Sequence[Any], call: Call) -> Iterator[Result]:
    """Create all, in the caller's transaction; raise InvalidInput that names what is wrong.

    The errors are those of the first chunk that has any. Raise TooLarge for a large payload.
    """
    for start in range(0, len(bodies), _CHUNK):
        parsed = [_parse(body, call) for body in bodies[start : start + _CHUNK]]
        _refuse(parsed, start)
        yield from _create(parsed, call)


def _parse(body: Any, call: Call) -> Definition | PunctualError:
    try:
        return parse_one_of_many(body, call.repeats, now=call.now, limits=call.limits)
    except PunctualError as refused:
        return refused


def _create(definitions: Sequence[Any], call: Call) -> list[Created]:
    tasks = create_tasks(call.tenant_id, definitions, actor=call.actor, now=call.now)
    return [Created(task, made) for task, made in zip(tasks, definitions, strict=True)]


def _create_valid(definitions: Sequence[Definition], call: Call) -> Sequence[Result]:
    try:
        with transaction.atomic():
            return _create(definitions, call)
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
