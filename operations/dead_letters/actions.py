"""The actions of ``manage.py dlq``: one letter by its service, more of them as a bulk job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from executions.dead_letters.letters import (
    archive_dead_letter,
    purge_dead_letter,
    resolve_dead_letter,
    retry_dead_letter,
)
from executions.models import DeadLetter
from executions.triggering.triggers import Override
from operations.bulk import options as bulk_options
from operations.bulk import runs
from operations.dead_letters import letters
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.commands import wrong_use
from tenants.models import Tenant

_DONE = {"retry": "retried", "resolve": "resolved", "archive": "archived", "purge": "purged"}


def act(command: Any, options: Mapping[str, Any]) -> None:
    """Do the verb's action to the letters that the ids or filters choose."""
    bulk_options.require_one_choice(options)
    if len(options["ids"]) == 1:
        letter = letters.find_letter(options["ids"][0], options["tenant"])
        _act_on_one(command, letter, options)
        return
    tenant, filters = _choice(options)
    plan = runs.Plan(
        tenant,
        "dead_letters",
        options["verb"],
        filters,
        bulk_options.job_options(options),
        noun="dead letter",
    )
    runs.carry_out(command, options, plan)


def _act_on_one(command: Any, letter: DeadLetter, options: Mapping[str, Any]) -> None:
    action = options["verb"]
    document: dict[str, Any] = {
        "action": action,
        "dry_run": options["dry_run"],
        "tenant_id": str(letter.tenant_id),
        "letter_id": str(letter.id),
        "execution_id": None,
    }
    if options["dry_run"]:
        command.emit(options, document, [f"would {action} {letter.id}"])
        return
    if action == "purge":
        runs.confirm_count(command, options, 1, typed=True)
    with transaction.atomic(durable=True):
        made = _change(letter, options)
    document["execution_id"] = made
    became = f", execution {made}" if made else ""
    command.emit(options, document, [f"{_DONE[action]} {letter.id}{became}"])
    if made:
        command.note(f"Follow it with `manage.py executions show {made}`.")


def _change(letter: DeadLetter, options: Mapping[str, Any]) -> str | None:
    """Do the action to one letter; return the id of the execution that a retry made."""
    action, at = options["verb"], (letter.tenant_id, letter.id)
    if action == "retry":
        payload = bulk_options.read_payload(options["payload"])
        override = None if payload is None else Override(payload[0])
        return str(retry_dead_letter(*at, override, actor=COMMAND).id)
    if action == "resolve":
        resolution, note = options["resolution"], options["note"]
        resolve_dead_letter(*at, resolution=resolution, note=note, actor=COMMAND)
    elif action == "archive":
        archive_dead_letter(*at, note=options["note"], actor=COMMAND)
    else:
        purge_dead_letter(*at, actor=COMMAND)
    return None


def _choice(options: Mapping[str, Any]) -> tuple[Tenant, dict[str, Any]]:
    """Return the tenant and the filters of a bulk job."""
    if options["ids"]:
        chosen = [letters.find_letter(text, options["tenant"]) for text in options["ids"]]
        tenants = {letter.tenant_id for letter in chosen}
        if len(tenants) > 1:
            raise wrong_use("ids", "these are of several tenants; act on each apart.")
        return Tenant.objects.get(pk=tenants.pop()), {"ids": [str(item.id) for item in chosen]}
    filters: dict[str, Any] = {}
    named = options["tenant"]
    if options["task"] is not None:
        task = letters.find_task(options["task"], options["tenant"])
        filters["task"] = str(task.id)
        named = named or str(task.tenant_id)
    if options["signature"] is not None:
        filters["error_signature"] = options["signature"]
    if options["q"]:
        filters["q"] = options["q"]
    if options["resolved_as"] is not None:
        filters["resolution"] = options["resolved_as"]
    return chosen_tenant(named), filters
