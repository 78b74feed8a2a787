"""A pasted crontab is planned without a trace, and imported as it was planned."""

from __future__ import annotations

import pytest

from events.models import AuditEntry
from executions.changes import pasted_crontab
from executions.changes.importing import Action
from executions.changes.pasted_crontab import PastedCrontab, run_import
from shared.exceptions import InvalidInput
from tasks.models import Task
from tests.factories import ACTOR

pytestmark = pytest.mark.django_db

URL = "https://example.com/run"
TEXT = "* * * * * one\n0 2 * * * two\n@reboot three\n"


def _run(tenant, text: str = TEXT, *, dry_run: bool = False, **parts):
    pasted = PastedCrontab(**{"crontab": text, "url": URL, **parts})
    return run_import(tenant.id, pasted, actor=ACTOR, dry_run=dry_run)


def test_a_plan_stores_nothing_and_says_what_the_import_then_does(alpha):
    before = AuditEntry.objects.count()

    plan = _run(alpha, dry_run=True)
    stored = Task.objects.count(), AuditEntry.objects.count() - before
    done = _run(alpha)

    assert stored == (0, 0)
    assert [(item.line, item.action, item.schedule_text) for item in plan] == [
        (item.line, item.action, item.schedule_text) for item in done
    ]
    assert [item.action for item in done] == [Action.NEW, Action.NEW, Action.REFUSED]
    assert set(Task.objects.values_list("status", flat=True)) == {"PAUSED"}


def test_the_same_name_finds_its_tasks_again_and_another_does_not(alpha):
    _run(alpha, source="web-1")

    again = _run(alpha, source="web-1", dry_run=True)
    other = _run(alpha, source="web-2", dry_run=True)

    assert [item.action for item in again][:2] == [Action.UNCHANGED] * 2
    assert [item.action for item in other][:2] == [Action.NEW] * 2


def test_the_zone_and_the_user_column_are_read(alpha):
    [item] = _run(alpha, "0 2 * * * root backup\n", timezone="Europe/Berlin", system=True)

    assert item.task is not None
    assert item.task.schedule["timezone"] == "Europe/Berlin"
    assert not item.notes


@pytest.mark.parametrize(
    ("text", "parts", "pointer"),
    [
        ("# nothing\n", {}, "#/crontab"),
        (TEXT, {"timezone": "Mars/Base"}, "#/timezone"),
        (TEXT, {"source": "/etc/cron.d/x"}, "#/source"),
        (TEXT, {"url": "http://10.0.0.1/"}, "#/url"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_imported(alpha, text, parts, pointer):
    with pytest.raises(InvalidInput) as refused:
        _run(alpha, text, **parts)

    assert [one.pointer for one in refused.value.errors] == [pointer]
    assert not Task.objects.exists()


def test_jobs_beyond_the_bound_are_refused(alpha, monkeypatch):
    monkeypatch.setattr(pasted_crontab, "MOST_JOBS", 2)

    with pytest.raises(InvalidInput) as refused:
        _run(alpha)

    assert "at most 2" in refused.value.errors[0].message
