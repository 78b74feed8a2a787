"""``manage.py events export``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from operations.event_feed.sinks import FileSink, drain
from shared.commands import PARTIAL, shown, table, wrong_use
from shared.exceptions import Expired
from tenants.models import Tenant


def add_export_options(parser: CommandParser) -> None:
    """Add the options of ``export``."""
    parser.add_argument(
        "--to", type=Path, required=True, metavar="DIR", help="the directory of files and cursors"
    )


def export_events(command: Any, options: Mapping[str, Any]) -> None:
    """Write events that the directory lacks; exit code 6 where a tenant's cursor has expired."""
    sink = FileSink(options["to"])
    try:
        with sink.turn():
            documents = [_exported(sink, tenant) for tenant in Tenant.objects.order_by("name")]
    except OSError as error:
        raise wrong_use("--to", f"cannot be written: {error.strerror}.") from error
    command.emit(options, {"tenants": documents}, _lines(documents))
    if any(one["error"] for one in documents):
        command.leave(PARTIAL)


def _exported(sink: FileSink, tenant: Tenant) -> dict[str, Any]:
    count, error = 0, None
    try:
        count = drain(sink, tenant.id)
    except Expired as expired:
        error = f"{expired.message} Remove the tenant's file in cursors/ to begin with the oldest."
    return {"id": str(tenant.id), "name": tenant.name, "events": count, "error": error}


def _lines(documents: list[dict[str, Any]]) -> list[str]:
    rows = [(shown(one["name"]), one["events"], one["error"] or "") for one in documents]
    return table(("tenant", "events", "error"), rows)
