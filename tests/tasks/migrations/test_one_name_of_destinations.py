from __future__ import annotations

import re
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from tasks.destination_names import read_name
from tasks.models import Task
from tests.factories import daily, make_task, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)

migration = import_module("tasks.migrations.0013_one_name_of_destinations")

#: What an older version wrote down -> the name.
SPELLINGS = {
    "example.com": "example.com",
    "example.com.": "example.com",
    "example.com:443": "example.com",
    "example.com:0443": "example.com",
    "example.com.:80": "example.com",
    "example.com:8443": "example.com:8443",
    "example.com:08443": "example.com:8443",
    "faß.de": "xn--fa-hia.de",
    "0x7f.1": "127.0.0.1",
    "2130706433:9000": "127.0.0.1:9000",
    "127.0.0.1:9000": "127.0.0.1:9000",
    "[0:0:0:0:0:0:0:1]:9000": "[::1]:9000",
    "a_b.internal": "a_b.internal",
    "no host": "no host",
    "": "",
}


def test_every_task_is_found_by_the_one_name_of_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "BATCH", 2)
    tenant = make_tenant("Alpha")
    made = {}
    for spelling in SPELLINGS:
        task = make_task(tenant, daily())
        Task.objects.filter(pk=task.pk).update(destination=spelling)
        made[task.id] = spelling

    for _ in range(2):
        with connection.schema_editor() as editor:
            migration.write_names(apps, editor)

    found = dict(Task.objects.values_list("id", "destination"))
    assert {made[task]: name for task, name in found.items()} == SPELLINGS


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_looks_like_a_name_is_one(spelling: str) -> None:
    if re.search(migration.NAME, spelling):
        assert read_name(spelling) == spelling
