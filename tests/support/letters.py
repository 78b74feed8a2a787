"""Many dead letters at once: copies of real ones, under ids of their own."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Model

from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution
from shared.ids import new_id, series_id
from tenants.models import Tenant
from tests.factories import make_dead_letter


def make_letters(tenant: Tenant, count: int, *, tasks: int = 3) -> list[DeadLetter]:
    """Return open dead letters of a few one-time tasks, in the order of their ids."""
    first = [make_dead_letter(tenant) for _ in range(min(tasks, count))]
    originals = Execution.objects.in_bulk([letter.execution_id for letter in first])
    now = database_now()
    executions, letters = [], []
    for number in range(count - len(first)):
        letter = first[number % len(first)]
        execution = _copy_of(originals[letter.execution_id], number, now)
        executions.append(execution)
        letters.append(
            DeadLetter(**{**_values(letter), "id": new_id(), "execution_id": execution.id})
        )
    Execution.objects.bulk_create(executions, batch_size=1000)
    DeadLetter.objects.bulk_create(letters, batch_size=1000)
    return sorted([*first, *letters], key=lambda letter: letter.id)


def _copy_of(original: Execution, number: int, now: datetime) -> Execution:
    execution_id = series_id(original.task_id, now, now, f"copy:{number}")
    return Execution(**{**_values(original), "id": execution_id})


def _values(row: Model) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
