"""How a stored answer is found, by a plan that was made while there was none."""

from __future__ import annotations

import pytest
from django.db import connection

from shared.sql import json_value, statement

pytestmark = pytest.mark.django_db


def test_a_stored_answer_is_found_by_its_key_and_not_among_all_of_its_tenant():
    text = statement("idempotency/find") % {"tenant": "$1::uuid", "key": "$2::text"}

    with connection.cursor() as cursor:
        # Sessions keep such a plan until the table is analyzed.
        cursor.execute("EXPLAIN (GENERIC_PLAN, FORMAT JSON) " + text)
        [explained] = json_value(cursor.fetchone()[0])

    plan = explained["Plan"]
    assert plan["Index Name"] == "one_answer_per_tenant_and_idempotency_key"
    assert "key" in plan["Index Cond"]
