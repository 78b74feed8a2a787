from __future__ import annotations

from datetime import UTC, datetime

import pytest
from rest_framework.exceptions import ValidationError

from api.protocol import serializers as strict
from api.protocol.problems import field_errors


class Schedule(strict.StrictSerializer):
    cron_expression = strict.StrictCharField(max_length=20)
    jitter_seconds = strict.StrictIntegerField(min_value=0, max_value=10, required=False)


class Definition(strict.StrictSerializer):
    name = strict.StrictCharField(max_length=10, required=False)
    type = strict.StrictChoiceField(choices=["ONE_TIME", "RECURRING"], required=False)
    priority = strict.StrictIntegerField(required=False)
    factor = strict.StrictNumberField(required=False)
    follow = strict.StrictBooleanField(required=False)
    run_at = strict.StrictDateTimeField(required=False, allow_null=True)
    calendar = strict.StrictUUIDField(required=False)
    depends_on = strict.StrictListField(child=strict.StrictUUIDField(), required=False)
    labels = strict.StrictDictField(child=strict.StrictCharField(), required=False)
    payload = strict.StrictJSONField(required=False)
    schedule = Schedule(required=False)
    steps = Schedule(many=True, required=False)


def _errors(data):
    serializer = Definition(data=data)
    with pytest.raises(ValidationError) as raised:
        serializer.is_valid(raise_exception=True)
    return {error.pointer: error.code for error in field_errors(raised.value.detail)}


def test_right_types_are_taken_as_they_are():
    data = {
        "name": " spaced ",
        "type": "ONE_TIME",
        "priority": 5,
        "factor": 2,
        "follow": True,
        "run_at": "2026-11-20T09:00:00+01:00",
        "labels": {"team": "billing"},
        "payload": [1, {"a": None}],
    }
    serializer = Definition(data=data)

    assert serializer.is_valid(), serializer.errors
    assert serializer.validated_data["run_at"] == datetime(2026, 11, 20, 8, tzinfo=UTC)
    assert serializer.validated_data["name"] == " spaced "
    assert serializer.validated_data["payload"] == [1, {"a": None}]


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("name", 5, "invalid_type"),
        ("name", True, "invalid_type"),
        ("name", "   ", "blank"),
        ("name", None, "null"),
        ("name", "x" * 11, "max_length"),
        ("name", "a\x00b", "text_invalid"),
        ("name", "\ud800", "text_invalid"),
        ("type", "ONETIME", "invalid_choice"),
        ("type", 1, "invalid_type"),
        ("type", ["ONE_TIME"], "invalid_type"),
        ("priority", "5", "invalid_type"),
        ("priority", True, "invalid_type"),
        ("priority", 5.0, "invalid_type"),
        ("priority", 2**63, "max_value"),
        ("factor", "2", "invalid_type"),
        ("factor", False, "invalid_type"),
        ("factor", float("inf"), "invalid_type"),
        ("follow", 1, "invalid_type"),
        ("follow", "true", "invalid_type"),
        ("run_at", "2026-11-20", "invalid_time"),
        ("run_at", "2026-11-20T08:00:00", "invalid_time"),
        ("run_at", "2026-W47-5T08:00:00Z", "invalid_time"),
        ("run_at", "0001-01-01T00:00:00+01:00", "invalid_time"),
        ("run_at", 1795161600, "invalid_type"),
        ("calendar", 7, "invalid_type"),
        ("calendar", "0193b1a27c3d7e4f8a5b6c7d8e9fa0b1", "invalid_id"),
        ("depends_on", "x", "invalid_type"),
        ("depends_on", {"0": "x"}, "invalid_type"),
        ("labels", [], "invalid_type"),
        ("labels", {"a\x00": "x"}, "text_invalid"),
        ("payload", {"a": ["\x00"]}, "text_invalid"),
    ],
)
def test_a_wrong_type_or_value_is_refused_at_its_pointer(field, value, code):
    assert _errors({field: value}) == {f"#/{field}": code}


def test_errors_deep_inside_have_deep_pointers():
    errors = _errors(
        {
            "schedule": {"cron_expresion": "* * * * *", "jitter_seconds": 11},
            "steps": [{"cron_expression": "x"}, {"cron_expression": 1}],
            "depends_on": ["x"],
            "labels": {"a/b": 1},
        }
    )

    assert errors == {
        "#/schedule/cron_expresion": "unknown_field",
        "#/schedule/cron_expression": "required",
        "#/schedule/jitter_seconds": "max_value",
        "#/steps/1/cron_expression": "invalid_type",
        "#/depends_on/0": "invalid_id",
        "#/labels/a~1b": "invalid_type",
    }


def test_an_unknown_field_is_refused_with_a_suggestion():
    serializer = Definition(data={"payloda": {}})

    assert not serializer.is_valid()
    assert "'payload'" in str(serializer.errors["payloda"][0])


def test_a_nested_object_of_the_wrong_type_is_refused_at_its_own_pointer():
    assert _errors({"schedule": "daily"}) == {"#/schedule": "invalid_type"}
