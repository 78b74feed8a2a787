from __future__ import annotations

import pytest

from executions.changes import changing
from shared.sql import rows
from tasks import erasing
from tasks.models import TaskRevision
from tasks.revisions import read_definition
from tenants.models import Tenant
from tests.factories import ACTOR, make_task, once

pytestmark = pytest.mark.django_db


def test_every_version_gets_a_definition_without_content_that_can_be_read(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(erasing, "_AT_ONCE", 1)
    task = make_task(alpha, once(name="named", payload={"say": "this"}))
    first = TaskRevision.objects.get(task_id=task.id)
    TaskRevision.objects.create(
        task_id=task.id, version=2, definition=first.definition, sealed=first.sealed
    )
    changing.delete_task(alpha.id, task.id, actor=ACTOR)

    assert erasing.blank(alpha.id, task.id) == 2

    task.refresh_from_db()
    for version in (1, 2):
        definition = read_definition(task, version)
        assert (definition.name, definition.payload) == ("erased", None)
        assert definition.target["url"] == "https://erased.invalid/"
    assert task.name == "erased"
    assert rows("erasing/versions_with_content", {"task": task.id, "limit": 1}) == []


def test_a_task_that_is_not_deleted_keeps_its_row(alpha: Tenant):
    task = make_task(alpha, once(name="named"))

    erasing.blank(alpha.id, task.id)

    task.refresh_from_db()
    assert task.name == "named"
