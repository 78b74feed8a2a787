"""``manage.py events list``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from events import feed
from events.feed_types import TYPES
from operations.finding import moment_option
from operations.tenancy import chosen_tenant
from shared.commands import shown, table, with_former_names, wrong_use

_COLUMNS = ("at", "type", "subject", "task", "data")


def add_list_options(parser: CommandParser) -> None:
    """Add the options of ``list``."""
    parser.add_argument("--tenant", help="name or id; may be left out where there is one")
    with_former_names(
        parser.add_argument("--cursor", "--after", help="continue: next_after of the last answer")
    )
    parser.add_argument(
        "--since", metavar="TIME", help="from then on: 2h, last friday 18:00, or RFC 3339"
    )
    parser.add_argument(
        "--type", action="append", metavar="TYPE", help="only this type, such as execution.failed"
    )
    parser.add_argument(
        "--limit", type=int, default=feed.DEFAULT_LIMIT, help="at most this many (100, up to 1000)"
    )


def list_events(command: Any, options: Mapping[str, Any]) -> None:
    """Print events of a tenant, oldest first, and the cursor that continues the list."""
    unknown = [name for name in options["type"] or () if name not in TYPES]
    if unknown:
        raise wrong_use("--type", f"{shown(unknown[0])} is none of {', '.join(TYPES)}")
    if not 1 <= options["limit"] <= feed.MAX_LIMIT:
        raise wrong_use("--limit", f"give a number from 1 to {feed.MAX_LIMIT}")
    tenant_id = chosen_tenant(options["tenant"]).id
    since = moment_option("--since", options["since"])
    page = feed.read_page(
        tenant_id,
        feed.start(tenant_id, after=options["cursor"], since=since),
        types=options["type"] or TYPES,
        limit=options["limit"],
    )
    document = {
        "events": [event.document() for event, _ in page.events],
        "next_after": feed.cursor(page.next, tenant_id),
        "has_more": page.has_more,
    }
    command.emit(options, document, _lines(document["events"]))
    if not options["json"]:
        command.note(f"Continue with --cursor {document['next_after']}")


def _lines(events: Any) -> list[str]:
    rows = [
        (
            one["at"],
            one["type"],
            one["subject_id"],
            one["task_id"] or "",
            shown(", ".join(f"{name}={value}" for name, value in (one["data"] or {}).items()), 60),
        )
        for one in events
    ]
    return table(_COLUMNS, rows)
