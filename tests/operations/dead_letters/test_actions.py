from __future__ import annotations

import pytest

from executions.models import BulkJob, DeadLetter
from shared.actor import COMMAND
from tenants.models import Tenant
from tests.executions.answers import audited
from tests.factories import make_dead_letter
from tests.support.command_calls import call

pytestmark = pytest.mark.django_db


def test_an_action_is_noted_as_the_commands(alpha: Tenant):
    letter = make_dead_letter(alpha)

    assert call("dlq", "archive", str(letter.id)).code == 0

    assert audited(letter.id, "dead_letter.resolved")["actor"] == COMMAND.name


def test_a_tasks_filter_says_which_tenant_is_meant(alpha: Tenant, beta: Tenant):
    letter = make_dead_letter(beta)

    assert call("dlq", "archive", "--task", str(letter.task_id), "--yes", "--detach").code == 0

    job = BulkJob.objects.get()
    assert (job.tenant_id, job.total) == (beta.id, 1)


def test_an_unknown_letter_or_task_exits_with_3(alpha: Tenant):
    assert call("dlq", "retry", "0" * 12).code == 3
    assert call("dlq", "retry", "--task", "0" * 12, "--yes").code == 3


def test_a_reserved_resolution_exits_with_2(alpha: Tenant):
    letter = make_dead_letter(alpha)

    assert call("dlq", "resolve", str(letter.id), "--resolution", "retried").code == 2
    assert not DeadLetter.objects.get().resolved
