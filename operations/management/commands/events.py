"""``manage.py events``: reads the event feed of a tenant.

Exit codes: 0 done; 2 wrong use; 3 no such tenant, or a cursor whose events are kept no longer; 5 no
database.
"""

from __future__ import annotations

from typing import ClassVar

from operations.event_feed import listing
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
    )
