"""Dead letters: groups by cause, single letters, and what is done with one."""

from __future__ import annotations

from uuid import uuid4

import pytest

from executions.dead_letters.letters import archive_dead_letter, resolve_dead_letter
from executions.models import DeadLetter, Execution
from insight.run_part import RunPart
from tests.dashboard.asking import HOSTILE, audited, is_escaped, queries_for, said, user_of
from tests.factories import ACTOR, finish, make_dead_letter, make_task, once, prepare, release
from tests.support.letters import make_letters

ACTIONS = ("retry", "resolve", "archive", "purge")


def test_open_letters_are_grouped_by_cause(browser, alpha):
    letters = make_letters(alpha, 3, tasks=1)

    answer = browser(alpha).get("/dead-letters")

    [group] = answer.context["groups"]
    assert (group["count"], group["error_signature"]) == (3, letters[0].error_signature)
    assert 'Retry <span data-number="cause.count">3</span>' in answer.text


def test_more_causes_than_the_page_shows_are_counted(browser, alpha, monkeypatch):
    monkeypatch.setattr("dashboard.views.dead_letters._GROUPS", 2)
    for place, letter in enumerate(make_letters(alpha, 4, tasks=1)):
        cause = f"cause-{min(place, 2)}"
        DeadLetter.objects.filter(pk=letter.pk).update(error_signature=cause)

    answer = browser(alpha).get("/dead-letters")

    counts = {name: answer.context[name] for name in ("letters", "causes", "more_causes")}
    assert counts == {"letters": 4, "causes": 3, "more_causes": 1}
    assert answer.context["groups"][0]["error_signature"] == "cause-2"
    assert "the 2 with the most letters" in answer.text


@pytest.mark.parametrize("query", ["view=letters", "q=once", "state=open&view=letters"])
def test_letters_are_listed_one_by_one(browser, alpha, query):
    letter = make_dead_letter(alpha)
    query = f"{query}&error_signature={letter.error_signature}"

    assert f'id="row-{letter.pk}"' in browser(alpha).get(f"/dead-letters?{query}").text


def test_the_empty_states_differ(browser, alpha):
    client = browser(alpha)

    assert "No open dead letters" in client.get("/dead-letters").text
    assert "No open dead letter matches" in client.get("/dead-letters?q=x").text
    assert "No dead letter matches" in client.get("/dead-letters?view=letters&q=x").text
    assert "None here" in client.get("/dead-letters?state=archived").text


def test_resolved_and_archived_letters_have_lists_of_their_own(browser, alpha):
    resolved, archived = make_dead_letter(alpha), make_dead_letter(alpha)
    client = browser(alpha)
    said(client, f"/dead-letters/{resolved.pk}/resolve", {"note": "Paid by hand."})
    said(client, f"/dead-letters/{archived.pk}/archive")

    for state, letter in (("resolved", resolved), ("archived", archived)):
        [row] = client.get(f"/dead-letters?state={state}").context["rows"]
        assert row["letter"] == letter
    assert "Paid by hand." in client.get("/dead-letters?state=resolved").text
    assert client.get("/dead-letters").context["groups"] == []


def test_a_letter_is_shown_with_attempts_payload_and_buttons(browser, alpha):
    letter = make_dead_letter(alpha, once(payload={"invoice": 7}))

    answer = browser(alpha).get(f"/dead-letters/{letter.pk}")

    assert answer.status_code == 200
    assert '"invoice": 7' in answer.context["payload_text"]
    assert len(answer.context["attempts"]) == 1


def test_other_tenants_letters_are_not_there(browser, alpha, beta):
    letter = make_dead_letter(beta, once(name="Of beta"))
    client = browser(alpha)

    for query in ("", "?view=letters", f"?task={letter.task_id}&view=letters"):
        assert "Of beta" not in client.get(f"/dead-letters{query}").text
    assert client.get(f"/dead-letters/{letter.pk}").status_code == 404
    for action in ACTIONS:
        assert "no such" in said(client, f"/dead-letters/{letter.pk}/{action}")
    assert DeadLetter.objects.filter(pk=letter.pk, resolved=False).exists()


