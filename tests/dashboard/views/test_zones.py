"""The page of the zone database: what has moved, of this tenant only."""

from __future__ import annotations

from executions.loop.clocks import database_now
from tasks.schedules.zones import release
from tests.dashboard.asking import HOSTILE, is_escaped
from tests.factories import daily, make_task
from tests.support.zone_moves import move_of


def test_without_a_move_the_page_says_what_would_be_here(browser, alpha):
    text = browser(alpha, role="viewer").get("/settings/zones").text

    assert "No task has moved" in text
    assert release() in text


def test_moves_are_listed_with_the_task_and_both_times(browser, alpha):
    task = make_task(alpha, daily())
    move_of(task)

    text = browser(alpha).get("/settings/zones").text

    assert f"/tasks/{task.id}" in text
    assert "2027-10-31 06:00:00" in text
    assert "2026.5 to 2026.6" in text


def test_a_deleted_task_is_named_without_a_link(browser, alpha):
    task = make_task(alpha, daily())
    move_of(task)
    task.deleted_at = database_now()
    task.save()

    text = browser(alpha).get("/settings/zones").text

    assert "(deleted)" in text
    assert f"/tasks/{task.id}" not in text


def test_a_hostile_name_is_text(browser, alpha):
    move_of(make_task(alpha, daily(name=HOSTILE)))

    assert is_escaped(browser(alpha).get("/settings/zones"))


def test_another_tenants_moves_are_not_shown(browser, alpha, beta):
    move_of(make_task(beta, daily()))

    assert "No task has moved" in browser(alpha).get("/settings/zones").text
