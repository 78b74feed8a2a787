from __future__ import annotations

import pytest

from executions.models import Execution
from executions.payloads import payload_of
from operations.workflows import running
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.workflows import EVERYWHERE, calls, go_on, make_workflow, work
from workflows.begin import begin_due

SCHEMA = {"type": "object", "required": ["day"]}


@pytest.fixture
def task(alpha):
    return make_workflow(alpha, [calls("a"), calls("b", "a")])


def test_a_run_starts_with_its_input(alpha):
    task = make_workflow(alpha, [calls("a")], input_schema=SCHEMA)

    said = call(
        *("workflows", "run", str(task.id)[-12:], "--json"),
        *("--input", '{"day": "2026-11-28"}'),
    )

    document = read_document("workflows-run", said.out)
    run = Execution.objects.get(pk=document["id"])
    assert payload_of(run) == {"day": "2026-11-28"}
    assert (document["status"], document["counts"]) == ("PENDING", {"PENDING": 1})
    assert f"manage.py workflows status {document['id'][-12:]}" in said.err


def test_an_input_that_does_not_fit_starts_nothing(alpha):
    task = make_workflow(alpha, [calls("a")], input_schema=SCHEMA)

    said = call("workflows", "run", str(task.id), "--input", "{}")

    assert (said.code, "day" in said.err) == (2, True)
    assert call("workflows", "run", str(task.id)).code == 2
    assert call("workflows", "run", str(task.id), "--input", "{").code == 2
    assert not Execution.objects.exists()


@pytest.mark.parametrize(("end", "code"), [("SUCCEEDED", 0), ("FAILED", 1)])
def test_with_wait_it_shows_the_end_and_leaves_with_its_code(task, monkeypatch, end, code):
    def until_final(ids, *, timeout, changed):
        [run] = ids
        begin_due(EVERYWHERE, 10)
        go_on(run)
        work(run, lambda key, item: end)
        found = [Execution.objects.get(pk=run)]
        changed(found[0])
        return found

    monkeypatch.setattr(running, "until_final", until_final)

    said = call("workflows", "run", str(task.id), "--wait")

    assert said.code == code
    assert f"status    {end}" in said.out
    assert f"  {end}\n" in said.err


def test_when_the_time_is_up_it_says_how_to_follow(task):
    said = call("workflows", "run", str(task.id), "--wait", "0")

    assert said.code == 7
    assert "The time is up; follow it with `manage.py workflows status " in said.err
    assert call("workflows", "run", str(task.id), "--wait", "-1").code == 2


def test_an_unknown_workflow_exits_with_3(task):
    assert call("workflows", "run", "0" * 12).code == 3
