"""Calls that show payloads have an audit entry: once an hour for a key and a row."""

from __future__ import annotations

import pytest

from events.models import AuditEntry
from tests.factories import ApiClient, daily, make_client, make_execution, make_key, make_task

pytestmark = pytest.mark.django_db


def readings():
    found = AuditEntry.objects.filter(action="payload.read").order_by("sequence")
    return [(one.object_kind, one.object_id) for one in found]


def test_a_task_that_is_read_again_has_one_entry(client, alpha):
    task = make_task(alpha, daily())

    for _ in range(2):
        client.get(f"/v1/tasks/{task.id}")
        client.get(f"/v1/tasks/{task.id}/revisions")

    assert readings() == [("task", str(task.id))]


def test_a_list_has_one_entry_for_the_rows_that_were_not_read_yet(client, alpha):
    for name in ("a", "b"):
        make_task(alpha, daily(name=name))

    client.get("/v1/tasks")
    client.get("/v1/tasks")

    assert readings() == [("tenant", str(alpha.id))]


def test_an_execution_is_noted_and_a_list_without_payloads_is_not(client, alpha):
    execution = make_execution(alpha, "PENDING")

    client.get("/v1/executions")
    client.get(f"/v1/executions/{execution.id}")

    assert readings() == [("execution", str(execution.id))]


def test_an_edit_that_changes_nothing_shows_the_payload_and_is_noted(client, alpha):
    task = make_task(alpha, daily())

    client.patch(f"/v1/tasks/{task.id}", {})

    assert readings() == [("task", str(task.id))]


def test_who_sees_no_payload_reads_none(alpha):
    task = make_task(alpha, daily())
    writer = make_client(alpha, ["write"])
    blind = ApiClient(make_key(alpha, ["read"], sees_payloads=False)[1])

    writer.patch(f"/v1/tasks/{task.id}", {})
    blind.get(f"/v1/tasks/{task.id}")
    blind.get("/v1/tasks")

    assert readings() == []


def test_an_unknown_row_is_not_noted(client):
    client.get("/v1/tasks/00000000-0000-0000-0000-000000000000")

    assert readings() == []
