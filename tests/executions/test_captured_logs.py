from __future__ import annotations

import pytest

from executions.captured_logs import captured_log, log_url
from executions.models import Execution
from executions.payloads import response_of
from shared.exceptions import NotFound
from tenants.models import Tenant
from tests.executions.answers import sealed_answer
from tests.factories import finish, make_execution, release, start
from wire.sealing import sealed_log

pytestmark = pytest.mark.django_db


def attempt(execution: Execution, status: str, log: bytes | None, **parts: object) -> None:
    (row,) = release(window_seconds=60)
    start([row])
    sealed = None
    if log is not None:
        sealed = sealed_log(
            {"tenant": execution.tenant_id, "id": execution.id}, log, truncated=False, exit_code=0
        )
    finish(row, status, sealed_response=sealed, retry_in=0.0)


def test_the_latest_log_is_found_and_each_by_its_number(alpha: Tenant):
    execution = make_execution(alpha)
    attempt(execution, "RETRYING", b"one")
    attempt(execution, "RETRYING", b"two")
    attempt(execution, "SUCCEEDED", None)

    latest = captured_log(execution)

    assert (latest.attempt, latest.output, latest.exit_code) == (2, b"two", 0)
    assert captured_log(execution, 1).output == b"one"
    for number in (3, 4):
        with pytest.raises(NotFound):
            captured_log(execution, number)


def test_the_answer_to_a_webhook_is_no_log_and_a_log_no_answer(alpha: Tenant):
    execution = make_execution(alpha)
    attempt(execution, "RETRYING", b"one")
    (row,) = release(window_seconds=60)
    start([row])
    finish(row, sealed_response=sealed_answer(execution.id, b"fine", []))

    assert captured_log(execution).attempt == 1
    first, second = execution.attempts.order_by("number")
    assert response_of(first) is None
    assert response_of(second)["body"] == "fine"  # type: ignore[index]  # it has one


@pytest.mark.parametrize(
    ("pool", "tried", "shown"),
    [
        ("handlers", 1, True), ("commands", 2, True), ("handlers", 0, False),
        ("default", 1, False), ("pull.batch", 1, False),
    ],
)  # fmt: skip
def test_only_kinds_that_write_a_log_have_its_url(pool, tried, shown):
    execution = Execution(pool=pool, attempt=tried)

    expected = f"/v1/executions/{execution.id}/log" if shown else None
    assert log_url(execution) == expected
