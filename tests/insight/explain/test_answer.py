from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from insight.explain.answer import (
    Check,
    Explanation,
    Fix,
    present_explanation,
    spell,
    told,
)

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_evidence_is_made_of_sentences():
    assert Check("due", True, "it is due").evidence == "It is due."
    assert Check("due", True, "it is due", "Since noon.").evidence == "It is due. Since noon."


def test_a_moment_shows_milliseconds_only_where_there_are_any():
    assert told(NOON) == "2026-11-20 12:00:00 UTC"
    assert told(NOON + timedelta(milliseconds=5)) == "2026-11-20 12:00:00.005 UTC"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (4.24, "4.2 s"),
        (-30, "30 s"),
        (60, "1 m"),
        (185, "3 m 5 s"),
        (7800, "2 h 10 m"),
        (86_400, "1 d"),
        (86_460, "1 d"),
        (90_000, "1 d 1 h"),
    ],
)
def test_lengths_of_time_are_spelled_as_people_say_them(seconds: float, words: str):
    assert spell(timedelta(seconds=seconds)) == words


def test_an_answer_names_its_first_blocker_and_what_can_be_done():
    checks = [
        Check("task_exists", True, "it is there"),
        Check("task_active", None, "not asked"),
        Check("due", False, "not due", fix=Fix("Wait.", "GET /v1/tasks")),
        Check("redis", False, "away"),
    ]
    found = Explanation(UUID(int=1), "T", NOON, NOON, None, "waits", "It waits.", checks, None)

    shown = present_explanation(found)

    assert shown["first_blocker"] == "due"
    assert shown["checks"][2] == {
        "check": "due",
        "ok": False,
        "not_yet": False,
        "evidence": "Not due.",
        "fix": "Wait.",
        "call": "GET /v1/tasks",
    }
    assert shown["checks"][3]["fix"] is None
    assert (shown["execution_id"], shown["estimated_start"]) == (None, None)


def test_without_a_blocker_none_is_named():
    found = Explanation(UUID(int=1), "T", NOON, NOON, UUID(int=2), "ran", "It ran.", [], NOON)

    shown = present_explanation(found)

    assert shown["first_blocker"] is None
    assert shown["estimated_start"] == "2026-11-20T12:00:00.000Z"
