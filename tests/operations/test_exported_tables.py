"""What the export of a tenant has, by the catalogue: a new table is exported, or says why not."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.db.models import BinaryField

from operations.exported_tables import LEFT_OUT, PLAIN, READ_APART
from shared.postgresql.tenant_tables import CHILDREN
from tenants.models import Tenant
from tests.support.tables_of_tenants import tables_of_tenants

pytestmark = pytest.mark.django_db


def test_every_table_of_tenants_is_exported_or_left_out_for_a_reason():
    exported = {one.table for one in PLAIN} | READ_APART.keys()

    assert exported & LEFT_OUT.keys() == set()
    assert exported | LEFT_OUT.keys() == tables_of_tenants() | {*CHILDREN, "tenants"}
    assert all(reason.endswith(".") for reason in LEFT_OUT.values())


def test_no_exported_column_is_sealed_hashed_or_a_right_by_itself():
    for one in PLAIN:
        secret = {
            field.name
            for field in apps.get_model(one.model)._meta.concrete_fields
            if isinstance(field, BinaryField) or field.name == "endpoint"
        }
        assert secret & set(one.columns.split()) == set(), one.name


def test_the_rows_of_a_part_are_those_of_one_tenant(alpha: Tenant, beta: Tenant):
    [secrets] = [one for one in PLAIN if one.name == "data_keys"]

    [row] = secrets.rows(alpha.id)

    assert row["id"] == alpha.data_keys.get().id
    assert row["id"] not in [other["id"] for other in secrets.rows(beta.id)]
