"""A change of any of a tenant's rows is seen, and none where a call was undone."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from tasks.models import Pause, Task, TaskRevision
from tenants.models import ApiKey, Tenant
from tests.access.stored_rows import StoredRows, rows_of
from tests.access.world import World, undone
from tests.support.api import make_tenant

pytestmark = pytest.mark.django_db


def test_a_change_names_the_model_and_what_is_only_noted_is_none(world: World, stored: StoredRows):
    def changed_by(queryset: QuerySet[Any], **values: Any) -> list[str]:
        with undone():
            assert queryset.update(**values)
            return stored.changed()

    tenant, task = world.tenant.pk, world.ids["task_id"]

    assert changed_by(Tenant.objects.filter(pk=tenant), name="Other") == ["tenants.Tenant"]
    assert changed_by(Task.objects.filter(pk=task), name="Other") == ["tasks.Task"]
    revisions = TaskRevision.objects.filter(task_id=task)
    assert changed_by(revisions, changed_by="x") == ["tasks.TaskRevision"]
    keys = ApiKey.objects.filter(tenant_id=tenant)
    assert changed_by(keys, name="x") == ["tenants.ApiKey"]
    assert changed_by(keys, last_used_at=timezone.now()) == []


def test_a_row_that_goes_is_seen_in_each_table_until_that_is_undone(
    world: World, stored: StoredRows
):
    filled = [label for label, digest in rows_of(world.tenant).items() if digest]
    assert len(filled) > 25
    for label in filled:
        with undone():
            _run("SET LOCAL session_replication_role = replica")
            _run(f'DELETE FROM "{apps.get_model(label)._meta.db_table}"')
            assert label in stored.changed()
        assert stored.changed() == [], label


def test_a_table_that_is_emptied_at_once_is_seen(stored: StoredRows):
    with undone():
        # What waits for the end of the transaction keeps a table from being truncated.
        _run("SET CONSTRAINTS ALL IMMEDIATE")
        _run(f'TRUNCATE "{Pause._meta.db_table}"')
        assert stored.changed() == ["tasks.Pause"]


def test_rows_of_another_tenant_are_no_change(stored: StoredRows):
    with undone():
        other = make_tenant("Beta")
        Pause.objects.create(tenant_id=other.pk, scope="label", value="a:b", created_by="test")
        assert stored.changed() == []


def test_all_rows_are_read_in_the_end(world: World, stored: StoredRows):
    assert stored.missed() == []
    with undone():
        Tenant.objects.filter(pk=world.tenant.pk).update(name="Other")
        assert stored.missed() == ["tenants.Tenant"]


def _run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
