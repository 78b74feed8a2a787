"""A filter that plain filters can say, for bulk jobs."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from insight.filter_language.fields import DEAD_LETTERS, EXECUTIONS, TASKS
from insight.filter_language.plain_filters import plain_filters
from insight.filter_language.terms import parse

NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)
ID = "0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1"


@pytest.mark.parametrize(
    ("text", "vocabulary", "found"),
    [
        ("", EXECUTIONS, {}),
        ("status:failed,retrying", EXECUTIONS, {"status": ["FAILED", "RETRYING"]}),
        ('label:team:a "two words"', EXECUTIONS, {"label": "team:a", "q": "two words"}),
        (f"task:{ID}", EXECUTIONS, {"task": UUID(ID)}),
        ("scheduled:-1h", EXECUTIONS, {"since": NOW.replace(hour=7)}),
        (
            "scheduled:2026-11-18..2026-11-19",
            EXECUTIONS,
            {
                "since": datetime(2026, 11, 18, tzinfo=UTC),
                "until": datetime(2026, 11, 20, tzinfo=UTC),
            },
        ),
        (
            "scheduled:>=2026-11-18 scheduled:<2026-11-19",
            EXECUTIONS,
            {
                "since": datetime(2026, 11, 18, tzinfo=UTC),
                "until": datetime(2026, 11, 19, tzinfo=UTC),
            },
        ),
        ("type:recurring owner:a@b", TASKS, {"type": "RECURRING", "owner": "a@b"}),
        ("cause:http_status:503", DEAD_LETTERS, {"error_signature": "http_status:503"}),
    ],
)
def test_terms_of_one_meaning_are_said(text, vocabulary, found):
    assert plain_filters(parse(text, vocabulary), NOW) == found


@pytest.mark.parametrize(
    ("text", "vocabulary"),
    [
        ("-status:failed", EXECUTIONS),
        ("http:5xx", EXECUTIONS),
        ("status:failed http:5xx", EXECUTIONS),
        ("label:a,b", EXECUTIONS),
        ("label:a label:b", EXECUTIONS),
        ("one two", EXECUTIONS),
        ("task:Report", EXECUTIONS),
        ("scheduled:-2h,-1h", EXECUTIONS),
        ("cause:http_*", DEAD_LETTERS),
    ],
)
def test_what_plain_filters_cannot_say_is_not_said(text, vocabulary):
    assert plain_filters(parse(text, vocabulary), NOW) is None
