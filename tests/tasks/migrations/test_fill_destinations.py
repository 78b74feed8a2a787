from __future__ import annotations

from importlib import import_module

import pytest
from django.db import connection

from shared.data_keys import forget_all
from tasks.models import Task
from tenants.models import DataKey
from tests.factories import daily, make_task, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)

migration = import_module("tasks.migrations.0004_fill_destinations")


def test_a_fill_goes_through_all_tasks_batch_by_batch() -> None:
    tenant = make_tenant("Alpha")
    # As when the migration was written: the URL is in the readable part.
    DataKey.objects.update(seals_targets=False)
    forget_all()
    hosts = [f"api-{number}.example.com" for number in range(5)]
    made = [
        make_task(tenant, daily(target={"url": f"https://{host.upper()}/x?y=1"})) for host in hosts
    ]
    Task.objects.update(destination="")

    with connection.cursor() as cursor:
        cursor.execute(migration.FILL.format(batch=2))

    found = dict(Task.objects.values_list("id", "destination"))
    assert [found[task.id] for task in made] == hosts
