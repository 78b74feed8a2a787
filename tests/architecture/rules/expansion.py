"""Which steps of a migration the code of the release before survives.

A migration runs while old processes still do: it may add what they do not know of, and nothing
else. What takes something away, or asks for more, is a contraction, and says in
``contract_after`` which release has stopped to need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations
from django.db.migrations.operations.base import Operation
from django.db.models import Field
from django.db.models.fields import NOT_PROVIDED

_HARMLESS = (
    migrations.CreateModel,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    AddIndexConcurrently,
    RemoveIndexConcurrently,
)
_WHY = {
    "RemoveField": "old code reads and writes the column",
    "DeleteModel": "old code reads and writes the table",
    "RenameField": "old code knows the column by its old name",
    "RenameModel": "old code knows the table by its old name",
    "AlterModelTable": "old code knows the table by its old name",
    "AlterField": "old code writes what the new type or rule may refuse, and the table is locked",
    "AddConstraint": "old code may write what it refuses, and the table is locked while it is read",
    "AddIndex": "writes wait while it is built; use AddIndexConcurrently",
    "RemoveIndex": "statements of old code may need it",
    "RunSQL": "nobody can see here what it does to old code",
    "RunPython": "nobody can see here what it does to old code",
}


def breaches(migration: migrations.Migration) -> list[str]:
    """Return the steps that the release before may not survive."""
    steps = list(_steps(migration.operations))
    made = {step.name_lower for step in steps if isinstance(step, migrations.CreateModel)}
    return [found for step in steps if (found := _breach(step, made))]


def name_of(step: Operation) -> str:
    """Return what a step is called in the list of the accepted: ``RemoveIndex executions_due``."""
    subject = getattr(step, "index", None) or getattr(step, "constraint", None) or step
    named = getattr(subject, "name", "")
    model = getattr(step, "model_name", "")
    return " ".join(word for word in (type(step).__name__, model, named) if word)


def _steps(operations: Sequence[Operation]) -> Iterator[Operation]:
    for step in operations:
        if isinstance(step, migrations.SeparateDatabaseAndState):
            yield from _steps(step.database_operations)
        else:
            yield step


def _breach(step: Operation, made: set[str]) -> str:
    if isinstance(step, _HARMLESS) or getattr(step, "model_name_lower", None) in made:
        return ""
    if isinstance(step, migrations.AddField):
        if _may_be_left_out(step.field):
            return ""
        return f"{name_of(step)}: old code leaves it out; make it null, or give it a db_default"
    kind = type(step).__name__
    return f"{name_of(step)}: {_WHY.get(kind, 'not known to be harmless')}"


def _may_be_left_out(field: Field[Any, Any]) -> bool:
    return field.null or field.many_to_many or field.db_default is not NOT_PROVIDED
