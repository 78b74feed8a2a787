from __future__ import annotations

import jsonschema_rs
import pytest

from api.tasks import target_schemas
from shared.payload_sight import HIDDEN, sight
from tasks import definition
from tasks.masking import seen_target
from tests.tasks.bodies import TARGETS

_BY_KIND = {
    option["properties"]["kind"]["enum"][0]: option for option in target_schemas.TARGET["oneOf"]
}


def fits(schema, value):
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize("kind", TARGETS)
def test_every_field_of_a_kind_is_described_with_its_default(kind):
    defaults = definition.target_defaults(kind)
    properties = _BY_KIND[kind]["properties"]

    assert properties.keys() == defaults.keys()
    said = {key: one["default"] for key, one in properties.items() if "default" in one}
    assert said == {key: defaults[key] for key in said}
    assert said.keys() | {*_BY_KIND[kind]["required"], "kind"} == defaults.keys()


@pytest.mark.parametrize("kind", TARGETS)
def test_one_schema_only_fits_a_target(kind):
    fitting = [name for name, schema in _BY_KIND.items() if fits(schema, TARGETS[kind])]

    assert fitting == [kind]
    assert fits(target_schemas.TARGET_ANSWER, TARGETS[kind])


@pytest.mark.parametrize("kind", TARGETS)
def test_an_answer_without_the_right_to_see_payloads_fits(kind):
    target = definition.target_defaults(kind) | TARGETS[kind]
    with sight(False):
        shown = seen_target(target)

    assert (HIDDEN in shown.values()) == (kind in ("webhook", "command"))
    assert fits(target_schemas.TARGET_ANSWER, shown)


def test_only_what_is_hidden_may_be_answered_hidden():
    target = TARGETS["webhook"]

    assert fits(target_schemas.TARGET_ANSWER, {**target, "auth": HIDDEN})
    for key, value in (("auth", "secret"), ("method", HIDDEN), ("timeout_seconds", HIDDEN)):
        assert not fits(target_schemas.TARGET_ANSWER, {**target, key: value})


def test_a_target_without_a_kind_is_a_webhook():
    assert fits(target_schemas.TARGET, {"url": "https://a.example/"})
    assert not fits(target_schemas.TARGET, {"handler": "x"})


@pytest.mark.parametrize("kind", TARGETS)
def test_an_answer_leaves_nothing_out(kind):
    for key in TARGETS[kind]:
        cut = {name: value for name, value in TARGETS[kind].items() if name != key}

        assert not fits(target_schemas.TARGET_ANSWER, cut)


@pytest.mark.parametrize("kind", TARGETS)
def test_each_field_may_be_edited_by_itself(kind):
    for key, value in TARGETS[kind].items():
        assert fits(target_schemas.TARGET_EDIT, {key: value})
        assert fits(target_schemas.TARGET_EDIT, {key: None})
