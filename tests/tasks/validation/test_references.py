"""What a task names outside of itself: the payload's reference, and its owner."""

from __future__ import annotations

import dataclasses

import pytest

from tasks.definition import Definition, to_long
from tasks.limits import URL_LENGTH
from tasks.validation.bodies import parse_create, parse_patch, parse_replace
from tests.tasks.bodies import (
    LIMITS,
    LONG,
    MINIMAL,
    NOW,
    SHORT,
    TARGETS,
    create,
    patch,
    problems,
    with_target,
)

REF = "https://store.example.com/reports/today.json?signature=abc"
BY_REF = MINIMAL | {"payload_ref": REF}


def with_keys(*names: str):
    return dataclasses.replace(LIMITS, key_names=lambda: frozenset(names))


def owned(owner, *keys: str) -> Definition:
    return parse_create(MINIMAL | {"owner": owner}, now=NOW, limits=with_keys(*keys))


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("reference", [REF, "s3://bucket/key with blanks", "reports/2026/ä.json"])
def test_every_kind_of_target_takes_a_url_or_a_key_in_place_of_a_payload(kind, reference):
    definition = create(with_target(TARGETS[kind]) | {"payload_ref": reference})

    assert (definition.payload, definition.payload_ref) == (None, reference)
    assert definition.sent == {"payload_ref": reference}
    assert to_long(definition)["payload_ref"] == reference


def test_a_raw_body_is_the_reference_itself():
    body = with_target({**MINIMAL["target"], "body_format": "raw"}) | {"payload_ref": REF}

    assert create(body).sent == REF


def test_without_a_reference_the_payload_is_sent():
    assert create(LONG).sent == LONG["payload"]
    assert create(MINIMAL | {"payload": None, "payload_ref": None}).sent is None


@pytest.mark.parametrize("payload", [{}, {"a": 1}, "x", 0, False, []])
def test_a_payload_and_a_reference_at_once_are_refused(payload):
    both = {"payload": payload, "payload_ref": REF}

    assert problems(create, MINIMAL | both) == {("#/payload_ref", "exclusive")}
    assert problems(patch, create(MINIMAL), both) == {("#/payload_ref", "exclusive")}
    short = SHORT | {"payload": {**SHORT["payload"], "body": payload}, "payload_ref": REF}
    assert problems(create, short) == {("#/payload_ref", "exclusive")}


def test_the_short_form_has_the_reference_beside_its_webhook():
    payload = {"webhook_url": SHORT["payload"]["webhook_url"]}

    assert create(SHORT | {"payload": payload, "payload_ref": REF}).sent == {"payload_ref": REF}


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("", "blank"),
        (" ", "blank"),
        (5, "invalid_type"),
        ({"url": REF}, "invalid_type"),
        ("x" * (URL_LENGTH + 1), "too_long"),
        ("a\nb", "invalid_characters"),
    ],
)
def test_what_is_no_reference_is_refused(reference, code):
    assert problems(create, MINIMAL | {"payload_ref": reference}) == {("#/payload_ref", code)}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_method_without_a_body_takes_no_reference(method):
    target = {**MINIMAL["target"], "method": method}

    found = problems(create, with_target(target) | {"payload_ref": REF})
    edited = problems(patch, create(BY_REF), {"target": {"method": method}})

    assert found == edited == {("#/payload_ref", "not_applicable")}


def test_a_reference_is_a_template_where_the_target_has_templates():
    target = {**MINIMAL["target"], "template": True}
    good = with_target(target) | {"payload_ref": "s3://bucket/{{ scheduled_for }}.json"}

    assert create(good).payload_ref == good["payload_ref"]
    wrong = good | {"payload_ref": "s3://{{ secret }}/x"}
    assert problems(create, wrong) == {("#/payload_ref", "template_unknown_name")}
    assert create(MINIMAL | {"payload_ref": "s3://{{ secret }}/x"}).payload_ref is not None


def test_an_edit_to_the_one_takes_the_place_of_the_other():
    by_payload, by_ref = create(LONG), create(BY_REF)

    referred, _ = patch(by_payload, {"payload_ref": REF})
    paid, _ = patch(by_ref, {"payload": {"a": 1}})
    neither, _ = patch(by_ref, {"payload_ref": None})
    renamed, _ = patch(by_ref, {"name": "Other", "payload": None})

    assert (referred.payload, referred.payload_ref) == (None, REF)
    assert (paid.payload, paid.payload_ref) == ({"a": 1}, None)
    assert (neither.payload, neither.payload_ref) == (None, None)
    assert (renamed.payload, renamed.payload_ref) == (None, REF)


def test_what_is_answered_makes_the_same_definition_again():
    current = create(BY_REF | {"owner": "ops@example.com"})

    again = parse_replace(to_long(current), now=NOW, limits=LIMITS, current=current)

    assert again == current
    assert create(to_long(current)) == current


@pytest.mark.parametrize("owner", ["ops@example.com", "Ops+billing@sub.example.org", "ci", None])
def test_a_task_is_owned_by_an_address_a_key_or_nobody(owner):
    definition = owned(owner, "ci")

    assert (definition.owner, to_long(definition)["owner"]) == (owner, owner)


@pytest.mark.parametrize(
    ("owner", "code"),
    [
        ("", "blank"),
        (5, "invalid_type"),
        (["ci"], "invalid_type"),
        ("x" * 255, "too_long"),
        ("a\nb", "invalid_characters"),
        ("ops@", "email_invalid"),
        ("@example.com", "email_invalid"),
        ("a b@example.com", "email_invalid"),
        ("cl", "owner_unknown"),
        ("CI", "owner_unknown"),
    ],
)
def test_an_owner_that_there_is_not_is_refused(owner, code):
    assert problems(owned, owner, "ci") == {("#/owner", code)}


def test_a_misspelled_key_is_suggested():
    found = problems(owned, "deploi", "deploy")

    assert found == {("#/owner", "owner_unknown")}


def test_an_owner_whose_key_is_gone_stays_until_it_is_changed():
    current = owned("ci", "ci")
    limits = with_keys()

    renamed, _ = parse_patch(current, {"name": "Other"}, now=NOW, limits=limits)
    replaced = parse_replace(to_long(current), now=NOW, limits=limits, current=current)

    assert (renamed.owner, replaced.owner) == ("ci", "ci")

    def change(body):
        return parse_patch(current, body, now=NOW, limits=limits)

    assert problems(change, {"owner": "cd"}) == {("#/owner", "owner_unknown")}
    assert change({"owner": None})[0].owner is None
