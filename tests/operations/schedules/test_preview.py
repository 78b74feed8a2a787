from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tasks.models import Calendar
from tests.support.command_calls import call
from tests.support.command_documents import read_document


def _run(*words: str) -> str:
    out = io.StringIO()
    call_command("schedule", "preview", *words, stdout=out)
    return out.getvalue()


def test_a_cron_expression_is_said_in_words_with_its_next_times():
    lines = _run(
        *("0 8 * * MON-FRI", "--tz", "Europe/Berlin", "--limit", "2"),
        *("--since", "2026-11-20T09:00:00Z"),
    ).splitlines()

    assert lines == [
        "At 08:00, Monday through Friday, Europe/Berlin",
        "  Mon 2026-11-23 08:00:00 +0100  2026-11-23T07:00:00.000Z",
        "  Tue 2026-11-24 08:00:00 +0100  2026-11-24T07:00:00.000Z",
    ]


def test_a_change_of_the_clocks_is_pointed_out():
    text = _run(
        *("30 2 * * *", "--tz", "Europe/Berlin", "--limit", "1"), "--since", "2027-03-28T00:00:00Z"
    )

    assert "Sun 2027-03-28 03:00:00 +0200" in text
    assert "the clocks skip its time" in text
    assert "The run of that time starts at 03:00 CEST instead." in text


def test_plain_words_are_said_back_with_the_expression():
    lines = _run(
        *("last friday of the month 18:00", "--timezone", "Europe/Berlin"),
        *("--since", "2026-11-20 9:00", "--limit", "1"),
    ).splitlines()

    assert lines == [
        "At 18:00, on the last Friday of the month, Europe/Berlin",
        "Understood as 0 18 * * 5L",
        "  Fri 2026-11-27 18:00:00 +0100  2026-11-27T17:00:00.000Z",
    ]


def test_an_interval_is_previewed_too():
    document = json.loads(_run("PT15M", "--limit", "3", "--json"))

    assert document["schema"] == 1
    assert document["text"].startswith("Every 15 minutes")
    assert len(document["occurrences"]) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("61 * * * *",), "position 1: '61' is above 59"),
        (("0 0 30 2 *",), "never runs"),
        (("@daily", "--tz", "Mars/Olympus"), "--timezone: "),
        (("@daily", "--limit", "0"), "--limit: "),
        (("@daily", "--since", "someday"), "--since: "),
        (("every morning",), "EXPRESSION: 'every morning' is not understood"),
        (("PT0S",), "one second"),
    ],
)
def test_wrong_use_says_what_is_wrong_and_exits_with_2(words, message):
    with pytest.raises(CommandError, match=message) as raised:
        _run(*words)

    assert raised.value.returncode == 2


def test_a_short_interval_is_previewed_too():
    assert _run("15m", "--limit", "1").startswith("Every 15 minutes")


def test_the_policies_of_clock_changes_are_followed():
    def first(gap: str) -> str:
        return _run(
            *("30 2 * * *", "--tz", "Europe/Berlin", "--limit", "1", "--dst-gap", gap),
            *("--since", "2027-03-28T00:00:00Z"),
        )

    assert "Sun 2027-03-28 03:00:00 +0200" in first("next_valid")
    assert "Mon 2027-03-29 02:30:00 +0200" in first("skip")


def test_start_and_end_bound_what_is_shown():
    document = read_document(
        "schedule-preview",
        _run(
            *("@daily", "--since", "2026-11-20T00:00:00Z", "--json"),
            *("--start-at", "2026-11-22T00:00:00Z", "--end-at", "2026-11-23T00:00:00Z"),
        ),
    )

    assert [found["utc"] for found in document["occurrences"]] == [
        "2026-11-22T00:00:00.000Z",
        "2026-11-23T00:00:00.000Z",
    ]


def test_the_document_keeps_its_schema():
    said = _run("30 2 * * *", "--tz", "Europe/Berlin", "--since", "2027-03-28T00:00:00Z", "--json")

    assert len(read_document("schedule-preview", said)["occurrences"]) == 10


def test_the_calendars_of_a_tenant_are_followed(alpha):
    Calendar.objects.create(
        tenant=alpha, name="Holidays", dates=[{"date": "2026-12-25", "name": "Christmas"}]
    )
    words = ("0 8 * * *", "--since", "2026-12-24T12:00:00Z", "--limit", "2")

    said = call("schedule", "preview", *words, "--calendar", "Holidays")

    assert "a calendar excludes it" in said.out.splitlines()[1]
    assert "2026-12-26" in said.out.splitlines()[2]
    unknown = call("schedule", "preview", *words, "--calendar", "Nothing")
    assert (unknown.code, "--calendar: There is no such calendar." in unknown.err) == (2, True)


def test_the_last_working_day_is_shown():
    found = read_document(
        "schedule-preview",
        _run(
            *("0 9 * * *", "--working-day", "-1", "--limit", "2"),
            *("--since", "2026-11-01T00:00:00Z", "--json"),
        ),
    )["occurrences"]

    assert [one["utc"][:10] for one in found] == ["2026-11-30", "2026-12-31"]
