"""The output of a step is what its execution returned or answered, or the step fails by a code."""

from __future__ import annotations

import codecs
from typing import Any

import pytest

from shared.encryption import DecryptionFailed, seal_json
from shared.ids import new_id
from shared.sealing_contexts import response_context, result_context
from tests.support.workflow_steps import answered, facts
from workflows.advance.outputs import MOST_BYTES, OutputInvalid, checked, output_of

TENANT = new_id()


@pytest.mark.parametrize(
    ("body", "output"),
    [
        (b'{"rows": [1, 2.5, null]}', {"rows": [1, 2.5, None]}),
        (codecs.BOM_UTF8 + b'"text"', "text"),
        ('["ä"]'.encode("utf-16"), ["ä"]),
        (b"0", 0),
        (b"9223372036854775809", 2**63 + 1),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b"null", None),
    ],
)
def test_json_of_an_answer_is_the_output(body: bytes, output: Any):
    assert answered(body) == output


@pytest.mark.parametrize("body", [b"", b"<html>", b"NaN", b'{"a": 1', b"\xff\xfe\xfd"])
def test_an_answer_that_is_no_json_is_null(body: bytes):
    assert answered(body) is None


def test_a_compressed_answer_is_null():
    assert answered(b'{"a": 1}', encoding="br") is None


def test_a_step_without_result_and_answer_has_null():
    assert output_of(facts(new_id()), TENANT) is None


def test_the_log_of_a_command_is_no_output():
    execution_id = new_id()
    log = {"log": "e30=", "truncated": False, "exit_code": 0}

    assert (
        output_of(
            facts(execution_id, response=seal_json(log, response_context(TENANT, execution_id))),
            TENANT,
        )
        is None
    )


def test_a_result_goes_before_an_answer():
    execution_id = new_id()
    parts = {
        "result": seal_json({"from": "result"}, result_context(TENANT, execution_id)),
        "response": b"never opened",
    }

    assert output_of(facts(execution_id, **parts), TENANT) == {"from": "result"}


def test_a_cut_answer_is_too_large():
    with pytest.raises(OutputInvalid) as refused:
        answered(b'{"a": 1}', truncated=True)

    assert refused.value.failure.code == "output_too_large"


def test_an_output_of_exactly_the_bound_is_kept():
    assert checked("x" * (MOST_BYTES - 2))
    with pytest.raises(OutputInvalid) as refused:
        checked("x" * (MOST_BYTES - 1))

    assert refused.value.failure.code == "output_too_large"
    assert str(MOST_BYTES) in refused.value.failure.message


@pytest.mark.parametrize(
    "body",
    [
        rb'"NUL \u0000"',
        b"[" * 70 + b"]" * 70,
        b"[" * 10_000 + b"]" * 10_000,
        rb'["\ud800"]',
        b'{"id": 123456789012345678901234567890}',
        b"1e999",
        b'{"a": {"b\\u0000": 1}}',
    ],
)
def test_json_that_the_database_cannot_hold_is_invalid(body: bytes):
    with pytest.raises(OutputInvalid) as refused:
        answered(body)

    assert refused.value.failure.code == "output_invalid"


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**64, -(2**63) - 1, "\ud800", object()]
)
def test_a_value_that_is_no_json_is_invalid(value: Any):
    with pytest.raises(OutputInvalid) as refused:
        checked({"value": value})

    assert refused.value.failure.code == "output_invalid"


def test_a_result_that_no_key_opens_says_so():
    with pytest.raises(DecryptionFailed):
        output_of(facts(new_id(), result=b"\x01"), TENANT)
