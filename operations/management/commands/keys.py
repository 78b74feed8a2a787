"""``manage.py keys``: keys of the encryption at rest: list, rotate, seal anew, retire.

Exit codes: 0 done; 1 not confirmed; 2 wrong use; 3 no such tenant or key; 4 there is no key, none
that opens the values that are left, or something needs the key; 5 no database; 6 done in part,
repeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.core.management.base import CommandParser

from events import audit
from executions.loop.clocks import database_now
from executions.resealing.open_targets import wait_for_processes
from executions.resealing.passes import passes_of_tenant, rotate, run_some
from executions.resealing.retiring import retire
from insight.presentation.encryption_keys import present_resealing
from operations import key_list
from operations.finding import find_row
from operations.key_passes import NO_OLDER, seal_all_anew
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import CONFLICT, PARTIAL, VerbCommand, table
from shared.data_keys import seals_targets
from shared.key_service import key_service
from tenants.models import DataKey, Resealing, Tenant
from tenants.services import get_tenant
from tenants.services.data_keys import reseal_tenant, rewrap_data_keys


def _list(command: Any, options: Mapping[str, Any]) -> None:
    tenant = options["tenant"] and get_tenant(options["tenant"])
    found = key_list.keys(tenant or None)
    lines = [
        *table(
            ("KEY", "STATE", "VALUES", "DATA KEYS"),
            [(key["id"], _state(key), key["values"], key["data_keys"]) for key in found["keys"]],
        ),
        "",
        *table(
            ("DATA KEY", "TENANT", "GENERATION", "STATE", "VALUES"),
            [
                (key["id"], key["tenant"], key["generation"], key["status"], key["values"])
                for key in found["data_keys"]
            ],
        ),
    ]
    left = found["open_targets"]
    if any(left.values()):
        lines += [
            "",
            f"URLs or arguments in clear: versions {left['versions']}, bulk jobs "
            f"{left['bulk_jobs']}; run `manage.py keys reseal`",
        ]
    command.emit(options, found, lines)


def _state(key: Mapping[str, Any]) -> str:
    if not key["configured"]:
        return "missing"
    return "active" if key["active"] else "opens"


def _rotate(command: Any, options: Mapping[str, Any]) -> None:
    if options["tenant"] is None:
        _rotate_master(command, options)
        return
    tenant = get_tenant(options["tenant"])
    command.confirm(options, f"Give {tenant.name} a new data key and seal its values anew?")
    made = rotate(tenant.id, actor=COMMAND)
    _emit_resealing(command, options, tenant, made)
    command.note(
        "A new data key seals. The system worker seals stored values anew; to do it here, with "
        f'progress: manage.py keys reseal --tenant "{tenant.name}"'
    )


def _rotate_master(command: Any, options: Mapping[str, Any]) -> None:
    active = key_service().active_master()
    command.confirm(options, f"Wrap all data keys anew under the key {active}?")
    total = 0
    while True:
        done, left = rewrap_data_keys()
        total += done
        if not done:
            break
    audit.record_of_installation(
        COMMAND, "keys.rotated", "encryption_key", active, wrapped=total, left=left
    )
    command.emit(
        options,
        {"key": active, "wrapped": total, "left": left, "resealing": None, "tenant_id": None},
        [f"{total} data keys wrapped under {active}, {left} left"],
    )
    if left:
        command.leave(PARTIAL)
    command.note(
        "Values stay as they are. Values that the installation's key has sealed itself, and "
        "messages in flight, may need the former key: see docs/howto/rotate-the-encryption-key.md."
    )


def _reseal(command: Any, options: Mapping[str, Any]) -> None:
    if options["tenant"] is None:
        seal_all_anew(command, options)
        return
    tenant = get_tenant(options["tenant"])
    command.confirm(
        options, f"Seal the values of {tenant.name} anew under its data key? {NO_OLDER}"
    )
    is_new = not seals_targets(tenant.id)
    made = reseal_tenant(tenant.id, actor=COMMAND)
    if is_new:
        wait_for_processes(database_now())
    with command.progress("columns", len(passes_of_tenant())) as bar:
        more = True
        while more:
            more = run_some(made.id, progress=lambda row: bar.update(row.columns_done))
    made.refresh_from_db()
    _emit_resealing(command, options, tenant, made)
    if made.ended_at is None:
        command.note("Another session does it now; repeat to see how far it is.")
        command.leave(PARTIAL)
    if made.unreadable:
        command.note(f"{made.unreadable} values open with no key; repeating does not help.")
    if made.left:
        command.leave(PARTIAL if made.left > made.unreadable else CONFLICT)


def _emit_resealing(
    command: Any, options: Mapping[str, Any], tenant: Tenant, made: Resealing
) -> None:
    shown = present_resealing(made)
    if options["verb"] == "rotate":
        document = {"key": "", "wrapped": 0, "left": 0}
        document |= {"resealing": shown, "tenant_id": str(tenant.id)}
    else:
        document = {"key": str(made.generation), "sealed": made.sealed, "left": made.left or 0}
        document |= {"unreadable": made.unreadable, "columns": [], "resealing": shown}
    state = shown["status"].lower()
    line = f"{tenant.name}: generation {made.generation}, {state}, {made.sealed} values sealed"
    command.emit(options, document, [line if made.left is None else f"{line}, {made.left} left"])


def _retire(command: Any, options: Mapping[str, Any]) -> None:
    key: DataKey = find_row(DataKey.objects.all(), options["id"], "data key")
    command.confirm(
        options, f"Destroy the data key {key.id}? What it has sealed never opens again."
    )
    retire(key.id, actor=COMMAND, archives=not options["close_archives"])
    document = {"id": str(key.id), "tenant_id": str(key.tenant_id), "generation": key.generation}
    command.emit(options, document, [f"{key.id} is destroyed"])


def _add_tenant(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; the whole installation if left out")


def _add_retire_options(parser: CommandParser) -> None:
    parser.add_argument("id", help="the id of a data key, or its end")
    parser.add_argument(
        "--close-archives",
        action="store_true",
        help="also where archived days may need it: what they have of the tenant stays closed",
    )


class Command(VerbCommand):
    """List, rotate and retire the keys of the encryption at rest, and seal values anew."""

    help = "The keys of the encryption at rest: list, rotate and retire them, seal values anew."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "list",
            "the keys, and how many stored values each has sealed",
            ("keys list", 'keys list --tenant "Billing"'),
            _list,
            _add_tenant,
        ),
        Verb(
            "rotate",
            "give a tenant a new data key and seal its values anew; without a tenant, wrap all "
            "data keys under the active key of the installation",
            ('keys rotate --tenant "Billing" --yes', "keys rotate --yes"),
            _rotate,
            _add_tenant,
            dangerous=True,
        ),
        Verb(
            "reseal",
            "seal stored values anew under the keys that seal now, and URLs and arguments with "
            "them: not while a process of an older version runs; exit code 6: repeat, 4: no key "
            "opens what is left",
            ("keys reseal --yes", 'keys reseal --tenant "Billing" --yes'),
            _reseal,
            _add_tenant,
            dangerous=True,
        ),
        Verb(
            "retire",
            "destroy a former data key; exit code 4 where something needs it",
            ("keys retire 9f3c2a7b1d20 --yes",),
            _retire,
            _add_retire_options,
            dangerous=True,
        ),
    )
