"""``manage.py audit list`` and ``audit export``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from events.audit.exporting import FIELDS, export_entries
from events.audit.listing import list_entries, order_of
from insight.presentation.audit import present_entry
from operations.audit_log.chains import add_chain_options, chosen_chain
from operations.finding import moment_option
from shared.commands import shown, table, wrong_use
from shared.table_files import csv_lines

_WIDTH = 40


def add_list_options(parser: CommandParser) -> None:
    """Add the options of ``list``."""
    add_chain_options(parser)
    parser.add_argument("--actor", help="only of this actor, as the list shows it")
    parser.add_argument("--action", help="only this action, such as task.updated")
    parser.add_argument(
        "--object", metavar="KIND[:ID]", help="only of this kind of object, or of this object"
    )
    parser.add_argument(
        "--since", metavar="TIME", help="from then on: 2h, last friday 18:00, or RFC 3339"
    )
    parser.add_argument(
        "--until", metavar="TIME", help="before then: 2h, last friday 18:00, or RFC 3339"
    )
    parser.add_argument("--limit", type=int, default=50, help="at most this many (50)")


def list_audit(command: Any, options: Mapping[str, Any]) -> None:
    """Print the entries of a chain that match, newest first."""
    chain = chosen_chain(options)
    kind, _, object_id = (options["object"] or "").partition(":")
    filters = {
        "actor": options["actor"],
        "action": options["action"],
        "object_kind": kind,
        "object_id": object_id,
        "since": moment_option("--since", options["since"]),
        "until": moment_option("--until", options["until"]),
    }
    found = list_entries(chain, filters).order_by(*order_of(filters))[: max(0, options["limit"])]
    documents = [present_entry(entry) for entry in found]
    command.emit(options, {"tenant_id": str(chain), "entries": documents}, _lines(documents))


def _lines(documents: list[dict[str, Any]]) -> list[str]:
    rows = [
        (
            one["sequence"],
            one["at"],
            shown(one["actor"], _WIDTH),
            one["action"],
            shown(f"{one['object_kind']}:{one['object_id']}"),
            shown(", ".join(change["field"] for change in one["changes"]), _WIDTH),
        )
        for one in documents
    ]
    return table(("number", "at", "actor", "action", "object", "changed"), rows)


def add_export_options(parser: CommandParser) -> None:
    """Add the options of ``export``."""
    add_chain_options(parser)
    parser.add_argument("--first", type=int, default=1, metavar="N", help="from this number on (1)")
    parser.add_argument("--last", type=int, metavar="N", help="up to this number")
    parser.add_argument("--csv", action="store_true", help="a table instead of JSON lines")


def export_audit(command: Any, options: Mapping[str, Any]) -> None:
    """Print a chain's entries by number; JSON lines verify by ``audit verify --export``."""
    if options["first"] < 1:
        raise wrong_use("--first", "numbers begin with 1")
    chain = chosen_chain(options)
    documents = export_entries(chain, options["first"], options["last"])
    if options["json"]:
        command.emit(options, {"tenant_id": str(chain), "entries": list(documents)}, ())
        return
    if options["csv"]:
        for line in csv_lines(FIELDS, documents):
            command.stdout.write(line, ending="")
        return
    count = 0
    for document in documents:
        command.emit_line(document)
        count += 1
    command.note(f"{count} entries")
