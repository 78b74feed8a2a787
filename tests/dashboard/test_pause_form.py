"""The end of a pause: a length, a time on the viewer's clock, or none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from dashboard.pause_form import read_end
from shared.exceptions import InvalidInput

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("form", "end"),
    [
        ({}, None),
        ({"hours": "8"}, NOW + timedelta(hours=8)),
        ({"until": "monday 9:00"}, datetime(2026, 11, 23, 8, tzinfo=UTC)),
        ({"until": "in 3 days", "hours": ""}, NOW + timedelta(days=3)),
    ],
)
def test_the_end_is_read_on_the_viewers_clock(form, end):
    with timezone.override("Europe/Berlin"):
        assert read_end(form, now=NOW) == end


@pytest.mark.parametrize(
    ("form", "field", "problem"),
    [
        ({"hours": "7"}, "hours", "Choose the hours anew."),
        ({"hours": "8", "until": "monday"}, "until", "not both"),
        ({"until": "yesterday"}, "until", "in the past"),
        ({"until": "someday"}, "until", "is not understood"),
    ],
)
def test_other_ends_are_refused_at_their_field(form, field, problem):
    with pytest.raises(InvalidInput, match=problem) as refused:
        read_end(form, now=NOW)

    assert refused.value.errors[0].pointer == f"#/{field}"
