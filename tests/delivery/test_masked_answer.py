"""What a receiver repeats of a named secret is masked before it is judged and kept."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from delivery.errors import DeliveryError
from delivery.http_client import Response
from delivery.masked_answer import judged_answer
from delivery.plan import Plan, read_plan
from shared.addresses import AllowList
from shared.named_secrets.bindings import Binding
from shared.named_secrets.opened import NO_SECRETS, Secrets
from shared.named_secrets.sealed import NamedValue
from tasks.definition import RETRY_DEFAULTS, TARGET_DEFAULTS

VALUE = "s3cret/value+0815"
SECRETS = Secrets({"token": NamedValue(VALUE, Binding(("*",)))}, ["token"])
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANSWER = Response(200, [("X-Echo", VALUE)], f"is {VALUE}".encode(), False, {}, "1.1.1.1")


def plan(secrets: Secrets = SECRETS, **success: Any) -> Plan:
    target = {
        **TARGET_DEFAULTS,
        "kind": "webhook",
        "url": "https://api.example.com/",
        "headers": {},
    }
    target["success"] = {**target["success"], **success}
    return read_plan(
        target, None, policy=RETRY_DEFAULTS, tenant="t", allow=AllowList(), secrets=secrets
    )


def test_body_and_headers_have_a_mask_in_place_of_the_value():
    result, verdict = judged_answer(plan(), ANSWER, NOW)

    assert isinstance(result, Response)
    assert (result.body, result.headers) == (b"is [redacted]", [("X-Echo", "[redacted]")])
    assert verdict.outcome == "SUCCEEDED"


@pytest.mark.parametrize(
    "criteria",
    [
        {"body_pattern": "s3c"},
        {"header": {"name": "X-Echo", "pattern": "s3c"}},
    ],
)
def test_criteria_do_not_tell_whether_a_value_begins_with_a_letter(criteria):
    assert judged_answer(plan(**criteria), ANSWER, NOW)[1].error_code == "response_mismatch"


@pytest.mark.parametrize("kept", [10, 12, 16])
def test_the_part_of_a_value_before_the_end_of_a_cut_answer_is_masked(kept):
    cut = replace(ANSWER, body=f"is {VALUE}".encode()[: 3 + kept], truncated=True)

    result, _ = judged_answer(plan(), cut, NOW)

    assert isinstance(result, Response)
    assert result.body == b"is [redacted]"


def test_the_proof_of_a_call_is_masked_as_it_is_sent():
    proof = base64.b64encode(f"user:{VALUE}".encode())

    result, _ = judged_answer(plan(), replace(ANSWER, body=b"Basic " + proof), NOW)

    assert isinstance(result, Response)
    assert base64.b64encode(VALUE.encode())[3:-4] not in result.body
    assert b"[redacted]" in result.body


def test_an_error_message_has_a_mask_in_place_of_the_value():
    error = DeliveryError("dns_failed", f"no {VALUE}")

    result, verdict = judged_answer(plan(), error, NOW)

    assert (result, verdict.error_message) == (error, "no [redacted]")


def test_without_secrets_an_answer_is_itself():
    assert judged_answer(plan(NO_SECRETS), ANSWER, NOW)[0] is ANSWER
