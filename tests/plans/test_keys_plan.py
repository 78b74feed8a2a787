"""The look jumps from key to key, and work without a key is in no index of keys."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from executions.gate.key_list import before_in_line, key_of, list_keys
from executions.loop.clocks import database_now
from executions.models import Execution
from shared.sql import rows
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.gate.key_world import KEY, at_most, begin, look, make
from tests.factories import finish, make_task, make_tenant, once, prepare
from tests.support.open_rows import multiply

pytestmark = pytest.mark.django_db

_INDEXES = {"open_executions_key_waiting_idx", "open_executions_key_taken_idx"}


def fill(tenant: Tenant, *, without_key: int) -> Task:
    """Let much work wait for two keys, and some for none; return the last task of one."""
    *_, last = make(tenant, 3, at_most(1))
    make(tenant, 3, {"key": "other"})
    for _ in range(without_key):
        make_task(tenant, once())
    prepare()
    multiply()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE open_executions")
    return last


def test_looks_go_by_the_indexes_of_keys(plans: Any):
    fill(make_tenant("Alpha"), without_key=0)

    with plans() as found:
        assert look().done == 2
        for row in begin():
            finish(row)

    found.check("keys/waiting", "keys/take", "keys/due", "keys/lock", "keys/admit")
    found.check("gate/somebody_waits")
    found.check_in_order("keys/waiting", "gate/somebody_waits")
    # What it has found of each key is sorted, for its number and its task.
    assert all("open_executions" not in plan.sorted for plan in found.found["keys/due"])


def test_runs_that_may_pass_in_strict_order_are_found_by_an_index(plans: Any):
    tenant = make_tenant("Alpha")
    fill(tenant, without_key=24)

    with plans() as found:
        rows(
            "keys/needed",
            {
                "numbers": [0],
                "tenants": [tenant.id],
                "keys": [KEY],
                "now": database_now(),
                "limit": 10,
            },
        )

    found.check("keys/needed")


def test_lists_go_by_the_indexes_of_keys(plans: Any):
    alpha = make_tenant("Alpha")
    # Of a key that nearly all open work shares, a count reads nearly all of it by any plan.
    last = fill(alpha, without_key=24)
    look()

    with plans() as found:
        assert len(list_keys(alpha.id, limit=10)) == 2
        assert key_of(alpha.id, KEY).in_use == 1
        before_in_line(Execution.objects.filter(task_id=last.id).latest("id"))

    found.check("keys/listed", "keys/holders", "keys/before_in_line")
    found.check_in_order("keys/listed")
    listed = [plan.indexes for plan in found.found["keys/listed"]]
    assert listed == [_INDEXES, _INDEXES]


def test_work_without_a_key_is_in_no_index_of_keys():
    make_task(make_tenant("Alpha"), once())
    prepare()

    with connection.cursor() as cursor:
        for index in sorted(_INDEXES):
            cursor.execute("SELECT pg_get_indexdef(%s::regclass)", [index])
            assert "key_place" in cursor.fetchone()[0].partition(" WHERE ")[2]
        cursor.execute("SELECT count(*) FROM open_executions WHERE key_place IS NOT NULL")
        assert cursor.fetchone() == (0,)
