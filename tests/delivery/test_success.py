from __future__ import annotations

from typing import Any

import pytest

from delivery.http_messages import Response
from delivery.success import read_criteria


def mismatch(
    success: dict[str, Any],
    body: bytes = b"",
    *headers: tuple[str, str],
    truncated: bool = False,
    encoding: str = "",
) -> str | None:
    criteria = read_criteria({"statuses": ["2xx"], **success})
    assert criteria is not None
    answer = Response(200, list(headers), body, truncated, {}, "1.1.1.1", encoding)
    return criteria.mismatch(answer)


def test_a_status_alone_has_no_criteria():
    assert read_criteria({"statuses": ["2xx"]}) is None
    assert read_criteria({"statuses": ["2xx"], "header": None, "json": None}) is None


@pytest.mark.parametrize(
    ("headers", "holds"),
    [
        ([("x-STATE", "job done")], True),
        ([("X-State", "failed"), ("X-State", "done")], True),
        ([("X-State", "failed")], False),
        ([("X-Other", "done")], False),
        ([], False),
    ],
)
def test_a_header_has_to_hold_its_pattern(headers: list[tuple[str, str]], holds: bool):
    found = mismatch({"header": {"name": "X-State", "pattern": "done$"}}, b"", *headers)

    assert (found is None) is holds


@pytest.mark.parametrize(
    ("body", "holds"),
    [(b"all done.", True), (b"", False), (b"\xff done \xfe", True), (b"undone", False)],
)
def test_the_body_has_to_hold_its_pattern(body: bytes, holds: bool):
    assert (mismatch({"body_pattern": r"\bdone\b"}, body) is None) is holds


def test_a_body_that_could_not_be_decompressed_holds_nothing():
    assert mismatch({"body_pattern": "done"}, b"done", encoding="br")


@pytest.mark.parametrize(
    ("equals", "body", "holds"),
    [
        *(("ok", b'{"a":[{"b":"ok"}]}', True), ("ok", b'{"a":[{"b":"no"}]}', False)),
        *((1, b'{"a":[{"b":1.0}]}', True), (1, b'{"a":[{"b":true}]}', False)),
        *((True, b'{"a":[{"b":true}]}', True), (False, b'{"a":[{"b":0}]}', False)),
        *((None, b'{"a":[{"b":null}]}', True), (None, b'{"a":[{}]}', False)),
        *(("1", b'{"a":[{"b":1}]}', False), (0, b'{"a":[{"b":[]}]}', False)),
        *(("ok", b"<html>", False), ("ok", b"", False), ("ok", b"[" * 5000, False)),
    ],
)
def test_a_place_of_the_json_has_to_be_the_value(equals: Any, body: bytes, holds: bool):
    found = mismatch({"json": {"path": "$.a[0].b", "equals": equals}}, body)

    assert (found is None) is holds


def test_the_json_of_a_cut_answer_cannot_be_judged():
    found = mismatch({"json": {"path": "$", "equals": 1}}, b"1", truncated=True)

    assert found == "The answer is longer than what is captured, so its JSON cannot be judged."


def test_all_criteria_have_to_hold():
    both = {"body_pattern": "done", "json": {"path": "$.state", "equals": "done"}}

    assert mismatch(both, b'{"state": "done"}') is None
    assert mismatch(both, b'{"state": "undone"}')


def test_the_sentence_shows_nothing_of_the_answer():
    found = mismatch({"json": {"path": "$.a", "equals": "x"}}, b'{"a": "canary"}')

    assert found is not None
    assert "canary" not in found


@pytest.mark.parametrize(
    "success",
    [{"body_pattern": "("}, {"json": {"path": "a", "equals": 1}}],
)
def test_what_validation_would_have_refused_is_an_error(success: dict[str, Any]):
    with pytest.raises(ValueError, match=r".+"):
        read_criteria(success)
