"""A list copied as a call of the API and as a command: both have the rows of the page."""

from __future__ import annotations

import json
import shlex
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from api.list_pages import COLUMNS
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution
from tests.factories import make_client, make_dead_letter, make_execution, make_task, once
from tests.support.command_calls import call as call_command

PAGES = {
    "executions": "/executions",
    "tasks": "/tasks",
    "dead_letters": "/dead-letters",
}


def ids_of_call(client: Any, text: str, key: str) -> list[str]:
    """Return the rows of the copied call, in their order."""
    url = urlsplit(shlex.split(text)[-1])
    answer = client.get(f"{url.path}?{url.query}")
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()[key]]


def ids_of_command(text: str, key: str) -> list[str]:
    """Return the rows of the copied command, in their order."""
    program, command, *words = shlex.split(text)
    assert program == "manage.py"
    said = call_command(command, *words, "--json")
    assert said.code == 0, said.err
    return [row["id"] for row in json.loads(said.out)[key]]


def ids_of_page(page: Any) -> list[str]:
    return [str(row["letter"].pk) if "letter" in row else row["id"] for row in page["rows"]]


@pytest.fixture
def world(alpha, beta):
    """Return tasks, executions and letters of two tenants, some of them old or named alike."""
    make_task(alpha, once(name="Bill; rm -rf ~ 'x'", labels={"team": "billing"}, owner="ada@x.org"))
    make_execution(alpha, "SUCCEEDED", once(name="Report"))
    make_execution(alpha, "SUCCEEDED", once(database_now() - timedelta(hours=2), name="Old"))
    make_dead_letter(alpha, once(name="Bill two"))
    archived = make_dead_letter(alpha, once(name="Bill three"))
    DeadLetter.objects.filter(pk=archived.pk).update(
        resolved=True, resolution="archived", resolved_at=database_now()
    )
    make_dead_letter(beta, once(name="Bill foreign"))
    return alpha


@pytest.mark.parametrize(
    ("of", "query", "count"),
    [
        ("executions", "", 5),
        ("executions", "window=1h", 4),
        ("executions", "window=any&status=FAILED&status=SUCCEEDED", 4),
        ("executions", "status=FAILED&q=bill", 2),
        ("executions", "q=-no%20option", 0),
        ("executions", "due=now", 0),
        ("executions", "ended=last_hour", 4),
        ("executions", "columns=host&density=compact&until=2030-01-01T00:00:00Z", 5),
        ("executions", "filter=status%3Afailed%20host%3Aapi.example.com&ordering=duration", 2),
        ("executions", "filter=scheduled%3A-1h..&ordering=id", 4),
        ("tasks", "filter=label%3Ateam%3Abilling&ordering=name", 1),
        ("tasks", "ordering=-name", 5),
        ("dead_letters", "view=letters&filter=cause%3Ahttp_status%3A%2A&ordering=attempt", 1),
        ("tasks", "", 5),
        ("tasks", "type=ONE_TIME&label=team%3Abilling", 1),
        ("tasks", "owner=ada%40x.org&q=rm%20-rf%20~%20%27x%27", 1),
        ("tasks", "status=FAILED&status=COMPLETED", 4),
        ("tasks", "destination=api.example.com", 5),
        ("dead_letters", "view=letters", 1),
        ("dead_letters", "view=letters&q=bill", 1),
        ("dead_letters", "state=archived", 1),
        ("dead_letters", "state=resolved&resolution=retried", 0),
    ],
)
def test_page_call_and_command_have_the_same_rows(world, browser, of, query, count):
    page = browser(world).get(f"{PAGES[of]}?{query}").context
    wanted = ids_of_page(page)

    assert len(wanted) == count
    assert ids_of_call(make_client(world, ["read"]), page["look"].call, of) == wanted
    assert ids_of_command(page["look"].command, of) == wanted


def test_a_task_and_a_key_are_named_by_both(world, browser):
    task = Execution.objects.filter(tenant=world, status="FAILED").earliest("id").task_id

    page = browser(world).get(f"/executions?task={task}").context

    [only] = ids_of_page(page)
    assert ids_of_call(make_client(world, ["read"]), page["look"].call, "executions") == [only]
    assert ids_of_command(page["look"].command, "executions") == [only]
    page = browser(world).get("/executions?concurrency_key=none").context
    assert ids_of_command(page["look"].command, "executions") == []


def test_causes_are_counted_by_both(world, browser):
    look = browser(world).get("/dead-letters").context["look"]

    url = urlsplit(shlex.split(look.call)[-1])
    counted = make_client(world, ["read"]).get(f"{url.path}?{url.query}").json()["groups"]
    _, command, *words = shlex.split(look.command)
    said = json.loads(call_command(command, *words, "--json").out)["groups"]

    assert [row["count"] for row in counted] == [row["count"] for row in said] == [1]


def test_rows_that_no_call_has_are_not_offered(world, browser):
    answer = browser(world).get("/dead-letters?state=resolved")

    assert answer.context["look"].call == ""
    assert "Copy as API call" not in answer.text


def test_a_list_says_that_its_order_leaves_rows_out(world, browser):
    client = browser(world)

    assert "are left out" in client.get("/executions?ordering=-duration").text
    assert "are left out" not in client.get("/executions?ordering=-attempt").text


def test_columns_come_in_the_order_that_is_asked_for(world, browser):
    client = browser(world)

    answer = client.get("/executions?columns=host,time&density=compact&status=FAILED&saved=none")

    look = answer.context["look"]
    assert [one.name for one in look.columns] == ["host", "time"]
    assert [one.name for one in look.offered if one.shown] == ["host", "time"]
    assert look.is_compact
    assert look.kept == (("density", "compact"), ("status", "FAILED"), ("saved", "none"))
    assert 'data-label="Host"' in answer.text
    assert 'data-label="Duration"' not in answer.text
    usual = client.get("/executions").text
    assert 'data-label="Duration"' in usual
    assert 'data-label="Host"' not in usual
    assert client.get("/executions?columns=oops").status_code == 400


@pytest.mark.parametrize("of", ["executions", "tasks"])
def test_every_column_is_shown_where_it_is_chosen(world, browser, of):
    text = browser(world).get(f"{PAGES[of]}?columns={','.join(COLUMNS[of])}").text

    missing = [label for label in COLUMNS[of].values() if f'data-label="{label}"' not in text]
    assert not missing
