"""Commands that print payloads leave an audit entry of the account that ran them."""

from __future__ import annotations

import pytest

from events.models import AuditEntry
from operations.payload_readings import note_shown
from shared.actor import COMMAND
from tests.factories import daily, make_task, make_tenant
from tests.support.command_calls import call

pytestmark = pytest.mark.django_db


def entries():
    return list(AuditEntry.objects.filter(action="payload.read").order_by("sequence"))


def test_each_tenant_has_one_entry_in_its_own_chain():
    one, other = make_tenant("One"), make_tenant("Other")

    note_shown("task", [{"id": str(n), "tenant_id": str(t.id)} for t in (one, other) for n in "ab"])

    assert [(found.tenant_id, found.actor) for found in entries()] == [
        (one.id, COMMAND.name),
        (other.id, COMMAND.name),
    ]


def test_a_command_that_prints_no_payload_has_none():
    task = make_task(make_tenant(), daily())

    call("tasks", "list")
    call("tasks", "show", str(task.id))
    assert entries() == []
    call("tasks", "show", str(task.id), "--json")
    call("tasks", "export")

    [found] = entries()
    assert (found.object_kind, found.object_id) == ("task", str(task.id))
