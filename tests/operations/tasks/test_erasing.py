from __future__ import annotations

import pytest

from executions import transitions
from executions.loop.clocks import database_now
from executions.models import Erasure
from tenants.models import Tenant
from tests.factories import make_task, once, prepare, release
from tests.support.command_calls import call

pytestmark = pytest.mark.django_db


def test_what_still_runs_is_said_and_left_to_the_system_worker(alpha: Tenant):
    task = make_task(alpha, once())
    prepare()
    (row,) = release()
    transitions.mark_running([(row.id, row.token, "w", database_now())])

    said = call("tasks", "erase", str(task.id), "--note", "asked for", "--yes")

    assert said.code == 0
    assert said.out.startswith("RUNNING")
    assert "system worker completes" in said.err


def test_a_deleted_task_is_found_by_the_end_of_its_id(alpha: Tenant):
    task = make_task(alpha)
    assert call("tasks", "delete", str(task.id), "--yes").code == 0

    words = ("--note", "asked for", "--tenant", alpha.name, "--yes")
    said = call("tasks", "erase", str(task.id)[-12:], *words)

    assert said.code == 0
    assert Erasure.objects.get().object_id == task.id
