from __future__ import annotations

from typing import Any

import pytest

from tasks.field_reader import Errors, FieldReader
from tasks.limits import Limits, current_limits
from tasks.validation.dependencies import check_dependencies, read_dependencies

ONE = "0199b6f0-0000-7000-8000-000000000001"
OTHER = "0199b6f0-0000-7000-8000-000000000002"
TYPES = {ONE: "ONE_TIME", OTHER: "RECURRING"}


def read(value: Any, task_type: str = "ONE_TIME") -> tuple[list[str], list[tuple[str, str]]]:
    errors = Errors()
    ids = read_dependencies(FieldReader({"depends_on": value}, "#", errors), task_type)
    return ids, codes(errors)


def check(ids: list[str], known: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    errors = Errors()
    limits = Limits(
        payload_bytes=1,
        allow_list=current_limits().allow_list,
        tasks=lambda asked: {one: TYPES[one] for one in asked if one in TYPES},
    )
    check_dependencies(ids, known, errors, limits)
    return codes(errors)


def codes(errors: Errors) -> list[tuple[str, str]]:
    return [(error.pointer, error.code) for error in errors.renamed(str)]


def test_ids_are_read_in_lower_case():
    assert read([ONE.upper(), OTHER]) == ([ONE, OTHER], [])


@pytest.mark.parametrize(
    ("value", "pointer", "code"),
    [
        ([ONE, 7], "#/depends_on/1", "invalid"),
        ([f"{ONE}\n"], "#/depends_on/0", "invalid"),
        ([ONE, ONE.upper()], "#/depends_on/1", "not_unique"),
        ([ONE] * 101, "#/depends_on", "too_many"),
    ],
)
def test_what_is_wrong_is_told_by_place(value, pointer, code):
    assert read(value)[1] == [(pointer, code)]


def test_a_recurring_task_waits_for_none():
    assert read([ONE], "RECURRING")[1] == [("#/depends_on", "not_applicable")]
    assert read([], "RECURRING") == ([], [])


def test_only_one_time_tasks_that_are_there_can_be_named():
    unknown = "0199b6f0-0000-7000-8000-000000000003"

    assert check([ONE]) == []
    assert check([ONE, OTHER, unknown]) == [
        ("#/depends_on/1", "not_applicable"),
        ("#/depends_on/2", "task_unknown"),
    ]


def test_what_the_task_has_already_is_not_asked_for_again():
    gone = "0199b6f0-0000-7000-8000-000000000003"

    assert check([gone, ONE], known=(gone,)) == []
