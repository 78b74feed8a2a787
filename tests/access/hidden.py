"""The world with rows in which all that counts as payload holds one text.

A caller without the right to see payloads is answered it nowhere.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any
from uuid import UUID

from executions.bulk.jobs import create_bulk_job
from executions.dead_letters.letters import retry_dead_letter
from executions.models import DeadLetter, Execution
from executions.triggering.triggers import Override
from notifications.models import Alert
from shared.encryption import seal_json
from shared.sealing_contexts import progress_context, response_context, result_context
from tests.access.world import HOST, World, make_world
from tests.factories import ACTOR, finish, make_execution, make_task, once, release, start
from tests.support.workflows import begin_run, make_workflow, work

#: Unlike anything that a page says by itself.
HIDDEN_TEXT = "canary-p"


def make_hidden_world() -> World:
    """Return the world of Alpha, whose ids are of rows that hold the text."""
    world = make_world(_workflow)
    tenant = world.tenant
    task = make_task(tenant, _body(schedule={"cron_expression": "0 8 * * *"}))
    make_task(tenant, _body() | {"payload": None, "payload_ref": f"s3://bucket/{HIDDEN_TEXT}"})
    unsettled = DeadLetter.objects.get(execution_id=_failed(tenant))
    ended = _failed(tenant)
    letter = DeadLetter.objects.get(execution_id=ended)
    retry_dead_letter(tenant.id, letter.id, Override({"text": HIDDEN_TEXT}), actor=ACTOR)
    alert = Alert.objects.create(
        tenant_id=tenant.id,
        kind="final_failure",
        error_signature="handler_error",
        destination=HOST,
        cause="handler error",
        task_id=task.id,
        task_name="plain",
        execution_id=ended,
        error_code="handler_error",
        error_message=HIDDEN_TEXT,
        first_at=letter.created_at,
        last_at=letter.created_at,
    )
    job = create_bulk_job(
        tenant.id,
        kind="executions",
        action="replay",
        filters={"ids": [str(ended)]},
        options={"into": {"url": f"https://staging.example.com/?token={HIDDEN_TEXT}"}},
        name="plain",
        actor=ACTOR,
    )
    rows = {"task_id": task.id, "letter_id": letter.id, "ended_id": ended, "alert_id": alert.id}
    rows |= {"execution_id": ended, "waiting_id": world.ids["execution_id"]}
    rows |= {"unsettled_id": unsettled.id, "job_id": job.id, "logged_id": world.ids["ended_id"]}
    return replace(world, ids={**world.ids, **rows})


def _body(**parts: Any) -> dict[str, Any]:
    target = {
        "url": f"https://{HOST}/in?token={HIDDEN_TEXT}",
        "headers": {"X-Team": HIDDEN_TEXT},
        "auth": {"type": "basic", "username": HIDDEN_TEXT, "password": "x"},
        "success": {"statuses": ["2xx"], "body_pattern": HIDDEN_TEXT},
    }
    return once(name="plain", payload={"text": HIDDEN_TEXT}, target=target, **parts)


def _failed(tenant: Any) -> UUID:
    execution = make_execution(tenant, "PENDING", _body())
    row = next(row for row in release() if row.id == execution.id)
    start([row])
    answer = {
        "headers": [["X-Answer", HIDDEN_TEXT]],
        "body": base64.b64encode(HIDDEN_TEXT.encode()).decode(),
        "truncated": False,
    }
    sealed = seal_json(answer, response_context(execution.tenant_id, execution.id))
    finish(
        row,
        "FAILED",
        reason="attempts_exhausted",
        sealed_response=sealed,
        error_code="response_mismatch",
        error_message=f"{HIDDEN_TEXT}-error",
    )
    Execution.objects.filter(pk=execution.id).update(
        sealed_progress=seal_json(
            {"text": HIDDEN_TEXT}, progress_context(execution.tenant_id, execution.id)
        ),
        sealed_result=seal_json(
            {"text": HIDDEN_TEXT}, result_context(execution.tenant_id, execution.id)
        ),
    )
    return execution.id


def _workflow(tenant: Any) -> dict[str, UUID]:
    target = _body()["target"]
    steps = [
        {"key": "load", "target": target, "payload": {"text": HIDDEN_TEXT}},
        {
            "key": "each",
            "target": target,
            "depends_on": ["load"],
            "for_each": [HIDDEN_TEXT, "two"],
            "payload": "{{ item }}",
            "when": f"input.text != '{HIDDEN_TEXT}-2'",
        },
        {"key": "wait", "kind": "wait_for_event", "event": "paid", "correlation": HIDDEN_TEXT},
        {"key": "ok", "kind": "approval"},
        {
            "key": "after",
            "target": target,
            "depends_on": ["ok"],
            "compensate": {"target": target, "payload": {"text": HIDDEN_TEXT}},
        },
    ]
    schedule = {"cron_expression": "0 8 * * *"}
    task = make_workflow(tenant, steps, name="plain", schedule=schedule, on_failure="continue")
    given, output = {"text": HIDDEN_TEXT}, {"text": HIDDEN_TEXT}
    failed = begin_run(task, given)
    work(failed, lambda key, item: ("FAILED" if key == "each" else "SUCCEEDED", output))
    Execution.objects.filter(pk=failed).update(
        error_code="step_failed", error_message=f"{HIDDEN_TEXT}-error"
    )
    waiting = begin_run(task, given)
    work(waiting, lambda key, item: ("SUCCEEDED", output))
    return {"workflow_id": task.id, "run_id": waiting, "failed_run_id": failed}
