"""The list of executions, one execution, and its buttons."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qsl, quote

import pytest

from executions.choices import Status
from executions.loop.clocks import database_now
from executions.models import Attempt, BulkJob, DeadLetter, Execution
from shared.conf import conf
from shared.duration_words import duration_text
from tests.dashboard.asking import HOSTILE, audited, is_escaped, queries_for, said, user_of
from tests.dashboard.kinds import HOSTILE_LOG, allow, started, task_of
from tests.executions.bulk.bulk import run_job
from tests.executions.leasing import accepted, call
from tests.factories import finish, make_client, make_execution, make_task, once, prepare, release
from tests.support.command_calls import call as call_command

NOWHERE = "00000000-0000-4000-8000-000000000000"
SECRET = "Bearer s3cr3t-of-the-receiver"
STATES = ["PENDING", "QUEUED", "RUNNING", "RETRYING", "SUCCEEDED", "FAILED", "CANCELLED"]


@pytest.mark.parametrize("status", STATES)
def test_an_execution_of_every_state_is_listed_and_shown(browser, alpha, status):
    execution = make_execution(alpha, status)
    client = browser(alpha)

    assert f'id="row-{execution.pk}"' in client.get("/executions").text
    shown = client.get(f"/executions/{execution.pk}")
    assert shown.status_code == 200
    assert shown.context["execution"]["status"] == status


def test_an_empty_window_says_what_belongs_here(browser, alpha):
    assert "Nothing ran in this window" in browser(alpha).get("/executions").text
    assert "/tasks/new" not in browser(alpha, role="viewer").get("/executions").text


@pytest.mark.parametrize("query", ["status=SKIPPED", "q=nowhere", f"task={NOWHERE}"])
def test_a_filter_that_matches_nothing_says_so(browser, alpha, query):
    make_execution(alpha)

    answer = browser(alpha).get(f"/executions?{query}")

    assert "No execution matches" in answer.text


def test_filters_keep_what_they_match(browser, alpha):
    execution = make_execution(alpha, "FAILED", once(name="Invoice"))
    make_execution(alpha, "SUCCEEDED", once(name="Report"))
    client = browser(alpha)

    for query in ("status=FAILED", "q=invoice", f"task={execution.task_id}&window=1h"):
        [row] = client.get(f"/executions?{query}").context["rows"]
        assert row["id"] == str(execution.pk)


def test_the_window_leaves_out_what_is_older(browser, alpha):
    make_execution(alpha, "SUCCEEDED", once(database_now() - timedelta(hours=2)))
    client = browser(alpha)

    assert client.get("/executions?window=1h").context["rows"] == []
    assert len(client.get("/executions").context["rows"]) == 1


def test_lists_of_this_moment_have_no_window_and_say_how_many_they_are(browser, alpha):
    make_execution(alpha, "FAILED")
    make_execution(alpha, "RUNNING")
    due = make_execution(alpha)
    Execution.objects.filter(pk=due.pk).update(due_at=database_now() - timedelta(days=9))
    client = browser(alpha)

    for query, status, words in (
        ("due=now", "PENDING", "due now"),
        ("due=late", "PENDING", "late by over 1 s"),
        ("status=FAILED&ended=last_hour", "FAILED", "ended in the last hour"),
        ("status=RUNNING&window=any", "RUNNING", ""),
    ):
        answer = client.get(f"/executions?{query}")

        [row] = answer.context["rows"]
        assert row["status"] == status
        assert f"Executions {words}".strip() in answer.text
        assert answer.context["pagination"]["total"] == 1
        assert "since=" not in answer.context["look"].call
        assert ("due=" in answer.context["look"].call) == ("due=" in query)


def test_what_a_backfill_made_stands_in_the_list_at_the_time_at_which_it_was_made(browser, alpha):
    at = database_now() - timedelta(days=9)
    before = make_execution(alpha, "SUCCEEDED")
    made = make_execution(alpha, "SUCCEEDED")
    Execution.objects.filter(pk=made.pk).update(scheduled_for=at)
    after = make_execution(alpha, "SUCCEEDED")
    client = browser(alpha)

    rows = client.get("/executions").context["rows"]
    [run] = client.get(f"/tasks/{made.task_id}").context["runs"]

    assert [row["id"] for row in rows] == [str(one.pk) for one in (after, made, before)]
    assert [row["at"] for row in rows] == sorted((row["at"] for row in rows), reverse=True)
    assert [bool(row["stands_for"]) for row in rows] == [False, True, False]
    assert run["stands_for"] == rows[1]["scheduled_for"]


def test_other_tenants_executions_are_neither_listed_nor_shown(browser, alpha, beta):
    execution = make_execution(beta, "FAILED", once(name="Of beta"))
    client = browser(alpha)

    assert "Of beta" not in client.get(f"/executions?task={execution.task_id}").text
    assert client.get(f"/executions/{execution.pk}").status_code == 404
    for action in ("cancel", "retry"):
        assert "no such" in said(client, f"/executions/{execution.pk}/{action}")
    assert Execution.objects.filter(tenant=beta).count() == 1


@pytest.mark.parametrize(("status", "action"), [("PENDING", "cancel"), ("FAILED", "retry")])
def test_a_viewer_sees_no_button_and_may_not_act(browser, alpha, status, action):
    execution = make_execution(alpha, status)
    client = browser(alpha, role="viewer")
    path = f"/executions/{execution.pk}"

    assert f"{path}/{action}" not in client.get(path).text
    assert "data-pick" not in client.get("/executions").text
    assert client.post(f"{path}/{action}").status_code == 403


def test_an_execution_is_cancelled_by_its_button(browser, alpha):
    execution, client = make_execution(alpha), browser(alpha, role="operator")

    assert said(client, f"/executions/{execution.pk}/cancel") == "Cancelled."

    execution.refresh_from_db()
    assert execution.status == Status.CANCELLED
    assert audited(alpha) == [("execution.cancelled", user_of(client))]


def test_cancelling_what_runs_says_that_its_holder_is_told(browser, alpha):
    execution = make_execution(alpha, "RUNNING")

    message = said(browser(alpha), f"/executions/{execution.pk}/cancel")

    assert message == "Cancel requested. The worker is told to end it."


def test_a_retry_leads_to_the_new_execution_with_the_edited_payload(browser, alpha):
    execution, client = make_execution(alpha, "FAILED"), browser(alpha)

    answer = client.post(
        f"/executions/{execution.pk}/retry", {"payload": '{"n": 7}', "payload_before": "{}"}
    )

    made = Execution.objects.get(parent_id=execution.pk)
    assert answer.url == f"/executions/{made.pk}"
    shown = client.get(answer.url)
    assert '"n": 7' in shown.context["payload_text"]
    assert f"/executions/{execution.pk}" in shown.text
    assert audited(alpha) == [("execution.retried", user_of(client))]


@pytest.mark.parametrize(
    ("status", "action", "fields"),
    [
        ("SUCCEEDED", "cancel", {}),
        ("PENDING", "retry", {}),
        ("FAILED", "retry", {"payload": "not json"}),
    ],
)
def test_what_is_refused_is_a_message_and_changes_nothing(browser, alpha, status, action, fields):
    execution, client = make_execution(alpha, status), browser(alpha)

    assert said(client, f"/executions/{execution.pk}/{action}", fields)

    execution.refresh_from_db()
    assert execution.status == status
    assert audited(alpha) == []


def test_a_form_sent_twice_retries_once(browser, alpha):
    execution, client = make_execution(alpha, "FAILED"), browser(alpha)

    for _ in range(2):
        client.post(f"/executions/{execution.pk}/retry", {"form_key": "k"})

    assert Execution.objects.filter(parent_id=execution.pk).count() == 1


def test_hostile_text_is_shown_as_text(browser, alpha):
    body = once(name=HOSTILE, payload={"x": HOSTILE}, labels={"a": HOSTILE})
    make_task(alpha, body)
    prepare()
    [row] = release()
    finish(row, "FAILED", reason="attempts_exhausted", error_message=HOSTILE)
    client = browser(alpha)

    for path in ("/executions", f"/executions/{row.id}", f"/executions?q={HOSTILE}"):
        assert is_escaped(client.get(path)), path


def test_the_value_of_a_secret_header_is_on_no_page(browser, alpha):
    target = {"url": "https://api.example.com/r", "headers": {"Authorization": SECRET}}
    execution = make_execution(alpha, "FAILED", once(target=target))
    client = browser(alpha)

    for path in ("/executions", f"/executions/{execution.pk}"):
        assert SECRET not in client.get(path).text


def test_the_call_to_copy_is_one_harmless_command(browser, alpha):
    hostile = "'; touch /tmp/owned; echo '&a=b#c"

    call = browser(alpha).get("/executions", {"q": hostile}).context["look"].call

    words = shlex.split(call)
    assert len(words) == 4
    assert words[3].startswith("http")
    assert "q=%27%3B+touch" in words[3]


@pytest.mark.parametrize(
    "query",
    ["status=NONE", "task=x", "window=2h", "due=soon", "ended=1h", "since=yesterday", "until=%00",
     "cursor=x", "limit=-1", "q=%00", "since=0000-01-01T00:00:00Z", "since=2026-13-01T00:00:00Z"],
)  # fmt: skip
def test_a_bad_query_is_a_page_that_says_so(browser, alpha, query):
    assert browser(alpha).get(f"/executions?{query}").status_code == 400


@pytest.mark.parametrize("query", ["since=1970-01-01T00:00:00Z", "until=9999-12-31T00:00:00Z"])
def test_far_away_times_are_no_error(browser, alpha, query):
    assert browser(alpha).get(f"/executions?{query}").status_code == 200


def test_a_page_of_executions_costs_the_same_for_one_row_and_for_twenty(browser, alpha):
    client = browser(alpha)
    make_execution(alpha, "FAILED")
    for_one = queries_for(client, "/executions")
    for _ in range(19):
        make_task(alpha, once())
    prepare()
    for row in release():
        finish(row)

    assert queries_for(client, "/executions") == for_one <= 24


@pytest.mark.parametrize("kind", ["webhook", "pool", "handler", "command"])
def test_every_kind_of_target_is_shown_in_every_state(browser, alpha, monkeypatch, kind):
    allow(monkeypatch, alpha)
    task = task_of(alpha, kind, payload={"report": 7})
    client = browser(alpha)
    path = f"/executions/{Execution.objects.get().pk}"

    assert client.get(path).status_code == 200
    assert client.get(f"/tasks/{task.pk}").status_code == 200
    execution = started(task, log=HOSTILE_LOG if kind in ("handler", "command") else None,
                        status="FAILED", reason="attempts_exhausted")  # fmt: skip
    answer = client.get(path)

    assert answer.context["called"].name in client.get(f"/tasks/{task.pk}").context["called"].name
    assert "report" in answer.text
    assert "s3cret" not in answer.text
    assert "s3cret" not in client.get(f"/tasks/{task.pk}").text
    letter = DeadLetter.objects.get(execution_id=execution.pk)
    page = client.get(f"/dead-letters/{letter.pk}")
    assert page.status_code == 200
    assert "report" in page.context["payload_text"]


def test_a_log_is_shown_as_text_that_steers_nothing(browser, alpha, monkeypatch):
    allow(monkeypatch, alpha)
    execution = started(task_of(alpha, "command"), log=HOSTILE_LOG, status="FAILED")

    answer = browser(alpha).get(f"/executions/{execution.pk}")

    assert answer.context["log"]["text"].startswith("red <script>")
    assert "exit code 3" in answer.text
    assert "\x1b" not in answer.text
    assert "\u202e" not in answer.text
    assert is_escaped(answer)
    assert f'href="/executions/{execution.pk}/log?attempt=1"' in answer.text


def test_a_run_at_its_receiver_shows_progress_and_until_when(browser, alpha):
    execution, token = accepted(alpha)
    call(execution.pk, "heartbeat", token, {"progress": {"done": "</pre><script>alert(1)"}})

    answer = browser(alpha).get(f"/executions/{execution.pk}")

    assert "It runs at the receiver" in answer.text
    assert "&lt;/pre&gt;&lt;script&gt;" in answer.text
    assert "</pre><script>" not in answer.text


def test_a_result_is_shown(browser, alpha):
    execution, token = accepted(alpha)
    call(execution.pk, "complete", token, {"result": {"rows": 42}})

    answer = browser(alpha).get(f"/executions/{execution.pk}")

    assert answer.context["result_text"] == '{\n  "rows": 42\n}'


def test_what_is_to_be_cancelled_says_when_it_has_ended_at_the_latest(browser, alpha):
    execution, _ = accepted(alpha)
    client = browser(alpha)

    said(client, f"/executions/{execution.pk}/cancel")
    answer = client.get(f"/executions/{execution.pk}")

    stay = answer.context["stay"]
    assert (stay.hard_end_at - stay.cancel_requested_at).total_seconds() == 30
    assert "It is to be cancelled" in answer.text


def test_lost_workers_are_counted(browser, alpha):
    execution = make_execution(alpha, "RUNNING")
    Execution.objects.filter(pk=execution.pk).update(lost_count=2)

    assert "2 workers lost on it" in browser(alpha).get(f"/executions/{execution.pk}").text


def test_a_log_that_no_key_opens_does_not_hide_the_execution(browser, alpha, monkeypatch):
    allow(monkeypatch, alpha)
    execution = started(task_of(alpha, "command"), log=b"fine", status="FAILED")
    Attempt.objects.filter(execution_id=execution.pk).update(sealed_response=b"\x01")

    answer = browser(alpha).get(f"/executions/{execution.pk}")

    assert answer.status_code == 200
    assert "It cannot be shown. This is not a sealed value" in answer.text
    whole = browser(alpha).get(f"/executions/{execution.pk}/log")
    assert whole.status_code == 409
    assert "It cannot be opened" in whole.text


def test_one_duration_is_told_at_every_door(browser, alpha):
    execution = make_execution(alpha, "RETRYING")
    due = database_now() - timedelta(seconds=30)
    Execution.objects.filter(pk=execution.pk).update(due_at=due)
    [row] = release()
    at = database_now()
    finish(
        row,
        started_at=at - timedelta(milliseconds=7.2),
        finished_at=at,
        timings='{"first_byte": 4.0, "total": 4.5}',
    )
    execution.refresh_from_db()
    shown = make_client(alpha).get(f"/v1/executions/{execution.pk}").json()
    text = browser(alpha).get(f"/executions/{execution.pk}").text
    said = call_command("executions", "show", str(execution.pk)).out

    last = shown["attempts"][-1]
    whole = duration_text(shown["duration_ms"])
    assert last["duration_ms"] == pytest.approx(7.2, abs=0.001)
    assert last["timings"]["total_ms"] == 4.5
    assert execution.finished_at == at
    assert execution.started_at is not None
    assert shown["duration_ms"] == pytest.approx(
        (at - execution.started_at).total_seconds() * 1000, abs=0.001
    )
    # The waterfall's row, the attempt's card, the stay in the path, the command.
    assert re.search(r'class="attempt-spent"[^>]*>7.2 ms<', text)
    assert re.search(r"</time>, 7.2 ms", text)
    assert re.search(r'class="edge-label[^>]*>7.2 ms<', text)
    assert " 7.2 ms " in said
    # The waterfall's summary, the facts, the command, the list.
    assert f"2 attempts in {whole} from the first start" in text
    assert f"<dt>Duration</dt><dd>{whole}</dd>" in text
    assert f"(took {whole})" in said
    assert f">{whole}</td>" in browser(alpha).get("/executions").text


def test_a_path_tells_no_time_that_began_when_the_row_was_prepared(browser, alpha):
    execution = make_execution(alpha, "SUCCEEDED")

    text = browser(alpha).get(f"/executions/{execution.pk}").text

    assert re.search(r"From pending to succeeded in \d moves\.", text)


def test_a_range_is_replayed_from_the_list_once_its_count_was_shown(browser, alpha):
    make_execution(alpha, "SUCCEEDED")
    client = browser(alpha, role="operator")
    query = "kind=executions&action=replay&since=2026-01-01T00:00:00Z&until=2099-01-01T00:00:00Z"

    shown = client.get(f"/bulk-jobs/new?{query}&label=")

    assert 'value="replay"' in client.get("/executions").text
    assert shown.context["scope"].count == 1
    assert "ten at a replay" in shown.text
    assert client.get("/bulk-jobs/new?kind=executions&action=replay&label=a").status_code == 400
    viewer = browser(alpha, role="viewer")
    assert 'value="replay"' not in viewer.get("/executions").text


def test_a_range_is_replayed_into_another_place_by_who_may_edit_tasks(browser, alpha):
    row = make_execution(alpha, "SUCCEEDED")
    client = browser(alpha, role="admin")
    url = "https://staging.example.com/in"
    query = "kind=executions&action=replay&since=2026-01-01T00:00:00Z&until=2099-01-01T00:00:00Z"
    asked = {**dict(parse_qsl(query)), "into_url": url, "into_pool": ""}

    shown = client.post("/bulk-jobs/new", asked)
    sent = {name: shown.context[name] for name in ("kind", "action")}
    sent |= {"filters": shown.context["filters_text"], "expected_count": "1", "into_url": url}
    client.post("/bulk-jobs/create", sent)

    assert f'name="into_url" value="{url}"' in shown.text
    assert 'name="into_pool"' in client.get("/executions").text
    run_job(BulkJob.objects.get())
    again = Execution.objects.get(parent_id=row.id)
    page = client.get(f"/executions/{again.id}").text
    assert "Replayed into" in page
    assert url in page
    assert "Replayed into" not in client.get(f"/executions/{row.id}").text
    unfit = client.get(f"/bulk-jobs/new?{query}&into_pool=staging").text
    assert "1, which is skipped" in unfit
    assert str(again.revision) not in client.get(f"/tasks/{row.task_id}").text

    # The address of a page stands in logs; and a refusal does not lead back to another scope.
    in_address = client.get(f"/bulk-jobs/new?{query}&into_url={quote(url, safe='')}")
    assert in_address.status_code == 400
    assert 'name="next" value="/executions"' in shown.text
    form = re.search(r"<form[^>]*/bulk-jobs/new[^>]*>", client.get("/executions").text)
    assert form
    assert 'method="post"' in form[0]

    operator = browser(alpha, role="operator")
    assert 'name="into_url"' not in operator.get("/executions").text
    assert operator.post("/bulk-jobs/new", asked).status_code == 403
    operator.post("/bulk-jobs/create", {**sent, "expected_count": "1"})
    assert BulkJob.objects.count() == 1


def test_the_page_links_to_the_trace_in_the_operators_tool(browser, alpha, settings):
    execution = make_execution(alpha, "SUCCEEDED")
    client = browser(alpha)
    path, url = f"/executions/{execution.pk}", f"https://traces.example/{execution.pk.hex}"
    assert f"<code>{execution.pk.hex}</code></dd>" in client.get(path).text

    settings.PUNCTUAL = replace(conf(), trace_url="https://traces.example/{trace_id}")

    link = f'<a href="{url}" rel="noreferrer noopener"><code>{execution.pk.hex}</code></a>'
    assert link in client.get(path).text


def test_the_filter_is_one_text_in_the_field_the_url_the_chips_and_the_call(browser, alpha):
    failed = make_execution(alpha, "FAILED", once(name="Invoice"))
    make_execution(alpha, "SUCCEEDED", once(name="Invoice"))
    client = browser(alpha)

    answer = client.get("/executions?filter=http:5xx&q=invoice&ordering=-delay")

    assert [row["id"] for row in answer.context["rows"]] == [str(failed.pk)]
    assert 'value="http:5xx invoice"' in answer.text
    assert "?ordering=-delay&amp;filter=http%3A5xx+invoice+status%3Afailed" in answer.text
    assert 'aria-label="Remove http:5xx"' in answer.text
    called = dict(parse_qsl(answer.context["look"].call.partition("?")[2].rstrip("'")))
    assert called["filter"] == "http:5xx"
    assert called["ordering"] == "-delay"
    assert client.get("/executions?add=http&value=5xx").url == "/executions?filter=http%3A5xx"


def test_a_filter_that_cannot_be_read_is_an_error_of_its_field(browser, alpha):
    make_execution(alpha, "FAILED")

    answer = browser(alpha).get("/executions?filter=status:faild")

    assert answer.status_code == 200
    assert answer.context["rows"] == []
    assert "Did you mean failed?" in answer.text
    assert 'aria-invalid="true" aria-describedby="filter-error"' in answer.text
    assert "The list was not read" in answer.text


def test_a_filter_by_time_takes_the_place_of_the_window(browser, alpha):
    old = make_execution(alpha, "SUCCEEDED", once(database_now() - timedelta(hours=2)))
    client = browser(alpha)

    answer = client.get("/executions?window=1h&filter=scheduled:-3h")

    assert [row["id"] for row in answer.context["rows"]] == [str(old.pk)]
    assert 'id="window"' not in answer.text
    assert "since=" not in answer.context["look"].call


def test_states_are_counted_beside_the_filter_and_not_anew_at_each_live_change(browser, alpha):
    for status in ("FAILED", "FAILED", "SUCCEEDED"):
        make_execution(alpha, status)
    client = browser(alpha)

    def counts(answer):
        return {chip.value: chip.count for chip in answer.context["statuses"] if chip.count}

    assert counts(client.get("/executions")) == {"FAILED": 2, "SUCCEEDED": 1}
    assert counts(client.get("/executions?filter=http:5xx+status:failed")) == {"FAILED": 2}
    assert counts(client.get("/executions", headers={"X-Live": "1"})) == {}
