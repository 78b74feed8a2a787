"""How a stored answer is found, by a plan that was made while there was none."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from shared.sql import json_value, statement

pytestmark = pytest.mark.django_db


def test_a_stored_answer_is_found_by_its_key_and_not_among_all_of_its_tenant():
    text = statement("idempotency/find") % {"tenant": "$1::uuid", "key": "$2::text"}

    plan = plan_of(text)

    assert plan["Index Name"] == "one_answer_per_tenant_and_idempotency_key"
    assert "key" in plan["Index Cond"]


def test_the_answers_of_a_group_are_found_by_their_keys():
    text = statement("idempotency/known") % {"tenant": "$1::uuid", "keys": "$2::text[]"}

    plan = plan_of(text)

    # What a group asks of them is in the index itself.
    assert plan["Node Type"] == "Index Only Scan"
    assert plan["Index Name"] == "one_answer_per_tenant_and_idempotency_key"
    assert "key" in plan["Index Cond"]


def plan_of(text: str) -> Any:
    with connection.cursor() as cursor:
        # Sessions keep such a plan until the table is analyzed.
        cursor.execute("EXPLAIN (GENERIC_PLAN, FORMAT JSON) " + text)
        [explained] = json_value(cursor.fetchone()[0])
    return explained["Plan"]
