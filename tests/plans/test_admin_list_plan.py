from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest
from django.db import connection

from executions.models import Execution
from shared.admin import keyset
from tests.plans.conftest import Plan
from tests.support.admin import make_admin

pytestmark = pytest.mark.django_db


@contextmanager
def explained() -> Iterator[list[Plan]]:
    """Gather the plan of every read of executions."""
    found: list[Plan] = []

    def explain(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("SELECT") and '"executions"' in sql:
            with context["connection"].connection.cursor() as cursor:
                cursor.execute("EXPLAIN (FORMAT JSON) " + sql, params)
                answer = cursor.fetchone()[0]
            plan = Plan(sql)
            parsed = orjson.loads(answer) if isinstance(answer, str | bytes) else answer
            plan.add(parsed[0]["Plan"])
            found.append(plan)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        yield found


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"status__exact": "FAILED"},
        {"trigger__exact": "manual"},
        {"error_code": "dns_failed"},
        {"task__id__exact": "TASK"},
        {"tenant": "TENANT"},
        {"before": "MIDDLE"},
        {"q": "TASK"},
        {"q": "ID"},
    ],
    ids=lambda query: "-".join(f"{name}-{value}" for name, value in query.items()) or "all",
)
def test_no_admin_list_reads_a_day_from_end_to_end(
    query: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(keyset, "WINDOW", 1000)
    row = Execution.objects.order_by("-pk")[3000]
    stand_ins = {
        "TASK": row.task_id, "TENANT": row.tenant_id, "MIDDLE": row.pk, "ID": row.pk,
    }  # fmt: skip
    asked = {name: str(stand_ins.get(value, value)) for name, value in query.items()}
    browser = make_admin()

    with explained() as plans:
        answer = browser.list(Execution, **asked)

    assert answer.status_code == 200
    assert plans
    for plan in plans:
        assert not plan.large_read_whole(), plan.statement
