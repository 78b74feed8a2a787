from __future__ import annotations

import json

import pytest
from django.contrib import admin
from django.urls import reverse
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

from events.audit import INSTALLATION
from events.models import AuditEntry

pytestmark = pytest.mark.django_db


def test_only_what_housekeeping_uses_is_in_the_admin():
    assert admin.site.is_registered(PeriodicTask)
    assert admin.site.is_registered(CrontabSchedule)
    assert admin.site.is_registered(IntervalSchedule)
    assert not admin.site.is_registered(ClockedSchedule)
    assert not admin.site.is_registered(SolarSchedule)


def test_housekeeping_pages_are_plain(browser):
    every = IntervalSchedule.objects.create(every=1, period="minutes")
    job = PeriodicTask.objects.create(name="sweep", task="sweep", interval=every)

    assert browser.list(PeriodicTask).status_code == 200
    page = browser.page(job).content.decode()

    assert "periodic-task-overrides" not in page
    assert 'name="clocked"' not in page
    assert 'name="interval"' in page


def entries() -> list[tuple[str, str, str | None, str | None]]:
    found = AuditEntry.objects.filter(object_kind="periodic_entry").order_by("sequence")
    assert all(entry.tenant_id == INSTALLATION for entry in found)
    return [(entry.action, entry.object_id, entry.before, entry.after) for entry in found]


@pytest.fixture
def job() -> PeriodicTask:
    every = IntervalSchedule.objects.create(every=1, period="minutes")
    return PeriodicTask.objects.create(name="sweep", task="sweep", interval=every)


@pytest.mark.parametrize(
    ("action", "enabled"),
    [("disable_tasks", False), ("toggle_tasks", False), ("enable_tasks", True)],
)
def test_switching_an_entry_is_audited(browser, job, action, enabled):
    browser.act(PeriodicTask, action, [job])

    job.refresh_from_db()
    assert job.enabled is enabled
    changed = ('{"enabled":true}', f'{{"enabled":{str(enabled).lower()}}}')
    assert entries() == [("periodic_entry.changed", str(job.pk), *changed)]


def test_deleting_an_entry_is_audited(browser, job):
    key = str(job.pk)
    browser.act(PeriodicTask, "delete_selected", [job], post="yes")

    assert entries() == [("periodic_entry.deleted", key, '{"name":"sweep"}', None)]


def test_an_edit_of_an_entry_is_audited_with_the_fields_that_differ(browser, job):
    page = reverse("admin:django_celery_beat_periodictask_change", args=[job.pk])
    form = browser.client.get(page).context["adminform"].form
    fields = {name: value for name, value in form.initial.items() if value is not None}
    fields |= {"name": "swept", "regtask": "", "enabled": "on", "args": "[]", "kwargs": "{}"}

    browser.client.post(page, fields)

    [(action, _, before, after)] = entries()
    assert action == "periodic_entry.changed"
    assert (json.loads(before or "")["name"], json.loads(after or "")["name"]) == ("sweep", "swept")


def test_a_change_of_a_schedule_which_moves_its_entries_is_audited(browser):
    every = IntervalSchedule.objects.create(every=2, period="hours")
    page = reverse("admin:django_celery_beat_intervalschedule_change", args=[every.pk])
    no_entries = {f"periodictask_set-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL")}

    browser.client.post(page, {"every": "90", "period": "minutes", **no_entries})

    [(action, key, before, after)] = entries()
    assert (action, key) == ("periodic_entry.schedule_changed", str(every.pk))
    assert (before, after) == ('{"schedule":"every 2 hours"}', '{"schedule":"every 90 minutes"}')


def test_a_deleted_schedule_is_audited(browser):
    unused = IntervalSchedule.objects.create(every=2, period="hours")
    browser.act(IntervalSchedule, "delete_selected", [unused], post="yes")

    [(action, _, before, after)] = entries()
    assert action == "periodic_entry.schedule_deleted"
    assert (before, after) == ('{"schedule":"every 2 hours"}', None)
