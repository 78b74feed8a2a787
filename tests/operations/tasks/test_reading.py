from __future__ import annotations

import io
import re

import pytest

from executions.changes.changing import pause_task
from shared.actor import COMMAND
from tasks.models import Task
from tasks.transitions import Pause
from tests.dashboard.kinds import allow
from tests.factories import daily, every_second, make_execution, make_task, once, prepare, spoil
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document
from tests.support.workflows import calls, make_workflow
from tests.tasks.bodies import TARGETS


def _list(*words: str) -> list[dict]:
    found = read_document("tasks-list", call("tasks", "list", *words, "--json").out)
    tasks: list[dict] = found["tasks"]
    return tasks


def test_list_filters_by_tenant_state_label_and_text(alpha, beta):
    invoices = make_task(alpha, daily(name="Invoices", labels={"team": "billing"}))
    make_task(beta, daily(name="Reports", labels={}))
    pause_task(alpha.id, invoices.id, Pause(), actor=COMMAND)

    assert [task["name"] for task in _list()] == ["Reports", "Invoices"]
    mine = _list("--tenant", "Alpha", "--status", "PAUSED", "FAILED")
    assert [task["name"] for task in mine] == ["Invoices"]
    assert mine[0]["tenant_id"] == str(alpha.id)
    assert [task["name"] for task in _list("--label", "team:billing")] == ["Invoices"]
    assert [task["name"] for task in _list("--q", "invo")] == ["Invoices"]
    assert _list("--status", "RUNNING") == []
    assert _list("--type", "ONE_TIME") == []


def test_tasks_that_call_a_host_are_listed(alpha):
    make_task(alpha, daily(name="Calls", target={"url": "https://a.example.com/x"}))
    make_task(alpha)

    assert [task["name"] for task in _list("--destination", "A.example.com:443")] == ["Calls"]


def test_tasks_of_an_owner_are_listed_shown_and_exported(alpha):
    make_task(
        alpha, daily(name="Mine", owner="ops@example.com", payload=None, payload_ref="s3://x")
    )
    make_task(alpha)

    [found] = _list("--owner", "ops@example.com")
    shown = call("tasks", "show", found["id"]).out
    exported = read_document(
        "tasks-export", call("tasks", "export", "--owner", "ops@example.com").out
    )

    assert (found["name"], found["owner"]) == ("Mine", "ops@example.com")
    assert re.search(r"^owner +ops@example.com$", shown, re.MULTILINE)
    assert re.search(r"^payload +s3://x$", shown, re.MULTILINE)
    [task] = exported["tasks"]
    assert (task["owner"], task["payload_ref"], task["payload"]) == (
        *("ops@example.com", "s3://x"),
        None,
    )


@pytest.mark.parametrize(
    ("kind", "called"),
    [
        ("pool", "handler generate_invoices in the pool batch-etl"),
        ("handler", "handler reports.daily"),
        ("command", "command backup --full"),
    ],
)
def test_a_task_of_every_kind_is_shown(alpha, monkeypatch, kind, called):
    allow(monkeypatch, alpha)
    task = make_task(alpha, daily(target=TARGETS[kind]))

    said = call("tasks", "show", str(task.id))

    assert said.code == 0
    assert f"calls     {called}" in said.out


def test_list_shows_the_next_run_that_the_api_shows(alpha, client):
    task = make_task(alpha, every_second())
    prepare()

    # The run passes while the test looks; the table is read between two documents.
    before = _list()[0]["next_execution"]
    table = call("tasks", "list").out
    after = _list()[0]["next_execution"]

    cursor = Task.objects.get(pk=task.id).next_run_at
    assert cursor is not None
    assert before < cursor.isoformat()
    [told] = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", table)
    assert before[:19] <= told.replace(" ", "T") <= after[:19]


def test_list_fits_80_columns_and_shows_full_ids_when_asked(alpha):
    task = make_task(alpha, daily(name="x" * 200))

    assert all(len(line) <= 80 for line in call("tasks", "list").out.splitlines())
    assert str(task.id) in call("tasks", "list", "--wide").out


def test_list_says_when_there_is_more_unless_told_to_be_quiet(alpha):
    for name in ("a", "b"):
        make_task(alpha, daily(name=name))

    assert call("tasks", "list", "--limit", "1").err.startswith("1 of 2 tasks")
    assert call("tasks", "list", "--limit", "1", "--quiet").err == ""


