from __future__ import annotations

import pytest

from executions.models import Execution, WorkflowStep
from shared.actor import COMMAND
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document
from tests.support.workflows import (
    begin_run,
    begin_take,
    calls,
    go_on,
    make_workflow,
    payloads_of,
    states,
    work,
)

WAITS = {"key": "wait", "kind": "wait_for_event", "event": "paid", "correlation": "order-17"}
APPROVAL = {"key": "ok", "kind": "approval"}


@pytest.fixture
def task(alpha):
    after = calls("ship", "wait", payload="{{ steps.wait.output }}")
    return make_workflow(alpha, [calls("a"), WAITS, after])


def test_a_step_that_waits_is_skipped(task):
    run = begin_run(task)

    said = call("workflows", "skip", str(run)[-12:], "wait", "--yes", "--json")

    document = read_document("workflows-skip", said.out)
    assert [step["status"] for step in document["steps"]] == ["QUEUED", "SKIPPED", "SKIPPED"]
    assert states(run)["wait"] == "SKIPPED"


def test_a_step_that_waits_succeeds_with_an_output(task):
    run = begin_run(task)

    said = call("workflows", "succeed", str(run), "wait", "--output", '{"by": "hand"}', "--yes")

    assert said.out == f"step wait marked as succeeded\nrun {run} is RUNNING\n"
    assert payloads_of(run, 3) == [{"by": "hand"}]
    assert WorkflowStep.objects.get(run_id=run, step=2).actor


def test_decisions_ask_first(task, monkeypatch):
    run = begin_run(task)

    for verb in ("skip", "succeed"):
        type_in(monkeypatch, "n\n")
        assert call("workflows", verb, str(run), "wait").code == 1
        type_in(monkeypatch, "y\n", terminal=False)
        assert call("workflows", verb, str(run), "wait").code == 2

    assert states(run)["wait"] == "OPEN"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("skip", "{run}", "a"), 4),
        (("succeed", "{run}", "a"), 4),
        (("skip", "{run}", "nothing"), 3),
        (("skip", "000000000000", "wait"), 3),
        (("succeed", "{run}", "wait", "--output", "{"), 2),
        (("approve", "{run}", "wait", "--take", "1"), 4),
        (("approve", "{run}", "nothing", "--take", "1"), 3),
        (("approve", "{run}", "wait", "--take", "1", "--note", "x" * 1001), 2),
    ],
)
def test_refusals_have_their_exit_codes(task, words, code):
    run = begin_run(task)

    said = call("workflows", *(word.replace("{run}", str(run)) for word in words), "--yes")

    assert said.code == code, said.err


@pytest.mark.parametrize(
    ("words", "state"), [((), "SUCCEEDED"), (("--reject",), "FAILED")], ids=["approved", "rejected"]
)
def test_an_approval_is_decided_with_a_note(alpha, words, state):
    run = begin_run(make_workflow(alpha, [APPROVAL, calls("b", "ok")]))

    said = call(
        *("workflows", "approve", str(run), "ok", "--take", "1", "--note", "checked", *words),
        *("--yes", "--json"),
    )

    read_document("workflows-approve", said.out)
    assert states(run)["ok"] == state
    end = WorkflowStep.objects.get(run_id=run, step=1)
    assert (end.note, end.actor) == ("checked", COMMAND.name)


def test_an_approval_of_another_take_is_refused(alpha):
    run = begin_run(make_workflow(alpha, [APPROVAL]))

    said = call("workflows", "approve", str(run), "ok", "--take", "2", "--yes")

    assert (said.code, "take 2" in said.err) == (4, True)
    assert call("workflows", "approve", str(run), "ok", "--yes").code != 0
    assert states(run)["ok"] == "OPEN"


def test_a_signal_releases_the_steps_that_wait_for_it(task, alpha):
    run = begin_run(task)

    said = call(
        *("workflows", "signal", "paid", "--correlation", "order-17"),
        *("--payload", '{"amount": 20}', "--json"),
    )
    go_on(run)

    document = read_document("workflows-signal", said.out)
    assert (document["released"], document["tenant_id"]) == (1, str(alpha.id))
    assert states(run)["wait"] == "SUCCEEDED"
    work(run)
    assert payloads_of(run, 3) == [{"amount": 20}]


def test_a_signal_without_a_waiting_step_is_kept_and_says_so(alpha):
    said = call("workflows", "signal", "paid")

    assert said.out == "sent paid: 0 waiting steps\n"
    assert "kept for a day" in said.err
    assert not Execution.objects.exists()


@pytest.mark.parametrize(
    "words",
    [("",), ("x" * 201,), ("paid", "--correlation", "x" * 201), ("paid", "--payload", "{")],
)
def test_a_signal_that_cannot_be_sent_is_wrong_use(alpha, words):
    assert call("workflows", "signal", *words).code == 2


def test_the_tenant_of_a_signal_is_named_where_there_are_several(alpha, beta):
    assert call("workflows", "signal", "paid").code == 2
    assert call("workflows", "signal", "paid", "--tenant", "Beta").code == 0


def test_a_failed_step_of_an_ended_run_is_marked_and_the_run_goes_on(alpha):
    named = calls("b", "a", payload="{{ steps.a.output.by }}")
    run = begin_run(make_workflow(alpha, [calls("a"), named]))
    work(run, lambda key, item: "FAILED")

    said = call("workflows", "succeed", str(run), "a", "--output", '{"by": "hand"}', "--yes")
    begin_take(run)

    assert said.out == f"step a marked as succeeded\nrun {run} is PENDING\n"
    assert payloads_of(run, 2) == ["hand"]


@pytest.mark.parametrize("verb", ["skip", "succeed"])
def test_an_item_of_a_fan_out_that_has_not_begun_is_ended(alpha, verb):
    run = begin_run(make_workflow(alpha, [calls("load", for_each=[1, 2], max_parallel=1)]))

    assert call("workflows", verb, str(run), "load", "--item", "-1", "--yes").code == 2
    assert call("workflows", verb, str(run), "load", "--item", "1", "--yes").code == 0

    assert work(run) == ["load[0]"]
