"""``manage.py tasks``: everything that is done with tasks, from list to delete."""

from __future__ import annotations

from typing import ClassVar

from executions.management import (
    task_changes,
    task_editing,
    task_import,
    task_reading,
    task_runs,
    task_trials,
)
from shared.command_parser import Verb
from shared.commands import VerbCommand


class Command(VerbCommand):
    """Everything that is done with tasks, from list to export."""

    help = "List, show, create and change tasks; run them now; import and export them."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "list",
            "list tasks, newest first",
            ("tasks list --status PAUSED FAILED", "tasks list --label team:billing --json"),
            task_reading.list_tasks,
            task_reading.add_list_options,
        ),
        Verb(
            "show",
            "show one task with its next times",
            ("tasks show 9f3c2a7b1d20",),
            task_reading.show_task,
            task_reading.add_show_options,
        ),
        Verb(
            "create",
            "create a task from options, or tasks from JSON",
            (
                'tasks create --url https://example.com/run --cron "0 8 * * *" --tz Europe/Berlin',
                "tasks create --url https://example.com/run --in 10m --payload '{\"n\": 1}'",
                "tasks create --file tasks.json --dry-run",
            ),
            task_editing.create_tasks,
            task_editing.add_create_options,
        ),
        Verb(
            "edit",
            "change fields of a task; what is not named stays",
            (
                'tasks edit 9f3c2a7b1d20 --cron "30 8 * * *" --version 3',
                "tasks edit 9f3c2a7b1d20 --set schedule.jitter_seconds=30 --dry-run",
            ),
            task_editing.edit_task,
            task_editing.add_edit_options,
        ),
        Verb(
            "rollback",
            "bring an earlier version back, as a new version",
            ("tasks rollback 9f3c2a7b1d20 3 --dry-run",),
            task_editing.rollback_task,
            task_editing.add_rollback_options,
        ),
        Verb(
            "test",
            "send what a task sends, once, now, marked as a test",
            ("tasks test 9f3c2a7b1d20 --json",),
            task_trials.run,
            task_trials.add_options,
        ),
        Verb(
            "pause",
            "pause tasks: nothing of them starts, what runs goes on",
            ('tasks pause 9f3c2a7b1d20 --until 2h --note "receiver is down"',),
            task_changes.pause,
            task_changes.add_pause_options,
        ),
        Verb(
            "resume",
            "resume paused tasks",
            ("tasks resume 9f3c2a7b1d20 51e0c8d2aa47",),
            task_changes.resume,
            task_changes.add_ids,
        ),
        Verb(
            "run",
            "run tasks now, beside their schedule",
            (
                "tasks run 9f3c2a7b1d20 --wait 60",
                "tasks run 9f3c2a7b1d20 --payload @payload.json",
            ),
            task_runs.run,
            task_runs.add_options,
        ),
        Verb(
            "cancel",
            "cancel tasks: no further fires, what runs goes on",
            ("tasks cancel 9f3c2a7b1d20 --yes",),
            task_changes.cancel,
            task_changes.add_ids,
            dangerous=True,
        ),
        Verb(
            "delete",
            "delete tasks; their executions stay readable",
            ("tasks delete 9f3c2a7b1d20 --cancel-running",),
            task_changes.delete,
            task_changes.add_delete_options,
            dangerous=True,
        ),
        Verb(
            "import",
            "make paused tasks of a crontab",
            (
                "tasks import /etc/cron.d/sysstat --format crontab --url https://example.com/run "
                "--dry-run",
            ),
            task_import.run,
            task_import.add_options,
        ),
        Verb(
            "export",
            "print definitions as JSON that create --file takes",
            ("tasks export --label team:billing > tasks.json",),
            task_reading.export_tasks,
            task_reading.add_export_options,
        ),
    )
