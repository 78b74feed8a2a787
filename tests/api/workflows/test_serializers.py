from __future__ import annotations

import pytest

from api.workflows.serializers import (
    RUN_STATUSES,
    STEP_STATUSES,
    CancelRunBody,
    RetryRunBody,
    StartRunBody,
)


def test_a_run_is_never_in_the_hands_of_a_worker():
    assert set(RUN_STATUSES) == {
        "PENDING",
        "RUNNING",
        "SUCCEEDED",
        "FAILED",
        "CANCELLED",
        "SKIPPED",
    }
    assert STEP_STATUSES[:2] == ("PENDING", "WAITING")
    assert len(set(STEP_STATUSES)) == len(STEP_STATUSES) == 9


def test_a_retry_is_of_all_that_failed_by_the_same_version_unless_told():
    body = RetryRunBody(data={})

    assert body.is_valid()
    assert body.validated_data == {
        "from": "failed",
        "version": "original",
        "cancel_running": False,
    }


@pytest.mark.parametrize("value", [None, 0, [], {"n": 1}])
def test_any_json_is_an_input(value):
    body = StartRunBody(data={"input": value})

    assert body.is_valid()
    assert body.validated_data == {"input": value}


@pytest.mark.parametrize("given", [{"scope": "downstream"}, {"scope": "all", "key": "a"}])
def test_a_key_goes_with_the_scope_that_names_one(given):
    body = CancelRunBody(data=given)

    assert not body.is_valid()
    assert [error.code for error in body.errors["key"]] == ["conflict"]
