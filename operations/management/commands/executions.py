"""``manage.py executions``: list, show, follow, cancel and retry executions."""

from __future__ import annotations

from typing import ClassVar

from operations.executions import changes, reading, replay, tail
from shared.command_parser import Verb
from shared.commands import VerbCommand


class Command(VerbCommand):
    """List, show, follow, cancel and retry executions."""

    help = "List, show and follow executions; cancel and retry them."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "list",
            "list executions, newest first",
            (
                "executions list --status FAILED RETRYING --since 2h",
                "executions list --task 9f3c2a7b1d20 --limit 10 --json",
                "executions list --since 7d --csv > executions.csv",
                "executions list --filter 'http:5xx duration:>2s' --ordering=-duration",
            ),
            reading.list_executions,
            reading.add_list_options,
            stream=True,
        ),
        Verb(
            "show",
            "show one execution with its attempts",
            ("executions show 77aa41c09b52 --http",),
            reading.show_execution,
            reading.add_show_options,
        ),
        Verb(
            "tail",
            "print the latest executions; with -f, every change until Ctrl-C",
            ("executions tail -f --status FAILED", "executions tail -f --jsonl"),
            tail.tail,
            tail.add_options,
            stream=True,
        ),
        Verb(
            "cancel",
            "cancel executions: waiting ones never start, running ones are aborted",
            ("executions cancel 77aa41c09b52 --yes",),
            changes.cancel,
            changes.add_ids,
            dangerous=True,
        ),
        Verb(
            "retry",
            "run finished executions again",
            ("executions retry 77aa41c09b52 --payload @mended.json",),
            changes.retry,
            changes.add_retry_options,
        ),
        Verb(
            "replay",
            "run the executions of a range again, at a pace, as a bulk job",
            (
                "executions replay --since 2h --until 1h --dry-run",
                "executions replay --since 1d --until 0s --label team:billing --rate 5/s --yes",
                "executions replay --since 2h --until 0s --into-url https://staging.example.com/in",
            ),
            replay.run,
            replay.add_options,
            dangerous=True,
        ),
    )
