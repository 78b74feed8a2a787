"""``manage.py events``: reads the event feed of a tenant, and writes it into files.

Exit codes: 0 done; 2 wrong use; 3 no such tenant, or a cursor whose events are kept no longer; 4
another export runs, or a damaged cursor; 5 no database; 6 a tenant's cursor has expired.
"""

from __future__ import annotations

from typing import ClassVar

from operations.event_feed import exporting, listing
from shared.command_parser import Verb
from shared.commands import VerbCommand


class Command(VerbCommand):
    """Door to ``operations.event_feed``."""

    help = "The event feed: what happened to executions, tasks, runs and dead letters."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "list",
            "list events of a tenant, oldest first, and the cursor that continues the list",
            (
                "events list --since 1h --type execution.failed",
                "events list --tenant default --limit 1000 --json",
            ),
            listing.list_events,
            listing.add_list_options,
        ),
        Verb(
            "export",
            "write events that a directory lacks as compressed JSON lines, by tenant, day and hour",
            ("events export --to /mnt/events",),
            exporting.export_events,
            exporting.add_export_options,
        ),
    )
