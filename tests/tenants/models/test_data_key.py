from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import RunSQL

from tenants.models import DataKey, Tenant

pytestmark = pytest.mark.django_db


def way_back() -> str:
    found = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    [migration] = [
        one for (app, name), one in found.items() if app == "tenants" and name.endswith("data_keys")
    ]
    [first] = [one for one in migration.operations[-1:] if isinstance(one, RunSQL)]
    return str(first.reverse_sql)


def test_the_table_of_data_keys_does_not_go_while_a_tenant_has_one(alpha: Tenant):
    with connection.cursor() as cursor:
        with pytest.raises(DatabaseError, match="no value of theirs opens"), transaction.atomic():
            cursor.execute(way_back())
        DataKey.objects.all().delete()
        cursor.execute(way_back())
