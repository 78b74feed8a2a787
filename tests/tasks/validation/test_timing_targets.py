from __future__ import annotations

from typing import Any

import pytest

from tasks.field_reader import Errors, FieldReader
from tasks.limits import TARGET_SECONDS
from tasks.validation.timing_targets import read_targets


def read(given: Any) -> tuple[dict[str, Any] | None, list[tuple[str, str]]]:
    errors = Errors()
    found = read_targets(FieldReader({"targets": given}, "#", errors))
    return found, [(one.pointer, one.code) for one in errors.renamed(str)]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, None),
        ({}, None),
        ({"start_within_seconds": None, "max_duration_seconds": None}, None),
        (
            {"start_within_seconds": 60.0},
            {"start_within_seconds": 60, "max_duration_seconds": None},
        ),
        (
            {"max_duration_seconds": 1.5},
            {"start_within_seconds": None, "max_duration_seconds": 1.5},
        ),
    ],
)
def test_targets_have_a_normal_form(given: Any, found: dict[str, Any] | None):
    assert read(given) == (found, [])


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (5, ("#/targets", "invalid_type")),
        ({"start_within": 5}, ("#/targets/start_within", "unknown_field")),
        ({"start_within_seconds": "5"}, ("#/targets/start_within_seconds", "invalid_type")),
        ({"start_within_seconds": True}, ("#/targets/start_within_seconds", "invalid_type")),
        ({"start_within_seconds": 0}, ("#/targets/start_within_seconds", "out_of_range")),
        (
            {"max_duration_seconds": TARGET_SECONDS + 1},
            ("#/targets/max_duration_seconds", "out_of_range"),
        ),
    ],
)
def test_what_is_no_target_is_refused_at_its_place(given: Any, error: tuple[str, str]):
    assert read(given)[1] == [error]
