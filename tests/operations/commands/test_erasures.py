from __future__ import annotations

import pytest

from executions.erasure.requests import erase_task
from executions.models import Erasure
from tenants.models import Tenant
from tests.factories import ACTOR, make_task
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def test_certificates_of_all_tenants_are_listed_or_of_one(alpha: Tenant, beta: Tenant):
    first = erase_task(alpha.id, make_task(alpha).id, reason="asked for", actor=ACTOR)
    second = erase_task(beta.id, make_task(beta).id, reason="asked for", actor=ACTOR)

    found = read_document("erasures-list", call("erasures", "list", "--json").out)["erasures"]
    assert [one["id"] for one in found] == [str(second.id), str(first.id)]

    said = call("erasures", "list", "--tenant", alpha.name)
    assert str(first.id) in said.out
    assert str(second.id) not in said.out


def test_one_is_shown(alpha: Tenant):
    erasure = erase_task(alpha.id, make_task(alpha).id, reason="asked for", actor=ACTOR)

    said = call("erasures", "show", str(erasure.id), "--json")

    assert read_document("erasures-show", said.out)["tenant_id"] == str(alpha.id)
    assert "asked for" in call("erasures", "show", str(erasure.id)).out
    assert call("erasures", "show", "ffffffffffff").code == 3


def test_the_command_erases_a_task_to_the_end(alpha: Tenant):
    task = make_task(alpha)

    said = call("tasks", "erase", str(task.id), "--note", "asked for", "--yes", "--json")

    assert read_document("tasks-erase", said.out)["status"] == "COMPLETED"
    task.refresh_from_db()
    assert (task.name, task.deleted_at is None) == ("erased", False)
    # Days may have come back from an archive since.
    again = call("tasks", "erase", str(task.id), "--note", "once more", "--yes")
    assert again.code == 0
    assert Erasure.objects.filter(ended_at__isnull=False).count() == 2


def test_without_a_yes_nothing_is_erased(alpha: Tenant):
    task = make_task(alpha)

    assert call("tasks", "erase", str(task.id), "--note", "asked for").code == 2
    assert not Erasure.objects.exists()


def test_a_task_of_another_tenant_is_not_found(alpha: Tenant, beta: Tenant):
    task = make_task(alpha)
    words = ("--note", "asked for", "--tenant", beta.name, "--yes")

    assert call("tasks", "erase", str(task.id), *words).code == 3
    assert not Erasure.objects.exists()
