"""Steps of runs one by one: claimed, ended in any way, and left for the advance or not."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast
from uuid import UUID

from executions.models import EndedWorkflowRun, Execution, WorkflowRun
from shared.encryption import seal_json
from shared.ids import new_id
from shared.sealing_contexts import response_context, result_context
from tests.factories import finish, release, start
from tests.support.workflows import Answer, ends_of, go_on, step_of, succeed, version_of
from wire.messages import Claimed
from workflows.advance.outputs import output_of
from workflows.advance.records import Ended
from workflows.plan import plan_of

_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
OPEN = ["PENDING", "QUEUED", "RUNNING", "RETRYING"]


class Held(NamedTuple):
    """An open execution that a worker has, as ``tests.factories.finish`` takes it."""

    id: UUID
    token: int
    attempt: int
    lease_expires_at: datetime | None


def claim(run_id: UUID) -> dict[str, Held]:
    """Hand what is due to workers; return all that they have of a run: ``load``, ``load[0]``."""
    release()
    # In an order of its own: what begins together is due at one time.
    return {
        key if item < 0 else f"{key}[{item}]": _held(row)
        for row in Execution.objects.filter(run_id=run_id, status="QUEUED").order_by("step", "item")
        for _, key, item in [step_of(row.id)]
    }


def claim_all(run_id: UUID) -> dict[str, Held]:
    """Hand all that is due to workers; return what they have of a large run without fan-outs."""
    while release():
        pass
    found = Execution.objects.filter(run_id=run_id, status="QUEUED")
    keys = plan_of(found[0].task_id, version_of(run_id)).keys
    return {keys[cast(int, row.step)]: _held(row) for row in found}


def work_on(run_id: UUID, answer: Answer = succeed) -> list[str]:
    """End all that a run has with workers, or begins, until it rests; return the keys in order."""
    done: list[str] = []
    while held := claim(run_id):
        for name, row in held.items():
            _, key, item = step_of(row.id)
            said = answer(key, item)
            end(row, *(said if isinstance(said, tuple) else (said,)))
            done.append(name)
        go_on(run_id)
    return done


def start_step(row: Held) -> None:
    """Let a worker start a claimed step: RUNNING."""
    start([cast(Claimed, row)])


def end(row: Held, status: str = "SUCCEEDED", result: Any = None, **parts: Any) -> None:
    """End a claimed step, without an advance; ``result`` is its output."""
    if result is not None:
        parts["sealed_result"] = seal_json(result, result_context(_tenant_of(row), row.id))
    finish(cast(Claimed, row), status, **parts)


def reply(row: Held, body: bytes, *, truncated: bool = False, encoding: str = "") -> None:
    """End a claimed step with the answer of its webhook, without an advance."""
    finish(
        cast(Claimed, row),
        sealed_response=_captured(_tenant_of(row), row.id, body, truncated, encoding),
    )


def run_step(run_id: UUID, key: str, status: str = "SUCCEEDED", result: Any = None) -> None:
    """Claim what is due of a run, end one step of it, and advance the run."""
    end(claim(run_id)[key], status, result)
    go_on(run_id)


def open_keys(run_id: UUID) -> list[str]:
    """Return the keys of a run's open executions, one for each, by step and item."""
    found = Execution.objects.filter(run_id=run_id, step__isnull=False, status__in=OPEN)
    named = [step_of(row.id)[1:] for row in found.order_by("step", "item")]
    return [key if item < 0 else f"{key}[{item}]" for key, item in named]


def why(run_id: UUID, step: int, item: int = -1) -> tuple[str, str]:
    """Return status and error code, or else reason, of the latest end of a step."""
    found = [end for end in ends_of(run_id) if (end.step, end.item) == (step, item)][-1]
    return found.status, found.error_code or found.reason


def ended_run(run_id: UUID) -> EndedWorkflowRun:
    """Return the latest ended take of a run that has ended."""
    assert not WorkflowRun.objects.filter(pk=run_id).exists(), "the run is still open"
    return EndedWorkflowRun.objects.filter(pk=run_id).latest("take")


def answered(body: bytes, *, truncated: bool = False, encoding: str = "") -> Any:
    """Return the output of a webhook's answer; raise OutputInvalid as the advance finds it."""
    execution_id = new_id()
    tenant_id = new_id()
    sealed = _captured(tenant_id, execution_id, body, truncated, encoding)
    return output_of(facts(execution_id, response=sealed), tenant_id)


def facts(execution_id: UUID, **parts: Any) -> Ended:
    """Return the facts of a succeeded execution, as an advance reads them."""
    nothing = Ended(execution_id, "SUCCEEDED", "", "", "", None, _LONG_AGO, None, None)
    return nothing._replace(**parts)


def _held(row: Execution) -> Held:
    return Held(row.id, row.fencing_token or 0, row.attempt, row.lease_expires_at)


def _tenant_of(row: Held) -> UUID:
    found: UUID = Execution.objects.values_list("tenant_id", flat=True).get(pk=row.id)
    return found


def _captured(
    tenant_id: UUID, execution_id: UUID, body: bytes, truncated: bool, encoding: str
) -> bytes:
    captured = {
        "headers": [],
        "body": base64.b64encode(body).decode(),
        "truncated": truncated,
        "address": "192.0.2.1",
        "encoding": encoding,
    }
    return seal_json(captured, response_context(tenant_id, execution_id))
