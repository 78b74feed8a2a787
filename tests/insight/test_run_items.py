from __future__ import annotations

import pytest

from insight import run_items, workflow_runs
from tests.factories import make_tenant
from tests.support.workflows import begin_run, calls, make_workflow, work

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant():
    return make_tenant()


def test_items_of_a_fan_out_are_counted_by_status(tenant):
    each = calls("a", for_each=[*range(5)], max_parallel=2)
    run = begin_run(make_workflow(tenant, [each], on_failure="continue"))
    [seen] = workflow_runs.see([workflow_runs.find_take(tenant.id, run)])

    assert run_items.item_counts_of(seen) == {1: {"QUEUED": 2, "PENDING": 3}}
    assert run_items.item_total_of(seen, 1) == 5
    work(run, lambda key, item: "FAILED" if item == 4 else "SUCCEEDED")
    [seen] = workflow_runs.see([workflow_runs.find_take(tenant.id, run)])
    assert run_items.item_counts_of(seen) == {1: {"SUCCEEDED": 4, "FAILED": 1}}
    assert run_items.item_total_of(seen, 1) == 5
    ended, open_ = run_items.items_of(seen, 1, range(1, 3))
    assert (set(ended), open_) == ({1, 2}, {})


def test_items_of_a_fan_out_are_found_by_status(tenant):
    flow = [calls("f", for_each=list(range(6)), max_parallel=4, min_success_share=0.1)]
    run = begin_run(make_workflow(tenant, flow))

    def found(status, first=0, end=10):
        [seen] = workflow_runs.see([workflow_runs.find_take(tenant.id, run)])
        return run_items.items_with_status(seen, 1, status, first, end)

    assert (found("QUEUED"), found("QUEUED", 1, 3)) == ([0, 1, 2, 3], [1, 2])
    work(run, lambda key, item: "FAILED" if item in (1, 4) else "SUCCEEDED")
    assert (found("FAILED"), found("SUCCEEDED", 2, 4)) == ([1, 4], [3, 5])
    assert not found("QUEUED")
