"""``manage.py schedule zones``: the zone database, the zones in use, and what its changes moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from executions.changes.zone_recompute import Checked, check_zone_rules
from operations.finding import ID_TAIL
from shared.actor import COMMAND
from shared.commands import PunctualCommand, shown, table
from shared.progress import Progress
from tasks import zone_changes
from tasks.models import ZoneMove
from tasks.schedules.zones import release
from tenants.services import get_tenant

_NAME_WIDTH = 30


def add_zones_options(parser: CommandParser) -> None:
    """Add the options of ``zones``."""
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare every zone now and recompute the tasks of those that changed",
    )
    parser.add_argument("--tenant", help="only the moves of this tenant, by name or id")
    parser.add_argument("--limit", type=int, default=20, help="moves listed, latest first (20)")


def show_zones(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Print the releases, the zones in use and the latest moves; with ``--check`` check first."""
    checked = _check(command) if options["check"] else None
    moves = ZoneMove.objects.select_related("task").order_by("-noticed_at", "-id")
    if options["tenant"] is not None:
        moves = moves.filter(tenant=get_tenant(options["tenant"]))
    document = {
        "installed_release": release(),
        "recorded_release": zone_changes.recorded_release() or None,
        "zones": [
            {"timezone": name, "tasks": count}
            for name, count in zone_changes.zones_in_use().items()
        ],
        "zone_moves": [
            {**zone_changes.present_zone_move(move), "tenant_id": str(move.tenant_id)}
            for move in moves[: max(0, options["limit"])]
        ],
        "checked": _presented(checked) if checked else None,
    }
    command.emit(options, document, _lines(document))
    if not options["check"] and document["recorded_release"] not in (None, release()):
        command.note("These releases differ. See `manage.py schedule zones --check`.")


def _check(command: PunctualCommand) -> Checked:
    with ExitStack() as screen:
        bars: list[Progress] = []

        def advance(done: int, total: int) -> None:
            # The number of tasks is known only when the zones have been compared.
            if not bars:
                bars.append(screen.enter_context(command.progress("tasks", total)))
            bars[0].update(done)

        return check_zone_rules(actor=COMMAND, asked=True, advance=advance)


def _presented(checked: Checked) -> dict[str, Any]:
    found = asdict(checked)
    return {
        name: found[name]
        for name in ("zones_changed", "tasks_moved", "tasks_recomputed", "tasks_unreadable")
    }


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    recorded = document["recorded_release"] or "none yet"
    yield f"zone database {document['installed_release']}, followed: {recorded}"
    checked = document["checked"]
    if checked is not None:
        changed = ", ".join(checked["zones_changed"]) or "none"
        yield f"zones with other rules: {changed}"
        yield (
            f"tasks that move: {checked['tasks_moved']}, recomputed: {checked['tasks_recomputed']}"
            f", unreadable: {checked['tasks_unreadable']}"
        )
    yield ""
    zones = ((zone["timezone"], zone["tasks"]) for zone in document["zones"])
    yield from table(("zone", "tasks"), zones)
    if document["zone_moves"]:
        yield ""
        heading = ("task", "name", "zone", "before", "after", "moved", "release")
        yield from table(heading, (_row(move) for move in document["zone_moves"]))


def _row(move: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        move["task_id"][-ID_TAIL:],
        shown(move["task_name"], _NAME_WIDTH),
        move["timezone"],
        move["before"],
        move["after"],
        move["moved_count"],
        f"{move['from_release']} to {move['to_release']}",
    )
