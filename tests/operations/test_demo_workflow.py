from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from operations import demo_workflow
from receiver.answers import Answers
from receiver.messages import Request
from shared.addresses import AllowList
from tasks.limits import Limits
from tasks.validation.workflow import parse_workflow
from tenants.models import Tenant
from tests.factories import ACTOR
from tests.operations.demo_tenant import RECEIVER, allow_receiver
from tests.support.workflows import begin_run, make_workflow, payloads_of, states, status_of, work
from workflows.control import approve_step

NOW = datetime(2026, 11, 20, 8, 0, 30, tzinfo=UTC)
LIMITS = Limits(payload_bytes=1024 * 64, allow_list=AllowList(("127.0.0.1/32",)))
STEPS = demo_workflow.body(RECEIVER)["steps"]
CALLS = {step["key"]: step for step in STEPS if "target" in step}


def test_it_is_valid_and_has_nine_steps_a_fan_out_and_an_approval():
    definition = parse_workflow(demo_workflow.body(RECEIVER), now=NOW, limits=LIMITS)

    assert len(definition.target["steps"]) == 9
    assert [step["key"] for step in STEPS if "for_each" in step] == ["load"]
    kinds = [step["key"] for step in STEPS if step.get("kind") == "approval"]
    assert kinds == [demo_workflow.APPROVAL]


@pytest.mark.parametrize("key", CALLS)
def test_each_step_calls_a_path_that_the_receiver_has_and_one_of_them_fails(key: str):
    path = CALLS[key]["target"]["url"].removeprefix(RECEIVER.rstrip("/"))

    status = Answers().answer(Request("POST", path)).status

    assert status == (500 if key == demo_workflow.FAILING else 200)


@pytest.fixture
def run(alpha: Tenant, settings: Any) -> UUID:
    allow_receiver(settings)
    body = demo_workflow.body(RECEIVER)
    return begin_run(make_workflow(alpha, body.pop("steps"), **body))


def answer(key: str, item: int) -> str:
    return "FAILED" if key == demo_workflow.FAILING else "SUCCEEDED"


def test_one_branch_fails_while_the_other_waits_for_a_person(run: UUID):
    done = work(run, answer)

    assert sorted(done) == [
        *("archive", "check", "extract"),
        *("load[0]", "load[1]", "load[2]", "load[3]", "tidy", "totals"),
    ]
    assert payloads_of(run, 4) == [{"regions": 4}]
    found = states(run)
    assert (found["approve"], found["archive"], found["tidy"]) == ("OPEN", "FAILED", "SUCCEEDED")
    assert status_of(run) == "RUNNING"


@pytest.mark.parametrize(
    ("approved", "published"), [(True, "SUCCEEDED"), (False, "SKIPPED")], ids=["yes", "no"]
)
def test_after_the_decision_the_report_is_sent_and_the_run_has_failed(
    alpha: Tenant, run: UUID, approved: bool, published: str
):
    work(run, answer)

    approve_step(alpha.id, run, "approve", approved=approved, take=1, note="", actor=ACTOR)
    work(run, answer)

    assert payloads_of(run, 9) == [{"published": published}]
    assert status_of(run) == "FAILED"
