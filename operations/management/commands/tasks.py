"""``manage.py tasks``: every action on tasks, from list to export."""

from __future__ import annotations

from typing import ClassVar

from operations.tasks import (
    backfill,
    changes,
    cloning,
    editing,
    erasing,
    importing,
    occurrences,
    reading,
    runs,
    setting,
    statistics,
    trials,
    versions,
    what_if,
)
from shared.command_parser import Verb
from shared.commands import VerbCommand


class Command(VerbCommand):
    """Every action on tasks, from list to export."""

    help = "List, show, create and change tasks; run them now; import and export them."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "list",
            "list tasks, newest first",
            ("tasks list --status PAUSED FAILED", "tasks list --label team:billing --json"),
            reading.list_tasks,
            reading.add_list_options,
            stream=True,
        ),
        Verb(
            "show",
            "show one task with its next times",
            ("tasks show 9f3c2a7b1d20",),
            reading.show_task,
            reading.add_show_options,
        ),
        Verb(
            "occurrences",
            "list every expected instant of a task, with its result",
            (
                "tasks occurrences 9f3c2a7b1d20 --since 2h --until 2h",
                "tasks occurrences 9f3c2a7b1d20 --since 2026-11-01T00:00:00Z --json",
            ),
            occurrences.run,
            occurrences.add_options,
        ),
        Verb(
            "stats",
            "show success, durations, start delays and failures of a task over time",
            ("tasks stats 9f3c2a7b1d20", "tasks stats 9f3c2a7b1d20 --window 30d --json"),
            statistics.show_statistics,
            statistics.add_stats_options,
        ),
        Verb(
            "calendar",
            "show the past and coming days of a task, with pauses and changes of the clocks",
            ("tasks calendar 9f3c2a7b1d20",),
            statistics.show_calendar,
            statistics.add_calendar_options,
        ),
        Verb(
            "create",
            "create a task from options, or tasks from JSON",
            (
                'tasks create --url https://example.com/run --cron "0 8 * * *"',
                "tasks create --url https://example.com/run --in 10m --payload '{\"n\": 1}'",
                "tasks create --file tasks.json --dry-run",
            ),
            editing.create_tasks,
            editing.add_create_options,
        ),
        Verb(
            "clone",
            "create a task from another one, with changes",
            (
                "tasks clone 9f3c2a7b1d20 --name Staging --set target.timeout_seconds=5",
                "tasks clone 9f3c2a7b1d20 --in 10m --dry-run",
            ),
            cloning.run,
            cloning.add_options,
        ),
        Verb(
            "edit",
            "change fields of a task; the others stay",
            (
                'tasks edit 9f3c2a7b1d20 --cron "30 8 * * *" --version 3',
                "tasks edit 9f3c2a7b1d20 --set schedule.jitter_seconds=30 --dry-run",
            ),
            editing.edit_task,
            editing.add_edit_options,
        ),
        Verb(
            "what-if",
            "show what an edit would change of a task's next instants",
            (
                'tasks what-if 9f3c2a7b1d20 --cron "*/10 * * * *"',
                "tasks what-if 9f3c2a7b1d20 --timezone Europe/Berlin --json",
            ),
            what_if.run,
            what_if.add_options,
        ),
        Verb(
            "set",
            "change fields of many tasks at once",
            (
                "tasks set --of-label team:billing --set schedule.jitter_seconds=60 --dry-run",
                "tasks set 9f3c2a7b1d20 51e0c8d2aa47 --priority 2 --yes",
            ),
            setting.run,
            setting.add_options,
            dangerous=True,
        ),
        Verb(
            "diff",
            "show what differs between two versions of a task",
            ("tasks diff 9f3c2a7b1d20", "tasks diff 9f3c2a7b1d20 3 5 --json"),
            versions.run,
            versions.add_options,
        ),
        Verb(
            "rollback",
            "bring an earlier version back, as a new version",
            ("tasks rollback 9f3c2a7b1d20 3 --dry-run",),
            editing.rollback_task,
            editing.add_rollback_options,
        ),
        Verb(
            "test",
            "send what a task sends, once, now, marked as a test",
            ("tasks test 9f3c2a7b1d20 --json", "tasks test 9f3c2a7b1d20 --to-receiver"),
            trials.run,
            trials.add_options,
        ),
        Verb(
            "pause",
            "pause tasks: nothing of them starts, running executions continue",
            ('tasks pause 9f3c2a7b1d20 --until 2h --note "receiver is down"',),
            changes.pause,
            changes.add_pause_options,
        ),
        Verb(
            "resume",
            "resume paused tasks",
            ("tasks resume 9f3c2a7b1d20 51e0c8d2aa47",),
            changes.resume,
            changes.add_ids,
        ),
        Verb(
            "run",
            "run tasks now, beside their schedule",
            (
                "tasks run 9f3c2a7b1d20 --wait 60",
                "tasks run 9f3c2a7b1d20 --payload @payload.json",
            ),
            runs.run,
            runs.add_options,
        ),
        Verb(
            "backfill",
            "run the past instants of a range again, as a bulk job",
            (
                "tasks backfill 9f3c2a7b1d20 --since 7d --dry-run",
                "tasks backfill 9f3c2a7b1d20 --since 2026-11-01T00:00:00Z "
                "--until 2026-11-08T00:00:00Z --max-parallel 20",
            ),
            backfill.run,
            backfill.add_options,
            dangerous=True,
        ),
        Verb(
            "cancel",
            "cancel tasks: no further runs, running executions continue",
            ("tasks cancel 9f3c2a7b1d20 --yes",),
            changes.cancel,
            changes.add_ids,
            dangerous=True,
        ),
        Verb(
            "delete",
            "delete tasks; their executions stay readable",
            ("tasks delete 9f3c2a7b1d20 --cancel-running",),
            changes.delete,
            changes.add_delete_options,
            dangerous=True,
        ),
        Verb(
            "erase",
            "delete a task and erase the content of its history; ids, times and states stay",
            ('tasks erase 9f3c2a7b1d20 --note "request 17"',),
            erasing.run,
            erasing.add_options,
            dangerous=True,
        ),
        Verb(
            "import",
            "make paused tasks of a crontab",
            (
                "tasks import /etc/cron.d/sysstat --format crontab --url https://example.com/run "
                "--dry-run",
            ),
            importing.run,
            importing.add_options,
        ),
        Verb(
            "export",
            "print definitions as JSON that create --file takes",
            ("tasks export --label team:billing > tasks.json",),
            reading.export_tasks,
            reading.add_export_options,
        ),
    )
