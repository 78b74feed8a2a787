"""A form that was not taken comes back with all that was typed, whatever the reason."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client

from tasks.models import Pause, Task
from tests.factories import daily, make_task

TYPED = {"name": "Nightly", "payload": 'two\nlines & "quotes" <b>', "tag": ["a", "b"]}
SCRIPT = {"X-Form": "1"}
TEMPLATES = Path(settings.BASE_DIR) / "templates/dashboard"


def _kept(answer) -> dict[str, list[str]]:
    """Return what the page sends again at a click."""
    found: dict[str, list[str]] = {}
    for name, text in re.findall(
        r'<textarea name="(\w+)" hidden>\n(.*?)</textarea>', answer.text, re.DOTALL
    ):
        found.setdefault(name, []).append(unescape(text))
    return found


def _is_all_there(answer) -> bool:
    kept = _kept(answer)
    return kept == {"name": ["Nightly"], "payload": [TYPED["payload"]], "tag": ["a", "b"]}


@pytest.mark.parametrize(
    "path", ["/tasks/new", "/pauses/create", "/bulk-jobs/create", "/pools/new/create"]
)
def test_a_form_sent_to_a_database_that_is_away_is_kept_on_the_page(
    browser, alpha, monkeypatch, path
):
    def away(*_):
        raise OperationalError("gone")

    client = browser(alpha)
    monkeypatch.setattr("dashboard.access._visitor", away)
    answer = client.post(path, TYPED)

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert _is_all_there(answer)
    # A page that asks again by itself would forget the form.
    assert 'http-equiv="refresh"' not in answer.text
    assert f'action="{path}"' in answer.text
    assert answer["Cache-Control"] == "no-store"


def test_a_form_sent_after_the_sessions_end_is_kept_until_one_has_signed_in(client, db):
    client.cookies["punctual_zone"] = "Europe/Berlin"  # as browsers send
    answer = client.post("/tasks/new", TYPED)

    assert answer.status_code == 401
    assert _is_all_there(answer)
    assert 'href="/login" target="_blank"' in answer.text


def test_a_form_whose_token_is_old_is_kept_and_sent_with_a_new_one(browser, alpha):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser(alpha).cookies
    strict.cookies["csrftoken"] = "n" * 32
    old = {**TYPED, "csrfmiddlewaretoken": "o" * 32}

    answer = strict.post("/tasks/new", old, headers={"Origin": "http://testserver"})

    assert answer.status_code == 403
    assert _is_all_there(answer)
    assert re.search(r'name="csrfmiddlewaretoken" value="\w{64}"', answer.text)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ""])
def test_a_form_of_another_site_is_not_offered_to_be_sent_again(browser, alpha, origin):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser(alpha).cookies

    answer = strict.post("/tasks/new", TYPED, headers={"Origin": origin} if origin else {})

    assert answer.status_code == 403
    assert not _kept(answer)
    assert "components.css" in answer.text


def test_a_script_is_told_where_to_go_on_and_what_was_refused_by_field(browser, alpha):
    task = make_task(alpha, daily())
    client = browser(alpha)

    done = client.post(f"/tasks/{task.pk}/run", headers=SCRIPT)
    refused = client.post(
        "/bulk-jobs/create",
        {
            "kind": "tasks",
            "action": "delete",
            "filters": f'{{"ids": ["{task.pk}"]}}',
            "expected_count": "1",
            "typed": "2",
        },
        headers=SCRIPT,
    )

    assert done.json()["location"].startswith("/executions/")
    assert refused.status_code == 400
    [error] = refused.json()["errors"]
    assert (error["field"], error["message"]) == (
        "typed",
        "Type 1 to continue. Nothing was changed.",
    )
    assert Task.objects.filter(pk=task.pk).exists()


@pytest.mark.parametrize(
    ("who", "status"), [("stranger", 401), ("viewer", 403), ("outage", 503), ("token", 403)]
)
def test_a_script_gets_a_sentence_instead_of_a_page(browser, alpha, monkeypatch, who, status):
    client = browser(alpha, role="viewer" if who == "viewer" else "owner")
    if who == "stranger":
        client = Client()
    if who == "token":
        client = Client(enforce_csrf_checks=True)
    if who == "outage":

        def away(*_):
            raise OperationalError("gone")

        monkeypatch.setattr("dashboard.access._visitor", away)

    answer = client.post("/pauses/create", TYPED, headers=SCRIPT)

    assert answer.status_code == status
    assert answer.json()["errors"][0]["message"]
    assert not Pause.objects.exists()


def test_each_form_that_changes_something_is_one_that_the_script_sends():
    forms = [
        (path.name, tag)
        for path in sorted(TEMPLATES.glob("*.html"))
        for tag in re.findall(r'<form[^>]*method="post".*?</form>', path.read_text(), re.DOTALL)
    ]

    without = {name for name, tag in forms if "{% form_key %}" not in tag}

    assert len(forms) > 30
    # Signing in and out, an invitation, the choice of a tenant, and the page that holds a form.
    # The pages of an account: their forms hold passwords and codes, and none may be sent again.
    assert without == {
        *("base.html", "invitation.html", "login.html", "login_code.html", "send_again.html"),
        *("_account.html", "_account_foot.html", "_second_factor.html"),
        # What it asks for is only shown; it has a URL, which no address may have.
        "executions.html",
    }


@pytest.mark.parametrize("path", ["/no/such/page", "/tasks/not-an-id"])
def test_an_address_that_leads_nowhere_has_the_looks_of_the_console(client, db, path):
    client.cookies["punctual_theme"] = "dark"

    answer = client.get(path)

    assert answer.status_code == 404
    assert 'data-theme="dark"' in answer.text
    for file in ("variables.css", "base.css", "components.css"):
        assert file in answer.text


@pytest.mark.parametrize("name", ["400", "403", "404", "500"])
def test_each_page_of_an_error_has_the_looks_of_the_console(name):
    from django.template.loader import get_template

    shown = get_template(f"{name}.html").render({})

    assert "base.css" in shown
    assert 'class="door"' in shown
