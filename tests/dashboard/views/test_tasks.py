"""The list of tasks, one task, and its buttons."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from executions.changes import changing
from executions.external.pools import change_pool
from executions.loop.clocks import database_now
from executions.models import Execution
from tasks.choices import TaskStatus
from tasks.models import Task
from tasks.transitions import Pause
from tests.dashboard.asking import HOSTILE, audited, is_escaped, queries_for, said, user_of
from tests.factories import (
    ACTOR,
    daily,
    every_second,
    finish,
    make_dead_letter,
    make_task,
    once,
    prepare,
    release,
    reload,
    spoil,
)

ACTIONS = ("run", "pause", "resume", "cancel", "delete", "rollback")
SECRET = "Bearer s3cr3t-of-the-receiver"


def test_tasks_are_listed_with_schedule_and_latest_runs(browser, alpha):
    task = make_task(alpha, once(name="Nightly invoice", labels={"team": "a:b c"}))
    prepare()
    finish(release()[0])

    answer = browser(alpha).get("/tasks")

    assert answer.status_code == 200
    assert f'id="row-{task.pk}"' in answer.text
    assert "?label=team%3Aa%3Ab%20c" in answer.text
    assert len(answer.context["rows"][0]["strip"]) == 1


def test_an_owner_is_shown_and_leads_to_the_tasks_of_the_owner(browser, alpha):
    task = make_task(
        alpha, daily(name="Mine", owner="ops+x@example.com", payload=None, payload_ref="s3://x")
    )
    make_task(alpha, daily(name="Other"))
    client = browser(alpha)

    listed = client.get("/tasks?owner=ops%2Bx@example.com")
    shown = client.get(f"/tasks/{task.pk}")

    assert [row["name"] for row in listed.context["rows"]] == ["Mine"]
    assert "?owner=ops%2Bx%40example.com" in listed.text
    assert "?owner=ops%2Bx%40example.com" in shown.text
    assert "s3://x" in shown.text


def test_a_task_whose_payload_no_key_opens_is_listed_and_its_pages_say_so(browser, alpha):
    letter = make_dead_letter(alpha, once(name="Spoiled"))
    spoil(Task.objects.get(pk=letter.task_id))
    lists = ("/tasks", "/dead-letters", "/executions")
    pages = (
        f"/tasks/{letter.task_id}",
        f"/dead-letters/{letter.pk}",
        f"/executions/{letter.execution_id}",
    )

    listed, shown = ([browser(alpha).get(path) for path in paths] for paths in (lists, pages))

    assert [answer.status_code for answer in listed] == [200, 200, 200]
    assert "Spoiled" in listed[0].text
    for answer in shown:
        assert (answer.status_code, "ENCRYPTION_KEYS" in answer.text) == (200, True)


def test_an_empty_list_says_how_to_begin(browser, alpha):
    answer = browser(alpha).get("/tasks")

    assert "No tasks yet" in answer.text
    assert "/tasks/new?example=1" in answer.text
    assert "/tasks/new" not in browser(alpha, role="viewer").get("/tasks").text


@pytest.mark.parametrize(
    "query", ["q=nowhere", "status=PAUSED", "type=ONE_TIME", "label=team:other"]
)
def test_a_filter_that_matches_nothing_says_so(browser, alpha, query):
    make_task(alpha, daily())

    answer = browser(alpha).get(f"/tasks?{query}")

    assert "No task matches" in answer.text
    assert answer.context["rows"] == []


@pytest.mark.parametrize(
    "query", ["q=daily", "status=PAUSED,SCHEDULED", "type=RECURRING", "label=team:billing", "q="]
)
def test_a_filter_keeps_what_it_matches(browser, alpha, query):
    make_task(alpha, daily())

    assert len(browser(alpha).get(f"/tasks?{query}").context["rows"]) == 1


def test_other_tenants_tasks_are_neither_listed_nor_shown(browser, alpha, beta):
    task = make_task(beta, daily(name="Of beta"))
    client = browser(alpha)

    assert "Of beta" not in client.get("/tasks").text
    assert client.get(f"/tasks/{task.pk}").status_code == 404
    assert client.get(f"/tasks/{uuid4()}").status_code == 404


@pytest.mark.parametrize("action", ACTIONS)
def test_nothing_is_done_with_other_tenants_tasks(browser, alpha, beta, action):
    task = make_task(beta, daily())

    message = said(browser(alpha), f"/tasks/{task.pk}/{action}", {"version": "1"}, "/tasks")

    assert "no such" in message
    assert reload(task).status == TaskStatus.SCHEDULED
    assert not Execution.objects.filter(task=task).exists()


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_a_role_sees_and_may_only_what_belongs_to_it(browser, alpha, role, action):
    task = make_task(alpha, daily())
    client = browser(alpha, role=role)
    allowed = role == "operator" and action not in ("delete", "rollback")
    shown = client.get(f"/tasks/{task.pk}").text

    assert client.post(f"/tasks/{task.pk}/{action}").status_code == (302 if allowed else 403)
    if not allowed:
        assert f"/tasks/{task.pk}/{action}" not in shown


def test_a_viewer_sees_no_form_that_changes_a_task(browser, alpha):
    task = make_task(alpha, daily())
    text = browser(alpha, role="viewer").get(f"/tasks/{task.pk}").text

    assert text.count('method="post"') == 1  # signing out
    assert f"/tasks/{task.pk}/edit" not in text


def test_a_task_is_paused_and_resumed_by_its_buttons(browser, alpha):
    task, client = make_task(alpha, daily()), browser(alpha, role="operator")
    path = f"/tasks/{task.pk}"

    message = said(
        client, f"{path}/pause", {"hours": "8", "note": "down", "on_resume": "skip"}, path
    )
    assert message.startswith("Paused. No execution of this task starts until ")
    paused = reload(task)
    assert (paused.status, paused.pause_note) == (TaskStatus.PAUSED, "down")
    assert paused.paused_until is not None
    assert "down" in client.get(path).text

    assert said(client, f"{path}/resume", back=path) == "Resumed."
    assert reload(task).status == TaskStatus.SCHEDULED
    assert audited(alpha) == [("task.paused", user_of(client)), ("task.resumed", user_of(client))]


def test_a_task_is_paused_until_a_time_on_the_viewers_clock(browser, alpha):
    task, client = make_task(alpha, daily()), browser(alpha, role="operator")
    client.cookies["punctual_zone"] = "Europe/Berlin"
    path = f"/tasks/{task.pk}"

    message = said(client, f"{path}/pause", {"until": "2126-12-02 9:00"}, path)

    assert "until Mon 2126-12-02 09:00:00 CET" in message
    assert reload(task).paused_until == datetime(2126, 12, 2, 8, tzinfo=UTC)


def test_a_task_of_cron_shows_its_rule_for_changed_clocks_and_the_next_days(browser, alpha):
    schedule = {"cron_expression": "30 2 * * *", "timezone": "Europe/Berlin", "dst_gap": "skip"}
    task = make_task(alpha, daily(schedule=schedule))

    text = browser(alpha).get(f"/tasks/{task.pk}").text

    assert "When the clocks skip its time: skip it." in text
    assert "the clocks skip 02:00 to 03:00. The run of that time is left out." in text
    assert "02:00 to 03:00 occurs twice. It runs the first time only" in text


def test_running_now_leads_to_the_new_execution(browser, alpha):
    task, client = make_task(alpha, daily()), browser(alpha)

    answer = client.post(f"/tasks/{task.pk}/run", {"payload": '{"n": 2}', "payload_before": "1"})

    execution = Execution.objects.get(task=task)
    assert answer.url == f"/executions/{execution.pk}"
    assert '"n": 2' in client.get(answer.url).context["payload_text"]
    assert audited(alpha) == [("task.run", user_of(client))]


def test_running_now_continues_the_trace_of_the_page(browser, alpha):
    task, client = make_task(alpha, daily()), browser(alpha)

    answer = client.post(f"/tasks/{task.pk}/run", {"payload": "1", "payload_before": "1"})

    assert Execution.objects.get(task=task).trace_context == f"{answer['X-Trace-Id']}-01"


def test_cancelling_and_deleting_end_a_task(browser, alpha):
    task, client = make_task(alpha, daily()), browser(alpha)

    said(client, f"/tasks/{task.pk}/cancel", back=f"/tasks/{task.pk}")
    assert reload(task).status == TaskStatus.CANCELLED
    assert said(client, f"/tasks/{task.pk}/delete").startswith("Deleted.")
    assert reload(task).deleted_at is not None
    assert client.get("/tasks").context["rows"] == []
    assert [action for action, _ in audited(alpha)] == ["task.cancelled", "task.deleted"]


def test_an_earlier_version_is_brought_back_as_a_new_one(browser, alpha):
    task, client = make_task(alpha, daily(name="First")), browser(alpha)
    fields = {**client.get(f"/tasks/{task.pk}/edit").context["fields"], "name": "Second"}
    said(client, f"/tasks/{task.pk}/edit", fields)
    assert reload(task).name == "Second"

    message = said(client, f"/tasks/{task.pk}/rollback", {"version": "1"}, f"/tasks/{task.pk}")

    assert message.startswith("Version 1 is in force again")
    assert (reload(task).name, reload(task).version) == ("First", 3)


@pytest.mark.parametrize(
    ("action", "fields", "message"),
    [
        ("resume", {}, None),
        ("pause", {"hours": "9999"}, "Choose the hours anew."),
        ("pause", {"until": "yesterday"}, "A pause cannot end in the past."),
        ("pause", {"on_resume": "sing"}, "Choose one of skip, run_once, replay."),
        ("pause", {"note": "a\0b"}, "Note: Must not contain NUL characters or lone surrogates."),
        ("run", {"payload": "{", "payload_before": ""}, "Payload: This is not JSON"),
        ("run", {"payload": '"\\u0000"'}, "Payload: Must not contain NUL"),
        ("run", {"payload": f'"{"x" * 300000}"'}, "The payload is 300002 bytes"),
        ("rollback", {"version": "7"}, "There is no such version."),
        ("rollback", {"version": "9" * 5000}, "Choose one of the versions."),
        ("rollback", {"version": "٣"}, "Choose one of the versions."),
        ("run", {"form_key": "\0" * 70}, None),
    ],
)
def test_what_is_refused_is_a_message_and_changes_nothing(browser, alpha, action, fields, message):
    task, client = make_task(alpha, daily()), browser(alpha)

    found = said(client, f"/tasks/{task.pk}/{action}", fields, "/tasks")

    assert found.startswith(message or "")
    assert reload(task).status == TaskStatus.SCHEDULED
    if message:
        assert audited(alpha) == []


def test_a_cancelled_task_is_not_resumed(browser, alpha):
    task, client = make_task(alpha, daily()), browser(alpha)
    said(client, f"/tasks/{task.pk}/cancel", back="/tasks")

    message = said(client, f"/tasks/{task.pk}/resume", back="/tasks")

    assert message == "A task that is CANCELLED cannot be resumed."


def test_a_form_sent_twice_runs_a_task_once(browser, alpha):
    task, client = make_task(alpha, daily()), browser(alpha)

    places = [client.post(f"/tasks/{task.pk}/run", {"form_key": "k"})["Location"] for _ in range(2)]

    assert places[0] == places[1]
    assert Execution.objects.filter(task=task).count() == 1


def test_hostile_names_labels_and_payloads_are_shown_as_text(browser, alpha):
    task = make_task(
        alpha,
        daily(name=HOSTILE, labels={HOSTILE: HOSTILE}, payload={"x": HOSTILE}),
    )
    client = browser(alpha)

    for path in ("/tasks", f"/tasks/{task.pk}", f"/tasks?label={HOSTILE}", f"/tasks?q={HOSTILE}"):
        assert is_escaped(client.get(path)), path


def test_the_value_of_a_secret_header_is_on_no_page(browser, alpha):
    target = {"url": "https://api.example.com/r", "headers": {"Authorization": SECRET, "X-A": "1"}}
    task = make_task(alpha, daily(target=target))
    client = browser(alpha)

    for path in (
        "/tasks",
        f"/tasks/{task.pk}",
        f"/tasks/{task.pk}/edit",
        f"/tasks/new?copy={task.pk}",
    ):
        assert SECRET not in client.get(path).text


def test_the_payload_stands_on_the_page_of_the_task_only(browser, alpha):
    task = make_task(alpha, daily(payload={"canary": "in-a-coal-mine"}))
    client = browser(alpha)

    assert "in-a-coal-mine" in client.get(f"/tasks/{task.pk}").text
    assert "in-a-coal-mine" not in client.get("/tasks").text


@pytest.mark.parametrize(
    "query",
    ["status=NONE", "type=x", "cursor=nonsense", "limit=0", "limit=x", "q=%00", f"q={'x' * 201}",
     "label=%00", "limit=5&limit=6", "cursor=%00"],
)  # fmt: skip
def test_a_bad_query_is_a_page_that_says_so(browser, alpha, query):
    make_task(alpha, daily())

    assert browser(alpha).get(f"/tasks?{query}").status_code == 400


def test_the_next_fires_stand_on_the_page(browser, alpha):
    task = make_task(alpha, daily())
    client = browser(alpha)

    client.cookies["punctual_zone"] = "Asia/Tokyo"
    answer = client.get(f"/tasks/{task.pk}")

    assert len(answer.context["fires"]) == 10
    # On the visitor's clock, and beside it on the task's.
    assert answer.text.count(' <span class="zone">JST</span></time> <small') == 10
    assert len(re.findall(r"\((\S+ )?08:00:00 CES?T\)", answer.text)) == 10
    said(client, f"/tasks/{task.pk}/cancel", back="/tasks")
    assert client.get(f"/tasks/{task.pk}").context["fires"] == []


def test_a_paused_task_promises_no_fire_before_its_pause_ends(browser, alpha):
    task = make_task(alpha, every_second())
    client = browser(alpha)
    changing.pause_task(alpha.pk, task.pk, Pause(), actor=ACTOR)

    text = client.get(f"/tasks/{task.pk}").text

    assert "No fires until the task is resumed." in text
    assert "The first run comes" not in text

    changing.resume_task(alpha.pk, task.pk, actor=ACTOR)
    until = database_now() + timedelta(days=2)
    changing.pause_task(alpha.pk, task.pk, Pause(until=until), actor=ACTOR)

    answer = client.get(f"/tasks/{task.pk}")

    assert len(answer.context["fires"]) == 10
    assert all(fire["at"] > until for fire in answer.context["fires"])
    assert "after the pause" in answer.text


def test_a_task_of_a_paused_pool_promises_no_first_run(browser, alpha):
    change_pool(alpha.pk, "batch", {"paused": True}, actor=ACTOR)
    target = {"kind": "pool", "pool": "batch", "handler": "make_invoice"}
    task = make_task(alpha, every_second(target=target))
    client = browser(alpha, role="viewer")

    text = client.get(f"/tasks/{task.pk}").text

    assert "The first run comes" not in text
    assert "Due runs wait until the pool is resumed." in text
    change_pool(alpha.pk, "batch", {"paused": False}, actor=ACTOR)
    assert "Due runs wait" not in client.get(f"/tasks/{task.pk}").text


def test_prepared_fires_are_among_those_that_are_left(browser, alpha):
    task = make_task(alpha, every_second(schedule={"every": "PT5S", "max_occurrences": 5}))
    prepare()
    assert reload(task).occurrence_count > 0

    fires = browser(alpha).get(f"/tasks/{task.pk}").context["fires"]

    assert len(fires) == 5 - Execution.objects.filter(scheduled_for__lte=fires[0]["at"]).count() + 1


def test_no_more_fires_are_promised_than_are_left(browser, alpha):
    schedule = {"cron_expression": "0 8 * * *", "max_occurrences": 3}
    task = make_task(alpha, daily(schedule=schedule))

    assert len(browser(alpha).get(f"/tasks/{task.pk}").context["fires"]) == 3


def test_a_page_of_tasks_costs_the_same_for_one_row_and_for_twenty(browser, alpha):
    client = browser(alpha)
    make_task(alpha, every_second())
    prepare()
    for_one = queries_for(client, "/tasks")
    for _ in range(19):
        make_task(alpha, daily())

    assert queries_for(client, "/tasks") == for_one <= 20


def test_what_is_prepared_for_later_is_a_next_fire_and_no_latest_run(browser, alpha):
    later = make_task(alpha, once(database_now() + timedelta(seconds=10), name="Later"))
    due = make_task(alpha, once(name="Due"))
    prepare()
    client = browser(alpha)

    assert Execution.objects.filter(task_id=later.pk).exists()
    assert client.get(f"/tasks/{later.pk}").context["runs"] == []
    assert len(client.get(f"/tasks/{due.pk}").context["runs"]) == 1
