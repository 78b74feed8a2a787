from __future__ import annotations

from typing import Any

import pytest

from tests.tasks.bodies import LONG, MINIMAL, changed, create, patch, problems, with_target

REFUSED: list[Any] = [
    ("success", [], "invalid_type"),
    ("success", None, "null"),
    ("success/status", ["2xx"], "unknown_field"),
    ("success/statuses", [], "out_of_range"),
    ("success/statuses", "2xx", "invalid_type"),
    ("success/statuses", ["200"] * 51, "out_of_range"),
    ("success/body_pattern", "(", "pattern_invalid"),
    ("success/body_pattern", "(?=x)", "pattern_invalid"),
    ("success/body_pattern", r"(a)\1", "pattern_invalid"),
    ("success/body_pattern", "((a{100}){100}){100}", "pattern_invalid"),
    ("success/body_pattern", "", "blank"),
    ("success/body_pattern", "x" * 501, "too_long"),
    ("success/body_pattern", 5, "invalid_type"),
    ("success/header", "X-Done", "invalid_type"),
    ("success/header/name", "X Done", "header_invalid"),
    ("success/header/name", None, "null"),
    ("success/header/pattern", "[", "pattern_invalid"),
    ("success/header/value", "x", "unknown_field"),
    ("success/json", [], "invalid_type"),
    ("success/json/path", "a.b", "path_invalid"),
    ("success/json/path", "$..a", "path_invalid"),
    ("success/json/path", "$[*]", "path_invalid"),
    ("success/json/path", "$." + "a" * 500, "too_long"),
    ("success/json/path", None, "null"),
    ("success/json/equals", [], "invalid_type"),
    ("success/json/equals", {}, "invalid_type"),
    ("success/json/equals", "x" * 501, "too_long"),
    ("success/json/is", 1, "unknown_field"),
]
WHOLE: dict[str, Any] = {
    "statuses": ["2xx"],
    "header": {"name": "X-Done", "pattern": "yes"},
    "body_pattern": "ok",
    "json": {"path": "$.a", "equals": 1},
}


@pytest.mark.parametrize(("field", "value", "code"), REFUSED)
def test_wrong_criteria_are_named(field, value, code):
    body = changed(LONG, "target/success", WHOLE)

    found = problems(create, changed(body, f"target/{field}", value))

    assert (f"#/target/{field}", code) in found


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (200, "invalid_type"),
        ("2XXX", "invalid_choice"),
        ("abc", "invalid_choice"),
        ("99", "invalid_choice"),
        ("1000", "invalid_choice"),
        ("２00", "invalid_choice"),
        ("", "invalid_choice"),
        (None, "invalid_type"),
    ],
)
def test_statuses_that_are_no_patterns_are_refused_by_place(status, code):
    body = changed(LONG, "target/success", {"statuses": ["2xx", status]})

    assert problems(create, body) == {("#/target/success/statuses/1", code)}


@pytest.mark.parametrize("statuses", [["200"], ["2xx", "304"], ["200-204"]])
def test_statuses_classes_and_ranges_decide_over_success(statuses):
    definition = create(changed(LONG, "target/success", {"statuses": statuses}))

    assert definition.target["success"] == {"statuses": statuses}


@pytest.mark.parametrize("missing", ["name", "pattern"])
def test_a_header_criterion_needs_name_and_pattern(missing):
    header = {key: value for key, value in WHOLE["header"].items() if key != missing}

    found = problems(create, changed(LONG, "target/success", {"header": header}))

    assert found == {(f"#/target/success/header/{missing}", "required")}


@pytest.mark.parametrize("missing", ["path", "equals"])
def test_a_json_criterion_needs_path_and_value(missing):
    criterion = {key: value for key, value in WHOLE["json"].items() if key != missing}

    found = problems(create, changed(LONG, "target/success", {"json": criterion}))

    assert found == {(f"#/target/success/json/{missing}", "required")}


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "", "done"])
def test_every_json_scalar_may_be_asked_for(value):
    criterion = {"path": "$['a b'][-1]", "equals": value}

    definition = create(changed(LONG, "target/success", {"json": criterion}))

    assert definition.target["success"] == {"statuses": ["2xx"], "json": criterion}
    assert type(definition.target["success"]["json"]["equals"]) is type(value)


def test_criteria_that_are_null_are_none():
    nothing = {"header": None, "body_pattern": None, "json": None}

    assert create(changed(LONG, "target/success", nothing)).target["success"] == {
        "statuses": ["2xx"]
    }


def test_an_edit_replaces_a_json_criterion_and_merges_the_others():
    current = create(with_target({**MINIMAL["target"], "success": WHOLE}))
    criterion = {"path": "$.error", "equals": None}

    edited, _ = patch(
        current,
        {"target": {"success": {"json": criterion, "body_pattern": None, "header": {"name": "X"}}}},
    )

    assert edited.target["success"] == {
        "statuses": ["2xx"],
        "header": {"name": "X", "pattern": "yes"},
        "json": criterion,
    }
