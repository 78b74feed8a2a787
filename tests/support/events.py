"""Reads of the outbox by tests, whether an event stands alone or in a batch."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection

_NAMES = """
SELECT e.name FROM events e
WHERE %s = ANY(coalesce(e.subjects, ARRAY[e.subject_id])) ORDER BY e.xid, e.id
"""
_SUBJECTS = """
SELECT s.subject_id, s.task_id FROM events e
CROSS JOIN LATERAL unnest(
    coalesce(e.subjects, ARRAY[e.subject_id]), coalesce(e.tasks, ARRAY[e.task_id])
) WITH ORDINALITY AS s (subject_id, task_id, place)
WHERE e.name = %s ORDER BY e.xid, e.id, s.place
"""


def names_of(subject: UUID) -> list[str]:
    """Return the names of a subject's events, in order."""
    return [name for (name,) in _rows(_NAMES, subject)]


def subjects_of(name: str) -> list[tuple[UUID, UUID | None]]:
    """Return the subjects of all events of a name with their tasks, in order."""
    return [(subject, task) for subject, task in _rows(_SUBJECTS, name)]


def _rows(text: str, value: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(text, [value])
        return list(cursor.fetchall())
