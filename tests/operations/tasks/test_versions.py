from __future__ import annotations

from dataclasses import replace

import pytest

from executions.changes import changing
from insight import version_diff
from tenants.models import Tenant
from tests.factories import ACTOR, daily, make_task
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def test_the_lines_that_differ_are_printed(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    task = make_task(alpha, daily())
    changing.edit_task(
        alpha.pk, task.pk, lambda current, now: (replace(current, priority=1), None), actor=ACTOR
    )

    said = call("tasks", "diff", str(task.pk)).out
    document = read_document("tasks-diff", call("tasks", "diff", str(task.pk), "--json").out)
    same = call("tasks", "diff", str(task.pk), "2", "2").out
    monkeypatch.setattr(version_diff, "MOST_LINES", 4)

    assert '-  "priority": 5,' in said.splitlines()
    assert '+  "priority": 1,' in said.splitlines()
    assert "equal lines @@" in said
    assert (document["before"]["version"], document["differs"]) == (1, True)
    assert "no difference" in same
    assert "compared are the first" in call("tasks", "diff", str(task.pk)).err


def test_a_version_that_never_was_is_not_found(alpha: Tenant):
    assert call("tasks", "diff", str(make_task(alpha).pk), "1", "9").code == 3