@pytest.mark.parametrize("action", ACTIONS)
def test_a_viewer_sees_no_button_and_may_not_act(browser, alpha, action):
    letter = make_dead_letter(alpha)
    client = browser(alpha, role="viewer")
    path = f"/dead-letters/{letter.pk}"

    assert f"{path}/{action}" not in client.get(path).text
    assert "/bulk-jobs/new" not in client.get("/dead-letters").text
    assert "data-pick" not in client.get("/dead-letters?view=letters").text
    assert client.post(f"{path}/{action}").status_code == 403


def test_a_retry_leads_to_the_new_execution_and_closes_the_letter(browser, alpha):
    letter, client = make_dead_letter(alpha), browser(alpha, role="operator")

    answer = client.post(f"/dead-letters/{letter.pk}/retry", {"payload": "[1]"})

    letter.refresh_from_db()
    assert answer.url == f"/executions/{letter.retry_execution_id}"
    assert (letter.resolved, letter.resolution) == (True, "retried")
    shown = client.get(f"/dead-letters/{letter.pk}")
    assert shown.context["edit_text"] == "[\n  1\n]"
    assert answer.url in shown.text
    assert audited(alpha) == [("dead_letter.resolved", user_of(client))]


def test_resolving_keeps_how_and_why(browser, alpha):
    letter, client = make_dead_letter(alpha), browser(alpha)

    said(client, f"/dead-letters/{letter.pk}/resolve", {"resolution": "not_needed", "note": "Old."})

    letter.refresh_from_db()
    assert (letter.resolution, letter.note) == ("not_needed", "Old.")
    assert letter.resolved_by == user_of(client)
    assert audited(alpha) == [("dead_letter.resolved", user_of(client))]


def test_a_purged_letter_is_gone_and_its_trace_is_not(browser, alpha):
    letter, client = make_dead_letter(alpha), browser(alpha)

    answer = client.post(f"/dead-letters/{letter.pk}/purge")

    assert answer.url == "/dead-letters"
    assert not DeadLetter.objects.exists()
    assert audited(alpha) == [("dead_letter.purged", user_of(client))]


@pytest.mark.parametrize(
    ("action", "fields", "message"),
    [
        ("resolve", {"resolution": "retried"}, "'retried' is reserved; use the call of that name."),
        ("resolve", {"resolution": "x" * 41}, "Resolution: Must be at most 40 characters long."),
        ("resolve", {"note": "\0"}, "Note: Must not contain NUL characters or lone surrogates."),
        ("archive", {"note": "x" * 1001}, "Note: Must be at most 1000 characters long."),
        ("retry", {"payload": "{"}, "Payload: This is not JSON"),
    ],
)
def test_what_is_refused_is_a_message_and_changes_nothing(browser, alpha, action, fields, message):
    letter, client = make_dead_letter(alpha), browser(alpha)

    assert said(client, f"/dead-letters/{letter.pk}/{action}", fields).startswith(message)

    letter.refresh_from_db()
    assert not letter.resolved
    assert audited(alpha) == []


def test_a_closed_letter_is_not_closed_again(browser, alpha):
    letter, client = make_dead_letter(alpha), browser(alpha)
    said(client, f"/dead-letters/{letter.pk}/archive")

    for action in ("retry", "resolve", "archive"):
        message = said(client, f"/dead-letters/{letter.pk}/{action}")
        assert message == "The dead letter was resolved as archived."
    assert f"/dead-letters/{letter.pk}/retry" not in client.get(f"/dead-letters/{letter.pk}").text


def test_a_form_sent_twice_retries_once(browser, alpha):
    letter, client = make_dead_letter(alpha), browser(alpha)

    for _ in range(2):
        assert client.post(f"/dead-letters/{letter.pk}/retry", {"form_key": "k"}).status_code == 302

    assert Execution.objects.filter(trigger="retry").count() == 1


def test_a_letter_of_a_deleted_task_is_shown_but_not_retried(browser, alpha):
    letter, client = make_dead_letter(alpha), browser(alpha)
    said(client, f"/tasks/{letter.task_id}/delete")
    path = f"/dead-letters/{letter.pk}"

    assert "Its task has been deleted" in client.get(path).text
    assert client.get("/dead-letters?view=letters").status_code == 200
    assert said(client, f"{path}/retry") == "The task has been deleted."


