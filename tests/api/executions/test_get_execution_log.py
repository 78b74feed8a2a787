from __future__ import annotations

import pytest

from executions.models import Attempt, Execution
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.factories import ApiClient, finish, make_execution, release, start
from wire.sealing import sealed_log

pytestmark = pytest.mark.django_db


@pytest.fixture
def logged(alpha: Tenant) -> Execution:
    execution = make_execution(alpha)
    for status, log in (("RETRYING", b"first\n"), ("SUCCEEDED", b"line \xff\n<b>x</b>\n")):
        (row,) = release(window_seconds=60)
        start([row])
        sealed = sealed_log(
            {"tenant": execution.tenant_id, "id": execution.id}, log, truncated=False, exit_code=0
        )
        finish(row, status, sealed_response=sealed, retry_in=0.0)
    return execution


def path(execution: Execution, query: str = "") -> str:
    return f"/v1/executions/{execution.id}/log{query}"


def test_the_latest_log_is_plain_text(viewer: ApiClient, logged: Execution):
    answer = viewer.get(path(logged))

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.content.decode() == "line \ufffd\n<b>x</b>\n"


def test_the_log_of_an_earlier_attempt(viewer: ApiClient, logged: Execution):
    assert viewer.get(path(logged, "?attempt=1")).content == b"first\n"
    assert viewer.get(path(logged, "?attempt=3")).status_code == 404


@pytest.mark.parametrize("value", ["0", "x", "40000"])
def test_a_number_that_no_attempt_has_is_refused(viewer: ApiClient, logged: Execution, value):
    answer = viewer.get(path(logged, f"?attempt={value}"))

    assert answer.status_code == 400
    assert b"attempt" in answer.content


def test_without_a_log_it_is_404(viewer: ApiClient, alpha: Tenant):
    answer = viewer.get(path(make_execution(alpha, "SUCCEEDED")))

    assert problem(answer) == (404, "not_found")


def test_a_log_that_no_key_opens_is_a_conflict(viewer: ApiClient, logged: Execution):
    Attempt.objects.filter(execution_id=logged.id).update(sealed_response=b"\x01")

    assert problem(viewer.get(path(logged))) == (409, "decryption_failed")
