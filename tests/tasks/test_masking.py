from __future__ import annotations

import copy

import pytest

from shared.redaction import MASK
from tasks.definition import to_long
from tasks.masking import keep_masked, mask_target, masked_places
from tasks.validation.bodies import parse_replace
from tests.tasks.bodies import (
    AUTHS,
    COMMAND,
    LIMITS,
    MINIMAL,
    NOW,
    TARGETS,
    WEBHOOK,
    create,
    patch,
    problems,
    with_target,
)

SECRET = "s3cret"


def replace(current, body):
    return parse_replace(body, now=NOW, limits=LIMITS, current=current)


@pytest.mark.parametrize("auth", AUTHS.values())
def test_no_secret_of_a_webhook_is_shown(auth):
    shown = mask_target({**WEBHOOK, "auth": auth, "tls": {"verify": True, "client_key": SECRET}})

    assert SECRET not in str(shown)
    assert shown["tls"] == {"verify": True, "client_key": MASK}
    assert shown["headers"] == {**WEBHOOK["headers"], "X-Token": MASK}


def test_values_of_variables_are_not_shown_and_their_names_are():
    assert mask_target(COMMAND)["environment"] == {"TOKEN": MASK, "MODE": MASK}


@pytest.mark.parametrize("kind", TARGETS)
def test_masking_changes_nothing_but_secrets(kind):
    before = copy.deepcopy(TARGETS[kind])

    shown = mask_target(TARGETS[kind])

    assert before == TARGETS[kind]
    assert shown.keys() == before.keys()
    kept, places = keep_masked(shown, before)
    assert kept == before
    assert set(places) == set(masked_places(shown))


def test_what_is_null_stays_null():
    target = create(MINIMAL).target

    assert mask_target(target) == target
    assert mask_target({"proxy": {"password": None}}) == {"proxy": {"password": None}}


@pytest.mark.parametrize("target", [{"auth": 5, "tls": [], "environment": "x", "headers": 1}, {}])
def test_parts_of_a_wrong_type_are_left_for_validation(target):
    assert mask_target(target) == target
    assert keep_masked(target, WEBHOOK) == (target, [])


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("call", [replace, lambda current, body: patch(current, body)[0]])
def test_a_mask_sent_back_keeps_the_secret(kind, call):
    current = create(with_target(TARGETS[kind]))

    assert call(current, to_long(current)) == current


@pytest.mark.parametrize(
    ("target", "pointer"),
    [
        (mask_target(WEBHOOK), "#/target/auth/password"),
        (mask_target(WEBHOOK), "#/target/headers/X-Token"),
        (mask_target(COMMAND), "#/target/environment/TOKEN"),
    ],
)
def test_a_mask_where_nothing_is_stored_is_refused(target, pointer):
    body = with_target(target)

    assert (pointer, "secret_masked") in problems(create, body)
    assert (pointer, "secret_masked") in problems(replace, create(MINIMAL), body)
    assert (pointer, "secret_masked") in problems(patch, create(MINIMAL), body)


def test_a_mask_under_another_type_of_authentication_is_refused():
    current = create(with_target({**MINIMAL["target"], "auth": AUTHS["bearer"]}))
    edit = {"target": {"auth": {"type": "basic", "username": "u", "password": MASK}}}

    assert problems(patch, current, edit) == {("#/target/auth/password", "secret_masked")}


def test_a_secret_that_is_written_takes_the_place_of_the_stored_one():
    current = create(with_target(COMMAND))

    edited, _ = patch(current, {"target": {"environment": {"TOKEN": "new", "MODE": MASK}}})

    assert edited.target["environment"] == {"TOKEN": "new", "MODE": ""}


@pytest.mark.parametrize("name", ["Authorization", "Cookie", "x-api-key"])
def test_the_value_of_a_secret_header_is_not_shown_and_its_mask_keeps_it_in_any_case(name):
    current = create(with_target({**MINIMAL["target"], "headers": {name: SECRET, "X-A": "1"}}))

    shown = to_long(current)["target"]["headers"]
    edited, _ = patch(current, {"target": {"headers": {name.swapcase(): MASK, "X-A": "2"}}})

    assert shown == {name: MASK, "X-A": "1"}
    assert edited.target["headers"] == {name.swapcase(): SECRET, "X-A": "2"}


def test_a_header_under_another_name_keeps_no_secret():
    current = create(with_target({**MINIMAL["target"], "headers": {"Authorization": SECRET}}))
    edit = {"target": {"headers": {"Authorization": None, "X-Authorization": MASK}}}

    assert problems(patch, current, edit) == {("#/target/headers/X-Authorization", "secret_masked")}