def test_hostile_text_is_shown_as_text(browser, alpha):
    make_task(alpha, once(name=HOSTILE, payload=HOSTILE))
    prepare()
    [row] = release()
    finish(row, "FAILED", reason="attempts_exhausted", error_message=HOSTILE)
    letter = DeadLetter.objects.get()
    DeadLetter.objects.update(error_signature=HOSTILE)
    client = browser(alpha)

    for path in (
        "/dead-letters",
        "/dead-letters?view=letters",
        f"/dead-letters/{letter.pk}",
        f"/dead-letters?error_signature={HOSTILE}",
        f"/dead-letters?q={HOSTILE}",
    ):
        assert is_escaped(client.get(path)), path


def test_the_payload_stands_on_the_letters_own_page_only(browser, alpha):
    target = {"url": "https://api.example.com/r", "headers": {"X-Api-Key": "k3y-canary"}}
    letter = make_dead_letter(alpha, once(payload={"canary": "in-a-coal-mine"}, target=target))
    client = browser(alpha)

    shown = client.get(f"/dead-letters/{letter.pk}").text
    assert "in-a-coal-mine" in shown
    for text in (client.get("/dead-letters").text, client.get("/dead-letters?view=letters").text):
        assert "in-a-coal-mine" not in text
        assert "k3y-canary" not in text
    assert "k3y-canary" not in shown


@pytest.mark.parametrize(
    "query",
    ["state=x", "task=x", "view=x", "cursor=x&view=letters", "q=%00", "error_signature=%00"],
)
def test_a_bad_query_is_a_page_that_says_so(browser, alpha, query):
    assert browser(alpha).get(f"/dead-letters?{query}").status_code == 400


def test_a_letter_that_is_not_there_is_404(browser, alpha):
    assert browser(alpha).get(f"/dead-letters/{uuid4()}").status_code == 404


@pytest.mark.parametrize("query", ["", "?view=letters"])
def test_a_page_of_letters_costs_the_same_for_one_row_and_for_twenty(browser, alpha, query):
    client = browser(alpha)
    make_dead_letter(alpha)
    for_one = queries_for(client, f"/dead-letters{query}")
    make_letters(alpha, 19)

    assert queries_for(client, f"/dead-letters{query}") == for_one <= 15


def test_resolved_letters_are_filtered_by_their_word(browser, alpha):
    for word in ("fixed", "my own", "archived"):
        letter = make_dead_letter(alpha)
        if word == "archived":
            archive_dead_letter(alpha.pk, letter.pk, note="", actor=ACTOR)
        else:
            resolve_dead_letter(alpha.pk, letter.pk, resolution=word, note="", actor=ACTOR)
    client = browser(alpha)

    whole = client.get("/dead-letters?state=resolved")
    one = client.get("/dead-letters?state=resolved&resolution=my+own")
    none = client.get("/dead-letters?state=resolved&resolution=gone")

    assert whole.context["words"] == ["fixed", "my own"]
    assert [row["letter"].resolution for row in one.context["rows"]] == ["my own"]
    assert one.context["pagination"]["total"] == 1
    assert "No dead letter matches" in none.text
    assert none.context["words"] == ["fixed", "gone", "my own"]
    assert 'name="resolution"' not in client.get("/dead-letters").text.partition("<main")[2]


@pytest.mark.parametrize(
    ("name", "found", "part"),
    [
        ("log_url", "/v1/executions/x/log", "attempts"),
        ("part_of", RunPart(uuid4(), is_step=True, key="a"), "payload"),
    ],
)
def test_a_part_that_shows_something_else_has_another_version(
    browser, alpha, monkeypatch, name, found, part
):
    path = f"/dead-letters/{make_dead_letter(alpha).pk}"
    client = browser(alpha)
    before = client.get(path).context["versions"]
    monkeypatch.setattr(f"dashboard.views.dead_letters.{name}", lambda *asked: found)

    after = client.get(path).context["versions"]

    assert {one for one in before if before[one] != after[one]} == {part}
