"""``manage.py erasures``: the certificates of erasures, of removed tenants too.

Exit codes as everywhere: 0 done, 3 not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.models import Erasure
from insight.presentation.erasures import present_erasure
from operations.finding import find_row
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table
from tenants.services import get_tenant


def _list(command: Any, options: Mapping[str, Any]) -> None:
    found = Erasure.objects.order_by("-begun_at", "-id")
    if options["tenant"] is not None:
        found = found.filter(tenant_id=get_tenant(options["tenant"]).id)
    documents = [_present(one) for one in found[: max(0, options["limit"])]]
    heading = ("id", "tenant", "object", "status", "begun", "ended", "by")
    names = ("id", "tenant_id", "object_id", "status", "begun_at", "ended_at", "begun_by")
    lines = table(heading, [[one[name] for name in names] for one in documents], command.paint)
    command.emit(options, {"erasures": documents}, lines)


def _show(command: Any, options: Mapping[str, Any]) -> None:
    found: Erasure = find_row(Erasure.objects.all(), options["id"], "erasure")
    document = _present(found)
    command.emit(options, document, _lines(document))


def _present(erasure: Erasure) -> dict[str, Any]:
    return {"tenant_id": str(erasure.tenant_id), **present_erasure(erasure)}


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    flat = {**document, **{f"erased {name}": n for name, n in document["counts"].items()}}
    entries = flat.pop("audit_entries")
    del flat["counts"]
    flat["audit entries that stay"] = f"{entries['count']} {entries['digest']}".rstrip()
    flat["by_hand"] = ", ".join(document["by_hand"])
    for name, value in flat.items():
        yield f"{name.replace('_', ' '):<26} {shown('-' if value is None else str(value))}"


def _add_list_options(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument("--limit", type=int, default=50, help="at most this many (50)")


def _add_id(parser: CommandParser) -> None:
    parser.add_argument("id", help="the id, or its end")


class Command(VerbCommand):
    """List and show certificates."""

    help = "Certificates of erasures: what was erased, when, by whom and why."
    verbs = (
        Verb(
            "list",
            "list erasures, the newest first",
            ('erasures list --tenant "Billing"',),
            _list,
            _add_list_options,
        ),
        Verb(
            "show",
            "show the certificate of one erasure",
            ("erasures show 9f3c2a7b1d20",),
            _show,
            _add_id,
        ),
    )
