"""Reading a large run takes no lock that dispatch, a recorder or an advance could wait for.

Fault 19 of the design.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from insight import workflow_runs
from insight.presentation.workflow_runs import present_items, present_run, present_seen
from tenants.models import Tenant
from tests.support.workflow_steps import claim, end
from tests.support.workflows import begin_run, calls, ends_of, go_on, make_workflow

Beside = Callable[[Callable[[], Any]], Any]
PAGE = 10


def read(tenant: Tenant, run_id: UUID) -> int:
    """Read all that a page of a run shows; return the number of rows that were read."""
    found = 0

    def counting(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        nonlocal found
        result = execute(sql, params, many, context)
        found += max(0, context["cursor"].rowcount)
        return result

    with connection.execute_wrapper(counting):
        present_run(tenant.id, run_id)
        [seen] = workflow_runs.see([workflow_runs.find_take(tenant.id, run_id)])
        present_seen(seen)
        present_items(seen, workflow_runs.number_of(seen, "load"), 0, PAGE)
    return found


def begin(tenant: Tenant, items: int) -> UUID:
    step = calls("load", for_each=list(range(items)), max_parallel=items // 2)
    run_id = begin_run(make_workflow(tenant, [step, calls("sum", "load")], name=f"{items} items"))
    for row in list(claim(run_id).values())[: items // 4]:
        end(row)
    go_on(run_id)
    return run_id


def test_a_page_of_a_run_reads_no_more_rows_where_it_has_more_items(alpha: Tenant):
    few, many = begin(alpha, 4 * PAGE), begin(alpha, 40 * PAGE)

    # A few more for the states that items of a larger window are in.
    assert read(alpha, many) - read(alpha, few) < PAGE


def test_a_reader_in_the_middle_of_its_work_holds_up_nothing(alpha: Tenant, beside: Beside):
    run_id = begin(alpha, 4 * PAGE)
    before = len(ends_of(run_id))

    with transaction.atomic():
        assert read(alpha, run_id) > PAGE
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_xact_id_if_assigned()")
            assert cursor.fetchone() == (None,)
            cursor.execute(
                "SELECT DISTINCT mode FROM pg_locks"
                " WHERE pid = pg_backend_pid() AND locktype <> 'virtualxid'"
            )
            assert cursor.fetchall() == [("AccessShareLock",)]

        def work() -> None:
            for row in claim(run_id).values():
                end(row)
            go_on(run_id)

        # Dispatch, recorder and advance, while the reader's transaction is open.
        beside(work).join()

    assert len(ends_of(run_id)) > before
