"""Standing pauses on the console: what is open, a new one after its count, and the end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from executions.loop.clocks import database_now
from tasks.models import Pause
from tests.dashboard.asking import HOSTILE, audited, is_escaped, queries_for, said, user_of
from tests.executions.changes.changes import pause as pause_alone
from tests.executions.changes.standing import end, stand
from tests.factories import daily, make_task, reload

FORM = {
    "scope": "label",
    "value": "team:billing",
    "hours": "",
    "until": "",
    "note": "",
    "on_resume": "skip",
}


def test_open_pauses_are_shown_with_what_each_holds(browser, alpha, beta):
    tasks = [make_task(alpha, daily(name=f"Report {number}")) for number in range(7)]
    stand(alpha, note="Down.", until=database_now() + timedelta(hours=2))
    stand(beta, "tenant", "")

    answer = browser(alpha).get("/pauses")

    assert answer.status_code == 200
    [row] = answer.context["rows"]
    assert (row["covers"], row["task_count"], row["more"]) == ("the label team:billing", 7, 2)
    assert [one["id"] for one in row["tasks"]] == [task.id for task in tasks[:5]]
    assert "Down." in answer.text
    assert "whole tenant</strong>" not in answer.text


def test_a_page_without_pauses_says_what_they_are_for(browser, alpha):
    made = stand(alpha, note="Was down.")
    end(made)

    answer = browser(alpha).get("/pauses")

    assert "No pause is open" in answer.text
    assert "Ended lately" in answer.text
    assert "Was down." in answer.text


def test_the_form_counts_first_and_nothing_has_happened_yet(browser, alpha):
    task = make_task(alpha)

    answer = browser(alpha).get("/pauses", {**FORM, "note": "INC-42", "hours": "8"})

    assert answer.context["reach"]["task_count"] == 1
    assert "1 task of the label team:billing" in answer.text
    assert 'name="hours" value="8"' in answer.text
    assert reload(task).status == "SCHEDULED"
    assert not Pause.objects.exists()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"value": ""}, "Say which label."),
        ({"scope": "tenant"}, "has no value"),
        ({"scope": "destination", "value": "https://x.example.com/"}, "Give the host"),
        ({"scope": "task"}, "Choose the scope anew."),
        ({"hours": "7"}, "Choose the hours anew."),
        ({"until": "someday"}, "is not understood"),
        ({"on_resume": "x"}, "Choose the on resume anew."),
        ({"value": "taken"}, "is open already"),
    ],
)
def test_a_form_that_makes_no_sense_is_shown_again_with_the_reason(browser, alpha, fields, problem):
    stand(alpha, "label", "taken")

    answer = browser(alpha).get("/pauses", {**FORM, **fields})

    assert answer.status_code == 200
    assert problem in answer.text
    assert answer.context["reach"] is None


def test_a_pause_is_made_with_what_the_form_says(browser, alpha):
    task = make_task(alpha)
    client = browser(alpha, role="operator")
    fields = {**FORM, "value": " team:billing ", "note": "INC-42", "hours": "8"}
    fields["on_resume"] = "run_once"

    text = said(client, "/pauses/create", fields, "/pauses")

    assert text == "Paused 1 task of the label team:billing. Running executions continue."
    made = Pause.objects.get()
    assert (made.note, made.on_resume, made.created_by) == ("INC-42", "run_once", user_of(client))
    assert made.until is not None
    left = made.until - database_now()
    assert timedelta(hours=7) < left <= timedelta(hours=8)
    assert reload(task).pause_id == made.id
    assert audited(alpha) == [("pause.created", user_of(client))]


def test_a_pause_until_a_time_shows_its_end_before_it_is_made(browser, alpha):
    make_task(alpha)
    client = browser(alpha, role="operator")
    client.cookies["punctual_zone"] = "Europe/Berlin"
    fields = {**FORM, "until": "2126-12-02 9:00"}

    text = client.get("/pauses", fields).text
    said(client, "/pauses/create", fields, "/pauses")

    assert "Mon 2126-12-02 09:00:00" in text
    assert Pause.objects.get().until == datetime(2126, 12, 2, 8, tzinfo=UTC)


@pytest.mark.parametrize("fields", [{"value": ""}, {"hours": "7"}, {"note": "x" * 1001}])
def test_what_is_refused_is_said_and_nothing_changes(browser, alpha, fields):
    said(browser(alpha), "/pauses/create", {**FORM, **fields}, "/pauses")

    assert not Pause.objects.exists()


def test_ending_a_pause_lets_its_tasks_go(browser, alpha):
    task = make_task(alpha)
    made = stand(alpha)
    client = browser(alpha)

    assert said(client, f"/pauses/{made.id}/end", {}, "/pauses") == "Ended. It held 1 task."

    assert reload(task).status == "SCHEDULED"
    assert "already" in said(client, f"/pauses/{made.id}/end", {}, "/pauses")


def test_other_tenants_pauses_are_not_ended(browser, alpha, beta):
    made = stand(beta)

    said(browser(alpha), f"/pauses/{made.id}/end", {}, "/pauses")

    assert Pause.objects.open().get() == made


def test_a_viewer_sees_pauses_and_no_buttons(browser, alpha):
    made = stand(alpha)
    client = browser(alpha, role="viewer")

    page = client.get("/pauses").text

    assert "the label team:billing" in page.lower()
    assert "New pause" not in page
    assert f"/pauses/{made.id}/end" not in page
    assert client.post("/pauses/create", FORM).status_code == 403
    assert client.post(f"/pauses/{made.id}/end").status_code == 403


def test_hostile_text_stays_text(browser, alpha):
    make_task(alpha, daily(name=HOSTILE[:200]))
    stand(alpha, "label", HOSTILE, note=HOSTILE)
    stand(alpha, "tenant", "")

    assert is_escaped(browser(alpha).get("/pauses", {**FORM, "value": HOSTILE}))


def test_a_page_costs_as_many_queries_whatever_it_shows(browser, alpha):
    client = browser(alpha)
    make_task(alpha)
    stand(alpha, "label", "a")
    few = queries_for(client, "/pauses")

    for name in "bcdef":
        make_task(alpha, daily(labels={name: "x"}))
        stand(alpha, "label", name)

    assert queries_for(client, "/pauses") == few


# --- the pages of tasks that are held --------------------------------------------------------


def test_a_held_task_says_by_what_and_links_there_instead_of_resuming(browser, alpha):
    task = make_task(alpha)
    stand(alpha, note="INC-42")

    page = browser(alpha).get(f"/tasks/{task.id}").text

    assert 'Held by the <a href="/pauses">standing pause of the label team:billing</a>' in page
    assert "INC-42" in page
    assert f"/tasks/{task.id}/resume" not in page
    assert f"/tasks/{task.id}/pause" in page


def test_a_task_with_a_pause_of_its_own_offers_to_resume(browser, alpha):
    task = make_task(alpha)
    pause_alone(task)

    page = browser(alpha).get(f"/tasks/{task.id}").text

    assert f"/tasks/{task.id}/resume" in page
    assert "Held by" not in page


def test_resuming_says_when_a_standing_pause_takes_over(browser, alpha):
    task = make_task(alpha)
    pause_alone(task)
    stand(alpha)

    text = said(browser(alpha), f"/tasks/{task.id}/resume", {}, f"/tasks/{task.id}")

    assert text == "Its own pause has ended; a standing pause holds it now."


def test_resuming_a_held_task_names_the_pause(browser, alpha):
    task = make_task(alpha)
    made = stand(alpha)

    text = said(browser(alpha), f"/tasks/{task.id}/resume", {}, f"/tasks/{task.id}")

    assert str(made.id) in text
