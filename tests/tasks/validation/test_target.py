from __future__ import annotations

import copy

import pytest

from tasks.definition import to_long
from tests.tasks.bodies import (
    COMMAND,
    HANDLER,
    MINIMAL,
    POOL,
    TARGETS,
    changed,
    create,
    patch,
    problems,
    with_target,
)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("email", "invalid_choice"),
        ("Webhook", "invalid_choice"),
        (1, "invalid_type"),
        (None, "null"),
    ],
)
def test_a_kind_that_there_is_not_is_the_only_thing_refused(kind, code):
    body = with_target({**POOL, "kind": kind})

    assert problems(create, body) == {("#/target/kind", code)}


@pytest.mark.parametrize("kind", TARGETS)
def test_every_field_of_each_kind_is_kept_as_it_was_given(kind):
    assert create(with_target(TARGETS[kind])).target == TARGETS[kind]


@pytest.mark.parametrize("kind", TARGETS)
def test_fields_of_the_other_kinds_are_unknown(kind):
    others = {key for name, target in TARGETS.items() if name != kind for key in target}
    foreign = sorted(others - TARGETS[kind].keys())[0]

    found = problems(create, with_target({**TARGETS[kind], foreign: "x"}))

    assert found == {(f"#/target/{foreign}", "unknown_field")}


@pytest.mark.parametrize("target", [None, [], "https://api.example.com/", 5])
def test_a_target_that_is_no_object_is_refused(target):
    found = problems(create, MINIMAL | {"target": target})

    assert found <= {("#/target", "invalid_type"), ("#/target", "null")}


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ({"url": "https://api.example.com:8443/a/b?c=d"}, "api.example.com:8443"),
        (TARGETS["webhook"], "api.example.com"),
        (POOL, "batch-etl/generate_invoices"),
        (HANDLER, "reports/reports.daily"),
        (COMMAND, "backup"),
        ({**POOL, "handler": "x" * 200}, f"batch-etl/{'x' * 190}"),
    ],
)
def test_a_task_without_a_name_is_called_after_its_target(target, name):
    assert create(with_target(target)).name == name


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("other", TARGETS)
def test_another_kind_starts_from_its_own_defaults(kind, other):
    current = create(with_target(TARGETS[kind]))

    edited, _ = patch(current, {"target": TARGETS[other]})

    assert edited.target == create(with_target(TARGETS[other])).target


def test_the_kind_null_is_the_webhook_again():
    current = create(with_target(POOL))

    edited, _ = patch(current, {"target": {"kind": None, "url": "https://a.example/"}})

    assert edited.target == create(with_target({"url": "https://a.example/"})).target


@pytest.mark.parametrize("kind", TARGETS)
def test_an_edit_that_names_the_same_kind_merges(kind):
    current = create(with_target(TARGETS[kind]))
    change = (
        {"timeout_seconds": 77} if "timeout_seconds" in current.target else {"pool": "batch-etl"}
    )

    edited, _ = patch(current, {"target": {"kind": kind, **change}})

    assert edited.target == {**current.target, **change}


def test_the_short_form_makes_a_webhook_of_another_kind():
    current = create(with_target(POOL))

    edited, _ = patch(current, {"payload": {"webhook_url": "https://a.example/"}})

    assert edited.target["kind"] == "webhook"


def test_reading_changes_nothing_of_the_body():
    for target in TARGETS.values():
        body = with_target(target)
        before = copy.deepcopy(body)

        create(body)

        assert body == before


@pytest.mark.parametrize("kind", TARGETS)
def test_what_is_answered_makes_the_same_definition_when_it_is_sent_back(kind):
    definition = create(with_target(TARGETS[kind]))

    assert patch(definition, to_long(definition))[0] == definition
    assert changed(to_long(definition), "name", "x") != to_long(definition)
