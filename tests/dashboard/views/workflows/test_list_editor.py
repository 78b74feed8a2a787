"""The list editor's answers: each change, what it refuses, and what it must not lose."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from dashboard.workflow_text import LONGEST, read_text
from executions.loop.clocks import database_now
from shared.exceptions import InvalidInput
from tasks.calendars import limits_of
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.validation.workflow import parse_workflow_replace
from tests.dashboard.asking import HOSTILE
from tests.dashboard.views.workflows.texts import SECRET, TEXT
from tests.factories import make_task, once, reload
from tests.support.workflows import calls, make_workflow

WITH_COMMENT = f"\n# A comment.{TEXT}"


def ask(client: Client, text: str = WITH_COMMENT, **sent: Any) -> Any:
    """Send a change of the list; return the answer."""
    answer = client.post("/workflows/list", {"definition": text, **sent})
    assert answer.status_code == 200
    return answer


def changed(answer: Any) -> Any:
    """Return the definition after a change."""
    return read_text(answer.context["draft"].text)


@pytest.fixture
def client(browser, alpha) -> Client:
    made: Client = browser(alpha)
    return made


def test_a_definition_is_shown_as_folded_cards(client):
    answer = ask(client)

    assert 'data-cards="1 2"' in answer.text
    assert "data-changed" not in answer.text
    assert "POST" not in answer.text
    assert "https://api.example.com/a" in answer.text
    assert "waits for a" in answer.text
    assert 'id="step-1-body"' not in answer.text
    assert not Task.objects.exists()


def test_only_open_cards_have_fields(client):
    answer = ask(client, opened="2")

    assert 'id="s2-timeout_seconds"' in answer.text
    assert 'id="s1-target-url"' not in answer.text


@pytest.mark.parametrize(
    ("sent", "where", "value"),
    [
        ({"field": "key", "value": "c"}, ("key",), "c"),
        (
            {"field": "target/url", "value": "https://x.example.com"},
            ("target", "url"),
            "https://x.example.com",
        ),
        ({"field": "target/method", "value": "PUT"}, ("target", "method"), "PUT"),
        ({"field": "target/headers", "value": "X-A: 1"}, ("target", "headers"), {"X-A": "1"}),
        ({"field": "payload", "value": "n: 1"}, ("payload",), {"n": 1}),
        ({"field": "depends_on", "value": ["b"]}, ("depends_on",), ["b"]),
        ({"field": "when", "value": "input.x == 1"}, ("when",), "input.x == 1"),
        ({"field": "sensitive", "value": "yes"}, ("sensitive",), True),
        (
            {"field": "retry_policy/retry_on", "value": "5xx, 429"},
            ("retry_policy", "retry_on"),
            ["5xx", "429"],
        ),
        ({"field": "min_success_share", "value": "0.5"}, ("min_success_share",), 0.5),
        ({"field": "deadline_seconds", "value": "60"}, ("deadline_seconds",), 60),
        ({"field": "@kind", "value": "delay"}, ("kind",), "delay"),
        (
            {"field": "compensate/@kind", "value": "handler"},
            ("compensate", "target", "kind"),
            "handler",
        ),
    ],
)
def test_a_field_of_a_step_is_changed_in_the_definition(client, sent, where, value):
    answer = ask(client, do="set", card="1", **sent)

    found = changed(answer)["steps"][0]
    for name in where:
        found = found[name]
    assert found == value
    assert "data-changed" in answer.text


def test_an_error_appears_at_its_step_and_its_field(client):
    answer = ask(
        client, do="set", card="1", field="target/timeout_seconds", value="soon", opened="1"
    )

    assert 'id="s1-target-timeout_seconds-error">Must be a number, not text.' in answer.text
    assert 'aria-describedby="s1-target-timeout_seconds-error ' in answer.text
    assert '<span class="error-text">1 error</span>' in answer.text
    assert 'data-go="1" data-to="target/timeout_seconds"' in answer.text
    # The graph is drawn all the same.
    assert "<svg" in answer.text


def test_an_error_that_no_field_shows_appears_in_its_card(client):
    text = WITH_COMMENT.replace("    kind: approval", "    kind: approval\n    whatfor: 1")

    answer = ask(client, text, opened="2")

    assert "whatfor: There is no such field." in answer.text
    assert "Also set, and shown as text only: whatfor." in answer.text


def test_text_that_is_no_value_comes_back_in_its_field(client):
    answer = ask(client, do="set", card="1", field="payload", value='{"a": ', opened="1")

    assert changed(answer) == read_text(WITH_COMMENT)
    assert "data-changed" not in answer.text
    assert "data-unread" in answer.text
    assert "{&quot;a&quot;: " in answer.text
    assert 'id="s1-payload-error">This is not JSON' in answer.text


@pytest.mark.parametrize(
    ("do", "card", "keys"),
    [
        ("add", "0", ["a", "b", "step_1"]),
        ("behind", "1", ["a", "step_1", "b"]),
        ("duplicate", "1", ["a", "a_2", "b"]),
        ("remove", "1", ["b"]),
        ("up", "2", ["b", "a"]),
        ("down", "1", ["b", "a"]),
        ("undo", "0", ["a", "b"]),
    ],
)
def test_each_change_of_the_rows_is_made_and_said(client, do, card, keys):
    answer = ask(client, do=do, card=card)

    assert [step["key"] for step in changed(answer)["steps"]] == keys
    assert "data-changed" in answer.text
    assert "data-said=" in answer.text


def test_the_cards_keep_their_numbers_while_steps_come_and_go(client):
    answer = ask(client, do="remove", card="7", cards="7 3", opened="3")

    assert 'data-cards="3"' in answer.text
    assert 'id="step-3" data-card="3" open' in answer.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "This is not YAML"),
        ("", "not null"),
        ("[]", "not a list"),
        ("name: x\nsteps: 7", "The steps must be a list"),
        ('{"a": "\\u0000"}', "NUL"),
        ("a: \0", "not YAML"),
        ("x" * (LONGEST + 1), "letters"),
    ],
)
def test_a_text_that_is_no_list_stays_text_and_says_why(client, text, words):
    answer = ask(client, text)

    assert 'data-mode="text"' in answer.text
    assert words in answer.text


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"do": "explode"},
        {"do": "set", "card": "9", "field": "key", "value": "x"},
        {"do": "set", "card": "1", "field": "no/such", "value": "x"},
        {"do": "set", "card": "1", "field": "key", "value": "a\0b"},
        {"do": "set", "card": "1", "field": "depends_on", "value": ["\0"]},
        {"do": "set", "card": "1", "field": "@kind", "value": "\0"},
        {"do": "set"},
        {"do": "remove", "card": "x"},
        {"do": "page", "page": "99999999"},
        {"do": "go", "card": "5"},
        {"cards": "1 1", "opened": "x y", "page": "-1"},
        {"cards": "0 1"},
        {"workflow": "x"},
    ],
)
def test_a_change_that_cannot_be_made_loses_nothing(client, sent):
    answer = ask(client, **sent)

    assert changed(answer) == read_text(WITH_COMMENT)
    assert "data-changed" not in answer.text
    # What was refused keeps from saving.
    assert ("data-failed" in answer.text) == bool(answer.context["draft"].said)


@pytest.mark.parametrize(
    "body",
    [
        {"steps": [7, None, [], "x", {}]},
        {"name": 7, "steps": [{"key": 7, "target": 7, "depends_on": 7, "retry_policy": 7}]},
        {"schedule": 7, "labels": [], "steps": [{"key": "a", "kind": 7, "compensate": 7}]},
        {"steps": [{"key": "a", "depends_on": ["a", {}, "b"], "target": {"headers": [1]}}]},
        {"steps": [{"key": "a" * 9000, "kind": "x" * 9000}, {"key": HOSTILE, "for_each": {}}]},
        {"steps": [{"key": "a", "target": {"kind": 7, "url": {"b": 1}}, "payload": 10**19}]},
        {"schedule": {"every": 7, "cron_expression": []}, "steps": []},
        {"steps": None},
        {},
    ],
)
def test_a_definition_of_wrong_types_is_shown_and_every_change_of_it_is_answered(client, body):
    text = json.dumps(body)

    for do in ("show", "add", "behind", "duplicate", "up", "down", "remove"):
        answer = ask(client, text, do=do, card="1", opened="1 2 3 4 5")
        assert "<script>alert(" not in answer.text
    for field in ("key", "@kind", "target/url", "depends_on", "payload", "compensate/@kind"):
        ask(client, text, do="set", card="1", field=field, value="delay", opened="1")
    for field in ("name", "schedule/@timing", "schedule/every", "labels"):
        ask(client, text, do="set", card="0", field=field, value="every")


def test_a_change_that_makes_the_definition_too_long_is_not_made(client):
    text = json.dumps({"name": "x", "steps": [calls("a", payload="x" * (LONGEST - 400))]})

    answer = ask(client, text, do="duplicate", card="1")

    assert len(changed(answer)["steps"]) == 1
    assert "more than 2,000,000 letters" in answer.text
    assert "data-changed" not in answer.text


def test_the_definition_can_be_read_again_after_any_text_in_a_field(client):
    for typed in (
        "[" * 60 + "]" * 60,
        "a: " + "[" * 60 + "]" * 60,
        "[" * 70 + "]" * 70,
        "1" * 400,
        '{"a": 1e999}',
    ):
        for field in ("payload", "compensate/payload"):
            text = WITH_COMMENT.replace("  - key: b", "    compensate: {}\n  - key: b")
            answer = ask(client, text, do="set", card="1", field=field, value=typed)
            assert isinstance(changed(answer), dict)


def test_the_text_of_a_changed_list_is_yaml_or_json_as_it_was(client):
    body = json.dumps({"name": "x", "steps": [calls("a", payload={"t": "on"})]})

    yaml = ask(client, body, do="text", format="yaml")
    in_json = ask(client, body, do="text", format="json")

    assert yaml.context["text"].startswith("name: x\nsteps:\n")
    assert in_json.context["text"].startswith('{\n  "name"')
    assert read_text(yaml.context["text"]) == read_text(in_json.context["text"]) == json.loads(body)


def test_a_masked_secret_is_kept_by_a_change_of_another_field(client, alpha):
    target = {
        "url": "https://api.example.com/a",
        "headers": {"X-Api-Key": SECRET},
        "auth": {"type": "bearer", "token": "hidden-token"},
    }
    flow = make_workflow(alpha, [{"key": "a", "target": target}])
    page = client.get(f"/workflows/{flow.pk}/edit")
    sent = {"do": "set", "card": "1", "field": "target/method", "value": "PUT", "opened": "1"}

    answer = ask(client, page.context["text"], workflow=str(flow.pk), **sent)
    text = answer.context["draft"].text
    client.post(f"/workflows/{flow.pk}/edit", {"definition": text, "version": "1", "view": "list"})

    assert SECRET not in page.text
    assert SECRET not in answer.text
    assert "target.auth" in answer.text
    assert not answer.context["check"].get("errors")
    kept = read_definition(reload(flow)).target["steps"][0]["target"]
    assert (kept["method"], kept["headers"], kept["auth"]) == (
        "PUT",
        target["headers"],
        target["auth"],
    )


@pytest.mark.parametrize(("typed", "kept"), [("3", 3), ("", None)])
def test_the_limit_of_a_scheduled_workflow_is_changed_and_cleared(client, alpha, typed, kept):
    schedule = {"cron_expression": "0 2 * * *"}
    flow = make_workflow(alpha, [calls("a")], schedule=schedule, max_concurrent=2)
    page = client.get(f"/workflows/{flow.pk}/edit")
    sent = {"do": "set", "card": "0", "field": "max_concurrent", "value": typed}

    answer = ask(client, page.context["text"], workflow=str(flow.pk), **sent)
    text = answer.context["draft"].text
    client.post(f"/workflows/{flow.pk}/edit", {"definition": text, "version": "1", "view": "list"})

    assert 'id="s0-max_concurrent" value="2"' in page.text
    assert "shown as text only" not in page.text
    assert not answer.context["check"].get("errors")
    assert read_definition(reload(flow)).schedule["max_concurrent"] == kept


@pytest.mark.parametrize(
    ("sent", "step", "code"),
    [
        (
            {"do": "set", "field": "target/url", "value": "https://evil.example.com/a"},
            0,
            "secret_required",
        ),
        ({"do": "duplicate"}, 1, "secret_masked"),
        ({"do": "set", "field": "key", "value": "renamed"}, 0, "secret_masked"),
    ],
)
def test_a_masked_secret_goes_to_no_other_place_or_step(client, alpha, sent, step, code):
    target = {"url": "https://api.example.com/a", "headers": {"X-Api-Key": SECRET}}
    flow = make_workflow(alpha, [{"key": "a", "target": target}])
    page = client.get(f"/workflows/{flow.pk}/edit")

    answer = ask(client, page.context["text"], workflow=str(flow.pk), card="1", **sent)
    body = read_text(answer.context["draft"].text)

    current, now = read_definition(flow), database_now()
    with pytest.raises(InvalidInput) as refused:
        parse_workflow_replace(body, now=now, limits=limits_of(alpha.pk), current=current)
    assert [(one.pointer, one.code) for one in refused.value.errors] == [
        (f"#/steps/{step}/target/headers/X-Api-Key", code)
    ]
    assert answer.context["check"]["errors"]


def test_a_definition_that_is_too_long_as_yaml_is_shown_and_changed_as_a_list(
    client, alpha, monkeypatch
):
    # As YAML, each number has a line of its own.
    flow = make_workflow(alpha, [calls("a", payload={"days": {"of": {"it": [1] * 1000}}})])
    for module in ("workflow_text", "views.workflows.list_editor"):
        monkeypatch.setattr(f"dashboard.{module}.LONGEST", 5000)

    page = client.get(f"/workflows/{flow.pk}/edit")
    text = page.context["text"]
    answer = ask(client, text, do="set", card="0", field="name", value="Other")
    saved = client.post(f"/workflows/{flow.pk}/edit", {"definition": text, "version": "1"})

    assert page.status_code == 200
    assert 'class="shows-list"' in page.text
    assert text.startswith("{")
    assert changed(answer)["name"] == "Other"
    assert saved.status_code == 302


def test_the_page_begins_with_the_list_and_shows_the_text_where_asked(client):
    page = client.get("/workflows/new")

    assert 'class="shows-list"' in page.text
    assert 'id="step-4"' in page.text
    assert page.context["text"] in page.text.replace("&quot;", '"').replace("&#x27;", "'")
    assert 'class="shows-text"' in client.get("/workflows/new?view=text").text


def test_what_could_not_be_saved_comes_back_as_the_list(client):
    text = WITH_COMMENT.replace("kind: approval", "kind: approvl")

    page = client.post("/workflows/new", {"definition": text, "view": "list"})

    assert page.status_code == 400
    assert 'class="shows-list"' in page.text
    assert "is-wrong" in page.text
    assert not Task.objects.exists()


def test_what_the_list_sent_and_could_not_be_saved_is_readable_as_text(client):
    sent = (
        ask(client, do="set", card="1", field="target/url", value="nowhere").context["draft"].text
    )

    page = client.post("/workflows/new", {"definition": sent, "view": "list"})

    assert page.status_code == 400
    assert page.context["text"].startswith("name: Flow\nsteps:\n- key: a\n")
    assert read_text(page.context["text"]) == read_text(sent)


def test_a_text_that_could_not_be_read_comes_back_as_text(client):
    page = client.post("/workflows/new", {"definition": "a: [", "view": "list"})

    assert page.status_code == 400
    assert 'class="shows-text"' in page.text


def test_a_long_list_is_shown_by_pages(client):
    text = json.dumps({"name": "x", "steps": [calls(f"s{n}") for n in range(250)]})

    first = ask(client, text)
    last = ask(client, text, do="go", card="250", field="target/url")

    assert ('id="step-100"' in first.text, 'id="step-101"' in first.text) == (True, False)
    assert 'data-focus="s250-target-url"' in last.text
    assert 'id="s250-depends_on"' in last.text


def test_workflows_of_the_tenant_are_offered_by_name(client, alpha, beta):
    own, other = make_workflow(alpha, [calls("a")]), make_workflow(beta, [calls("a")])
    text = json.dumps({"name": "x", "steps": [{"key": "a", "kind": "workflow"}]})

    answer = ask(client, text, opened="1")

    assert str(own.pk) in answer.text
    assert str(other.pk) not in answer.text


def test_hostile_text_stays_text(client):
    step = {"key": HOSTILE, "target": {"url": HOSTILE}, "payload": HOSTILE, "depends_on": [HOSTILE]}
    text = json.dumps({"name": HOSTILE, "steps": [step], HOSTILE: 1})

    for do in ("show", "duplicate", "remove"):
        assert "<script>alert(" not in ask(client, text, do=do, card="1", opened="1").text


def test_only_admins_change_lists_and_of_their_tenant_only(browser, alpha, beta):
    flow, plain = make_workflow(beta, [calls("a")]), make_task(alpha, once())
    admin, operator = browser(alpha, role="admin"), browser(alpha, role="operator")

    assert operator.post("/workflows/list", {"definition": WITH_COMMENT}).status_code == 403
    assert admin.get("/workflows/list").status_code == 405
    for task in (flow, plain):
        sent = {"definition": WITH_COMMENT, "workflow": str(task.pk)}
        assert admin.post("/workflows/list", sent).status_code == 404
