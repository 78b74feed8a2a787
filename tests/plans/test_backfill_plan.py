from __future__ import annotations

from typing import Any

import pytest

from executions.bulk import backfill_steps
from executions.bulk.jobs import cancel_bulk_job
from tests.executions.bulk.backfills import let_go, make_backfill, minutely
from tests.executions.bulk.bulk import run_job
from tests.factories import ACTOR, make_task, make_tenant, release

pytestmark = pytest.mark.django_db


def test_a_backfill_touches_the_day_that_it_was_made_on(plans: Any):
    alpha = make_tenant("Alpha")
    job = make_backfill(make_task(alpha, minutely()))

    with plans() as found:
        run_job(job)
        let_go(job, 3)
        release()
        assert backfill_steps.count_executions(job)["pending"] == 61
        cancel_bulk_job(alpha.id, job.id, actor=ACTOR)

    found.check(
        "backfill/insert_executions",
        "backfill/count_by_status",
        "backfill/lock_waiting",
        "complete/cancel",
        "complete/note_last_runs",
        "transitions/count_failures",
    )