@pytest.mark.parametrize(
    ("words", "code"),
    [(("--tenant", "Nobody"), 3), (("--status", "LOST"), 1), (("--limt", "1"), 1)],
)
def test_a_list_that_cannot_be_made_says_why(alpha, words, code):
    # From a shell the parser itself leaves with 2; see tests/shared/test_command_parser.py.
    assert call("tasks", "list", *words).code == code


def test_show_finds_a_task_by_its_id_or_the_end_of_it(alpha):
    task = make_task(alpha, daily(name="Invoices"))

    text = call("tasks", "show", str(task.id)[-12:]).out
    document = read_document("tasks-show", call("tasks", "show", str(task.id), "--json").out)

    assert "Invoices" in text
    assert "At 08:00, every day, Europe/Berlin" in text
    assert text.count("\nnext ") == 5
    assert document["id"] == str(task.id)


def test_show_tells_of_a_pause_and_of_the_last_run(alpha):
    execution = make_execution(alpha, "SUCCEEDED")
    task = make_task(alpha)
    pause_task(alpha.id, task.id, Pause(note="receiver is down"), actor=COMMAND)

    assert "PAUSED (receiver is down)" in call("tasks", "show", str(task.id)).out
    assert f"execution {execution.id}" in call("tasks", "show", str(execution.task_id)).out


def test_show_of_an_unknown_task_exits_with_3(alpha, beta):
    task = make_task(alpha)

    assert call("tasks", "show", "00000000-0000-0000-0000-000000000000").code == 3
    # Too short to be meant.
    assert call("tasks", "show", "0").code == 3
    assert call("tasks", "show", str(task.id), "--tenant", "Beta").code == 3


def test_an_export_makes_the_same_tasks_again(alpha, beta, monkeypatch):
    make_task(alpha, daily(name="Invoices", payload={"a": [1]}))
    make_task(alpha, once(name="Other"))
    said = call("tasks", "export", "--tenant", "Alpha", "--q", "Invoices")
    exported = read_document("tasks-export", said.out)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(said.out.encode())))

    made = call("tasks", "create", "--file", "-", "--tenant", "Beta")
    again = read_document("tasks-export", call("tasks", "export", "--tenant", "Beta").out)

    assert made.code == 0
    assert [task["name"] for task in exported["tasks"]] == ["Invoices"]
    assert again == exported


def test_what_no_key_opens_is_listed_and_shown_but_not_exported(alpha):
    task = spoil(make_task(alpha, daily(name="Invoices")))
    make_task(alpha, daily(name="Reports"))

    shown = call("tasks", "show", str(task.id))
    exported = call("tasks", "export")

    assert [one["name"] for one in _list()] == ["Reports", "Invoices"]
    assert "ENCRYPTION_KEYS" in shown.out
    assert (exported.code, exported.out) == (4, "")
    assert str(task.id) in exported.err


def test_an_export_of_named_tasks_takes_no_filters(alpha):
    task, _ = make_task(alpha), make_task(alpha)

    assert (
        len(read_document("tasks-export", call("tasks", "export", str(task.id)).out)["tasks"]) == 1
    )
    assert call("tasks", "export", str(task.id), "--q", "x").code == 2
    assert call("tasks", "export", "000000000000").code == 3


def test_listing_asks_nothing_where_there_is_no_terminal(alpha, monkeypatch):
    type_in(monkeypatch, "", terminal=False)

    assert call("tasks", "list").code == 0


def test_a_workflow_is_shown_and_neither_exported_nor_edited_as_a_task(alpha):
    task, plain = make_workflow(alpha, [calls("a")]), make_task(alpha)

    shown = call("tasks", "show", str(task.id))
    named = call("tasks", "export", str(task.id))
    edited = call("tasks", "edit", str(task.id), "--name", "x")
    exported = read_document("tasks-export", call("tasks", "export").out)["tasks"]

    assert "calls     a workflow; `workflows show` has its steps" in shown.out
    assert (named.code, edited.code) == (4, 4)
    assert "use `manage.py workflows edit ID --file FILE`" in edited.err
    assert [one["name"] for one in exported] == [plain.name]
    assert [one["type"] for one in _list()] == [plain.type, "MANUAL"]
