"""``redact``: paths that are read strictly, and masks that do not become values."""

from __future__ import annotations

from typing import Any

import pytest

from shared.exceptions import InvalidInput
from shared.redaction import MASK
from tasks.definition import Definition, to_long
from tasks.validation.bodies import parse_patch, parse_replace
from tasks.validation.workflow import parse_workflow, parse_workflow_replace, workflow_fields
from tests.tasks.bodies import LIMITS, MINIMAL, NOW, create

PAYLOAD = {"card": {"number": "4111", "name": "A"}}
PATH = "$.card.number"


def made(**parts: Any) -> Definition:
    return create({**MINIMAL, "payload": PAYLOAD, "redact": [PATH], **parts})


def edited(current: Definition, **edit: Any) -> Definition:
    return parse_patch(current, edit, now=NOW, limits=LIMITS)[0]


def codes(call: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        call()
    return [(one.pointer, one.code) for one in refused.value.errors]


def test_an_answer_masks_the_named_fields_and_says_which():
    shown = to_long(made())

    assert shown["payload"] == {"card": {"number": MASK, "name": "A"}}
    assert shown["redact"] == [PATH]
    assert "redact" not in to_long(create(MINIMAL))


def test_an_answer_that_is_sent_back_keeps_the_values():
    current = made()

    same = parse_replace(to_long(current), now=NOW, limits=LIMITS, current=current)
    patched = edited(current, payload={"card": {"number": MASK, "name": "B"}})

    assert same == current
    assert patched.payload == {"card": {"number": "4111", "name": "B"}}
    assert edited(current, priority=2).payload == PAYLOAD


def test_paths_that_are_taken_away_leave_the_value():
    assert edited(made(), redact=[]).payload == PAYLOAD


def test_a_mask_without_a_stored_value_is_refused():
    masked = {"card": {"number": MASK}}

    assert codes(lambda: made(payload=masked)) == [("#/payload", "value_masked")]


@pytest.mark.parametrize(
    ("redact", "pointer", "code"),
    [
        ("x", "#/redact", "invalid_type"),
        ([5], "#/redact/0", "invalid_type"),
        (["card"], "#/redact/0", "path_invalid"),
        (["$.a[*]"], "#/redact/0", "path_invalid"),
        ([f"$.{'a' * 500}"], "#/redact/0", "too_long"),
        ([f"$.a{n}" for n in range(21)], "#/redact", "too_many"),
    ],
)
def test_what_is_no_list_of_paths_is_refused(redact, pointer, code):
    assert codes(lambda: made(redact=redact)) == [(pointer, code)]


def test_a_path_is_kept_once():
    assert made(redact=[PATH, PATH]).redact == [PATH]


def flow(**parts: Any) -> dict[str, Any]:
    step = {
        "key": "a",
        "target": {"url": "https://api.example.com/x"},
        "payload": PAYLOAD,
        "redact": [PATH],
        "compensate": {"target": {"url": "https://api.example.com/y"}, "payload": PAYLOAD},
    }
    return {"name": "Flow", "steps": [step], "redact": ["$.secret"], **parts}


def test_a_step_masks_its_payload_and_that_of_what_undoes_it():
    current = parse_workflow(flow(), now=NOW, limits=LIMITS)

    shown = workflow_fields(current)
    again = parse_workflow_replace(shown, now=NOW, limits=LIMITS, current=current)

    [step] = shown["steps"]
    assert step["payload"]["card"]["number"] == MASK
    assert step["compensate"]["payload"]["card"]["number"] == MASK
    assert shown["redact"] == ["$.secret"]
    assert again == current


def test_a_mask_in_a_new_step_is_refused():
    body = flow()
    body["steps"][0]["payload"] = {"card": {"number": MASK}}

    found = codes(lambda: parse_workflow(body, now=NOW, limits=LIMITS))

    assert found == [("#/steps/0/payload", "value_masked")]
