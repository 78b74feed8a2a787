from __future__ import annotations

from executions.changes.changing import pause_task
from shared.actor import COMMAND
from tasks.transitions import Pause
from tests.factories import make_task, spoil
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.workflows import calls, make_workflow

NIGHTLY = {"cron_expression": "0 2 * * *", "timezone": "Europe/Berlin"}


def listed(*words: str) -> list[str]:
    found = read_document("workflows-list", call("workflows", "list", *words, "--json").out)
    return [one["name"] for one in found["workflows"]]


def test_list_shows_workflows_only_and_filters_them(alpha, beta):
    make_task(alpha)
    task = make_workflow(alpha, [calls("a")], name="Nightly", labels={"team": "billing"})
    make_workflow(beta, [calls("a")], name="Other", owner="ops@example.com")
    pause_task(alpha.id, task.id, Pause(), actor=COMMAND)

    assert listed() == ["Other", "Nightly"]
    assert listed("--tenant", "Alpha", "--status", "PAUSED") == ["Nightly"]
    assert listed("--label", "team:billing") == ["Nightly"]
    assert listed("--owner", "ops@example.com") == ["Other"]
    assert listed("--q", "night") == ["Nightly"]
    assert listed("--status", "RUNNING") == []


def test_a_list_is_bounded_and_says_how_much_there_is(alpha):
    for number in range(3):
        make_workflow(alpha, [calls("a"), calls("b", "a")], name=f"Flow {number}")

    said = call("workflows", "list", "--limit", "2")

    assert said.out.splitlines()[0].split() == [
        *("id", "status", "steps", "next", "run", "(UTC)", "last", "run", "name")
    ]
    assert "  2      -               -         Flow 2" in said.out
    assert said.err == "2 of 3 workflows; see more with --limit\n"


def test_show_has_the_steps_and_no_secret(alpha):
    flow = [
        calls("load", for_each=[1, 2], max_parallel=2),
        calls("pay", "load", target={"url": "https://x.example.com", "auth": _bearer("s3cret")}),
        {"key": "wait", "kind": "wait_for_event", "event": "paid", "depends_on": ["pay"]},
        {"key": "ok", "kind": "approval", "depends_on": ["wait"]},
        {"key": "rest", "kind": "delay", "delay_seconds": 90, "depends_on": ["ok"]},
        calls("tell", "rest", condition="all_done", target=_handler()),
    ]
    parts = {"schedule": NIGHTLY, "deadline_at": "06:00", "labels": {"team": "billing"}}
    child = make_workflow(alpha, [calls("a")])
    flow.append({"key": "more", "kind": "workflow", "workflow_id": str(child.id)})
    task = make_workflow(alpha, flow, **parts)

    said = call("workflows", "show", str(task.id)[-12:])

    assert "for each item" in said.out
    for words in ("event paid", "approval", "delay of 90 s", "handler count", "by 06:00"):
        assert words in said.out
    assert f"workflow {str(child.id)[-12:]}" in said.out
    assert "Berlin" in said.out
    document = read_document(
        "workflows-show", call("workflows", "show", str(task.id), "--json").out
    )
    assert "s3cret" not in str(document)
    assert [step["key"] for step in document["steps"]][-1] == "more"
    assert document["tenant_id"] == str(alpha.id)


def test_show_says_why_a_workflow_is_paused_and_when_it_runs(alpha):
    task = make_workflow(alpha, [calls("a")], deadline_seconds=7200, max_concurrent=1)
    pause_task(alpha.id, task.id, Pause(note="receiver is down"), actor=COMMAND)

    said = call("workflows", "show", str(task.id))

    assert "PAUSED (receiver is down)" in said.out
    assert "Only when asked" in said.out
    assert "7200 s after the begin" in said.out


def test_a_definition_that_no_key_opens_is_shown_without_its_steps(alpha):
    task = make_workflow(alpha, [calls("a")])
    spoil(task)

    document = read_document(
        "workflows-show", call("workflows", "show", str(task.id), "--json").out
    )

    assert "ENCRYPTION_KEYS" in document["missing"]


def test_what_is_not_there_exits_with_3(alpha, beta):
    task = make_workflow(alpha, [calls("a")])

    assert call("workflows", "show", "0" * 12).code == 3
    assert call("workflows", "show", str(task.id), "--tenant", "Beta").code == 3
    assert call("workflows", "list", "--tenant", "Gamma").code == 3


def _bearer(token: str) -> dict[str, str]:
    return {"type": "bearer", "token": token}


def _handler() -> dict[str, str]:
    return {"kind": "handler", "handler": "count"}
