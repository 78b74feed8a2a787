"""``schedulers takeovers``: what was taken over and lost, in lines and as a document."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from executions.models import UnownedStretch
from operations.takeover_lines import takeover_lines
from tests.support.beats import beat, silence
from tests.support.command_calls import call
from tests.support.command_documents import read_document

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MOMENT = "2026-03-01T12:00:00.000Z"


@pytest.mark.django_db
def test_the_command_shows_takeovers_and_lost_workers():
    UnownedStretch.objects.create(
        partition=1, since=AT - timedelta(seconds=9), until=AT, lost_by="s1@a", taken_by="s2@b"
    )
    beat("w1")
    silence("w1", 3600)

    document = read_document("schedulers-takeovers", call("schedulers", "takeovers", "--json").out)
    lines = call("schedulers", "takeovers").out.splitlines()

    assert document["takeovers"][0]["taken_by"] == "s2@b"
    assert [one["id"] for one in document["lost_workers"]] == ["w1"]
    assert lines[1].split() == ["2026-03-01", "12:00:00", "s1@a", "s2@b", "1", "<=", "9.0", "s"]


def test_what_is_not_known_is_said():
    released = {"at": MOMENT, "lost_by": None, "taken_by": "s2@b", "partitions": 3}
    older = {**released, "taken_by": None}
    lines = list(
        takeover_lines(
            {
                "takeovers": [{**one, "unowned_seconds": 3.0} for one in (released, older)],
                "since": MOMENT,
                "lost_attempts": [{"at": MOMENT, "by": "hour", "attempts": 4}],
                "lost_workers": None,
            }
        )
    )

    assert "released" in lines[1]
    assert lines[2].split()[2:4] == ["-", "-"]
    assert "attempts lost with workers since 2026-03-01 12:00:00: 4" in lines
    assert "  hour 2026-03-01 12:00:00: 4" in lines
    assert lines[-1].endswith("unknown, Redis cannot be reached")


def test_nothing_was_taken_over():
    nothing = {"takeovers": [], "since": MOMENT, "lost_attempts": [], "lost_workers": []}

    lines = list(takeover_lines(nothing))

    assert lines[0] == "No partition was without a scheduler for more than a second."
    assert lines[-1] == "workers that fell silent: 0"
