from __future__ import annotations

from django.db import migrations, models

_KNOWN = "CHECK (type IN ({}))"
_NAME = "task_type_is_known"
_OLD, _NEW = "'ONE_TIME', 'RECURRING'", "'ONE_TIME', 'RECURRING', 'MANUAL'"


def _swap(types: str) -> str:
    return (
        f"ALTER TABLE tasks DROP CONSTRAINT {_NAME},"
        f" ADD CONSTRAINT {_NAME} {_KNOWN.format(types)} NOT VALID;"
    )


class Migration(migrations.Migration):
    """Allow tasks that run only when asked: workflows without a schedule.

    The new check is proven while tasks are read and written.
    """

    atomic = False
    dependencies = [("tasks", "0028_dependencies")]

    operations = [
        migrations.RunSQL(
            _swap(_NEW),
            _swap(_OLD),
            state_operations=[
                migrations.RemoveConstraint("task", _NAME),
                migrations.AddConstraint(
                    "task",
                    models.CheckConstraint(
                        condition=models.Q(type__in=["ONE_TIME", "RECURRING", "MANUAL"]),
                        name=_NAME,
                    ),
                ),
            ],
        ),
        migrations.RunSQL(f"ALTER TABLE tasks VALIDATE CONSTRAINT {_NAME}", "SELECT 1"),
    ]
