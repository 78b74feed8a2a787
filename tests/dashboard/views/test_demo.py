"""Break something: only in a demo, only its administrator, only from this machine."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from events.models import AuditEntry
from executions.demo import breaks
from executions.demo.breaks import Kind
from executions.loop.clocks import database_now
from shared.exceptions import Unavailable
from tests.support.demo import note_break, start_demo
from tests.support.ended_rows import ended

pytestmark = pytest.mark.django_db

PAGE, BREAK = "/demo", "/demo/break"


@pytest.fixture
def demo(monkeypatch, settings):
    return start_demo(monkeypatch, settings)


@pytest.fixture
def administrator(browser, demo):
    client = browser(demo[0], role="owner")
    User.objects.update(is_superuser=True, is_staff=True)
    return client


def test_the_page_offers_each_break_and_says_that_nothing_is_broken(administrator):
    text = administrator.get(PAGE).text

    assert [text.count(f'name="kind" value="{kind}"') for kind in Kind] == [1] * 4
    assert "Nothing has been broken yet" in text
    assert f'href="{PAGE}"' in administrator.get("/").text


def test_a_break_begins_once_and_is_watched(administrator, demo):
    _, up = demo

    answer = administrator.post(BREAK, {"kind": "worker"}, follow=True)
    refused = administrator.post(BREAK, {"kind": "scheduler"}, follow=True)

    assert "A worker is killed: begun. It ends by itself." in answer.text
    assert 'id="break-state"' in answer.text
    assert "is under way until" in refused.text
    assert " disabled " in answer.text
    assert AuditEntry.objects.get(action=breaks.BROKEN).actor.startswith("user:")
    assert len(up.asked) == 2


def test_the_end_of_a_break_says_that_nothing_is_lost(administrator, demo):
    tenant, up = demo
    first = database_now().replace(microsecond=0) - timedelta(seconds=60)
    tasks = note_break(tenant, Kind.SCHEDULER, first)
    runs = [ended(task, first + timedelta(seconds=n)) for n in range(2) for task in tasks]
    up.struck(first + timedelta(seconds=1), back=first + timedelta(seconds=2), kind="scheduler")
    up.arrived(*[(run.id, 1, 1, 1) for run in runs])

    text = administrator.get(PAGE).text

    assert "Nothing lost, nothing doubled: 4 of 4 instants ran." in text
    assert "scheduler-1 (pid 41) was killed" in text
    assert " disabled " not in text


@pytest.mark.parametrize("kind", ["", "postgresql"])
def test_what_cannot_be_broken_is_refused(administrator, demo, kind):
    assert (
        "Choose one of receiver-fails"
        in administrator.post(BREAK, {"kind": kind}, follow=True).text
    )
    assert demo[1].asked == []


def test_an_up_that_does_not_answer_is_said(administrator, demo):
    demo[1].error = Unavailable("The supervisor of `up` does not answer. Try again.")

    text = administrator.post(BREAK, {"kind": "worker"}, follow=True).text

    assert "does not answer" in text
    assert breaks.last_of(demo[0].id) is None


def test_an_owner_who_is_not_the_administrator_is_refused(browser, demo):
    client = browser(demo[0], role="owner")

    assert client.get(PAGE).status_code == 403
    assert "administrator" in client.post(BREAK, {"kind": "worker"}, follow=True).text
    assert f'href="{PAGE}"' not in client.get("/").text
    assert demo[1].asked == []


def test_without_the_demo_there_is_no_such_page(administrator, demo, settings):
    settings.DEMO = False

    assert administrator.get(PAGE).status_code == 404
    assert (
        "There is no demo here" in administrator.post(BREAK, {"kind": "worker"}, follow=True).text
    )
    assert f'href="{PAGE}"' not in administrator.get("/").text
    assert f'href="{PAGE}"' not in administrator.get("/system").text
    assert demo[1].asked == []


def test_another_tenant_and_another_machine_find_nothing(browser, demo, alpha):
    client = browser(alpha, role="owner")
    User.objects.update(is_superuser=True)

    assert client.get(PAGE).status_code == 404
    assert client.get(PAGE, REMOTE_ADDR="192.0.2.7").status_code == 404
    client.post(BREAK, {"kind": "worker"}, REMOTE_ADDR="192.0.2.7")
    assert demo[1].asked == []
