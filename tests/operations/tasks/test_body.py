from __future__ import annotations

import pytest
from django.core.management.base import CommandError, CommandParser

from operations.tasks import body as task_body
from shared.exceptions import FieldError, InvalidInput


def _body(*words: str) -> dict:
    parser = CommandParser()
    task_body.add_options(parser)
    return task_body.body_of(vars(parser.parse_args(words)))


def test_options_become_the_long_form():
    body = _body(
        *("--url", "https://example.com/run", "--method", "PUT", "--name", "Invoices"),
        *("--cron", "0 8 * * *", "--tz", "Europe/Berlin", "--priority", "2"),
        *("--header", "X-Team: billing", "--header", "X-Path:a:b"),
        *("--label", "team=billing", "--label", "empty=", "--payload", '{"n": 1}'),
        *("--timeout", "2.5", "--max-attempts", "3"),
    )

    assert body == {
        "name": "Invoices",
        "target": {
            "url": "https://example.com/run",
            "method": "PUT",
            "timeout_seconds": 2.5,
            "headers": {"X-Team": "billing", "X-Path": "a:b"},
        },
        "schedule": {"cron_expression": "0 8 * * *", "timezone": "Europe/Berlin"},
        "priority": 2,
        "retry_policy": {"max_attempts": 3},
        "labels": {"team": "billing", "empty": ""},
        "payload": {"n": 1},
    }
    assert _body() == {}


@pytest.mark.parametrize(
    ("words", "schedule"),
    [
        (("--every", "15m"), {"every": "PT15M"}),
        (("--every", "PT15M"), {"every": "PT15M"}),
        (("--in", "10m"), {"delay_seconds": 600.0}),
        (("--at", "2026-11-20T08:00:00Z"), {"run_at": "2026-11-20T08:00:00.000Z"}),
        (("--when", "every weekday at 9"), {"cron_expression": "0 9 * * 1-5"}),
        (
            ("--when", "every weekday at 9 Europe/Berlin", "--dst-gap", "skip"),
            {"cron_expression": "0 9 * * 1-5", "timezone": "Europe/Berlin", "dst_gap": "skip"},
        ),
        (
            ("--at", "2126-11-20 9:00", "--tz", "Europe/Berlin"),
            {"run_at": "2126-11-20T08:00:00.000Z", "timezone": "Europe/Berlin"},
        ),
    ],
)
@pytest.mark.django_db
def test_a_schedule_is_said_in_one_of_five_ways(words, schedule):
    assert _body(*words) == {"schedule": schedule}
    with pytest.raises(CommandError, match="not allowed with"):
        _body(*words, "--cron", "0 8 * * *")


def test_any_other_field_is_set_by_its_path():
    body = _body(
        *("--set", "schedule.jitter_seconds=30", "--set", "schedule.dst_gap=skip"),
        *("--set", "labels.team=null", "--set", 'payload={"a":[1]}'),
    )

    assert body == {
        "schedule": {"jitter_seconds": 30, "dst_gap": "skip"},
        "labels": {"team": None},
        "payload": {"a": [1]},
    }


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("--header", "X-Team"), "--header: "),
        (("--label", "=billing"), "--label: "),
        (("--set", "schedule"), "--set: "),
        (("--payload", "{", "--name", "x"), "--payload: "),
        (("--payload", "1", "--set", "payload.n=1"), "--set: "),
        (("--every", "often"), "--every: "),
        (("--in", "soon"), "--in: "),
        (("--at", "someday"), "--at: "),
        (("--when", "every morning"), "--when: "),
        (("--when", "every day at 9", "--timezone", "Mars/Olympus"), "--timezone: "),
        (("--at", "tomorrow 9:00", "--timezone", "Mars/Olympus"), "--timezone: "),
    ],
)
@pytest.mark.django_db
def test_an_option_of_the_wrong_form_is_named(words, option):
    with pytest.raises(InvalidInput) as refused:
        _body(*words)

    assert refused.value.errors[0].message.startswith(option)


def test_every_option_of_the_wrong_form_is_named_at_once():
    words = ("--every", "often", "--max-age", "long", "--header", "X", "--label", "=", "--set", "a")

    with pytest.raises(InvalidInput) as refused:
        _body(*words)

    found = [error.message.partition(":")[0] for error in refused.value.errors]
    assert sorted(found) == ["--every", "--header", "--label", "--max-age", "--set"]
    assert all(option in refused.value.message for option in ("90s", "NAME:VALUE", "KEY=VALUE"))


@pytest.mark.parametrize(
    ("pointer", "option"),
    [
        ("#/tasks/0/schedule/cron_expression", "--cron"),
        ("#/target/url", "--url"),
        ("#/schedule/delay_seconds", "--in"),
        ("#/target/headers/X-Team", "--header"),
        ("#/labels/team", "--label"),
        ("#/retry_policy/max_attempts", "--max-attempts"),
        ("#/target/command", "--command"),
        ("#/target/auth/password", "--auth-file"),
        ("#/schedule/jitter_seconds", "schedule.jitter_seconds"),
    ],
)
def test_what_is_wrong_is_named_as_it_was_typed(pointer, option):
    found = task_body.spoken(InvalidInput([FieldError(pointer, "invalid", "Wrong.")]))

    assert found.errors[0].message == f"{option}: Wrong."


def test_what_is_wrong_in_a_file_is_named_by_its_path():
    error = InvalidInput([FieldError("#/tasks/1/target/url", "invalid", "Wrong.")])

    found = task_body.spoken(error, by_option=False)

    assert found.errors[0].message == "tasks.1.target.url: Wrong."
