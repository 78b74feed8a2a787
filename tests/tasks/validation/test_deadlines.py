from __future__ import annotations

from typing import Any

import pytest

from tasks.field_reader import Errors, FieldReader
from tasks.limits import RUNTIME_SECONDS, current_limits
from tasks.validation.deadlines import FIELDS, read_deadline


def read(**fields: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the deadline, and pointer and code of each error."""
    errors = Errors()
    found = read_deadline(FieldReader(fields, "#", errors), current_limits())
    return found, [(error.pointer, error.code) for error in errors.renamed(str)]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"deadline_seconds": 1},
        {"deadline_seconds": RUNTIME_SECONDS},
        {"deadline_at": "06:00"},
        {"deadline_at": "23:59", "deadline_timezone": "Europe/Berlin"},
    ],
)
def test_a_deadline_has_all_of_its_fields_and_is_read_again_to_the_same(fields: dict[str, Any]):
    found, errors = read(**fields)

    assert found == {**dict.fromkeys(FIELDS), **fields}
    assert not errors
    assert read(**found) == (found, [])


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"deadline_seconds": 0}, ("#/deadline_seconds", "out_of_range")),
        ({"deadline_seconds": RUNTIME_SECONDS + 1}, ("#/deadline_seconds", "out_of_range")),
        ({"deadline_seconds": "60"}, ("#/deadline_seconds", "invalid_type")),
        ({"deadline_at": "24:00"}, ("#/deadline_at", "invalid")),
        ({"deadline_at": "6:00"}, ("#/deadline_at", "invalid")),
        ({"deadline_at": "06:00:00"}, ("#/deadline_at", "too_long")),
        ({"deadline_at": "06:00", "deadline_seconds": 5}, ("#/deadline_at", "exclusive")),
        ({"deadline_timezone": "UTC"}, ("#/deadline_timezone", "not_applicable")),
        (
            {"deadline_at": "06:00", "deadline_timezone": "Europe/Berln"},
            ("#/deadline_timezone", "timezone_unknown"),
        ),
    ],
)
def test_a_mistake_in_a_deadline_is_told_where_it_stands(
    fields: dict[str, Any], expected: tuple[str, str]
):
    assert read(**fields)[1] == [expected]
