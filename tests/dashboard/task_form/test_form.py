"""The form shows a definition and reads it back; nonsense is refused, never a crash."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.task_form.form import (
    EMPTY,
    field_errors,
    form_of,
    given_fields,
    judge_schedule,
    read_form,
)
from shared.exceptions import FieldError, InvalidInput, TooLarge
from tasks.choices import MISFIRE_COALESCE, MISFIRE_POLICIES, OVERLAP_POLICIES
from tasks.definition import to_long
from tasks.schedules.days_off import CalendarDays
from tasks.validation.bodies import parse_create
from tests.tasks.bodies import AUTHS, COMMAND, HANDLER, POOL
from tests.tasks.bodies import LIMITS as BASE_LIMITS

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def every_calendar(names: Sequence[str]) -> dict[str, CalendarDays]:
    """Find a calendar of each name, as if the tenant had them all."""
    return {name: CalendarDays(name) for name in names}


LIMITS = replace(BASE_LIMITS, calendars=every_calendar)
URL = "https://api.example.com/reports"

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(st.text("abc é", max_size=5), parts, max_size=3)
    ),
    max_leaves=6,
)
LABEL_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20
).filter(lambda text: bool(text.strip()))
#: What every kind of schedule takes, and what recurring ones take besides.
AROUND: dict[str, Any] = {
    "jitter_seconds": st.sampled_from([0, 0.5, 30, 3600]),
    "misfire_policy": st.sampled_from(MISFIRE_POLICIES),
    "misfire_grace_seconds": st.sampled_from([0, 0.5, 3600]),
    "overlap_policy": st.sampled_from(OVERLAP_POLICIES),
    "max_concurrent": st.none() | st.integers(1, 1_000_000),
    "calendars": st.lists(
        st.sampled_from(["Holidays", "Close-down", "Fête", "  spaced"]), unique=True
    ),
}
MISSED: dict[str, Any] = {
    "misfire_coalesce": st.sampled_from(MISFIRE_COALESCE),
    "misfire_replay_limit": st.none() | st.integers(1, 10**9),
    "misfire_replay_per_second": st.sampled_from([0.001, 0.5, 10, 1000]),
}
SCHEDULES = st.one_of(
    st.fixed_dictionaries(
        {
            "cron_expression": st.sampled_from(["0 8 * * *", "*/5 * * * * *", "30 2 * * sun"]),
            "timezone": st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns"]),
        },
        optional={
            "dst_gap": st.sampled_from(["next_valid", "skip", "before"]),
            "dst_overlap": st.sampled_from(["first", "second", "both"]),
            "end_at": st.sampled_from(["2027-10-31T00:30:00Z", "2027-10-31T01:30:00.123Z"]),
            "max_occurrences": st.integers(1, 10**9),
            **AROUND,
            **MISSED,
        },
    ),
    st.fixed_dictionaries(
        {"every": st.sampled_from(["PT10S", "PT5M", "PT36H", "P2D", "PT1H30M", "PT90M"])},
        optional={
            "start_at": st.sampled_from(["2026-11-20T08:00:00.001Z", "2027-03-28T01:00:00Z"]),
            **AROUND,
            **MISSED,
        },
    ),
    st.fixed_dictionaries(
        {"cron_expression": st.just("0 9 * * *"), "working_day": st.sampled_from([1, 3, -1])},
        optional={"calendar_policy": st.sampled_from(["skip", "next_business_day"])},
    ),
    st.fixed_dictionaries(
        {"run_at": st.sampled_from(["2027-01-01T00:00:00.5+02:00"])}, optional=AROUND
    ),
)
RETRIES = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "max_attempts": st.integers(1, 25),
            "factor": st.sampled_from([1, 1.5, 10]),
            "pause_after_failures": st.none() | st.integers(1, 10_000),
        },
    ),
    st.just({"backoff": "fixed", "initial_delay_seconds": 0.1}),
    st.just({"backoff": "listed", "delays_seconds": [1, 2.5, 60], "jitter": "none"}),
    st.just({"retry_on": ["503"]}),
    st.fixed_dictionaries(
        {},
        optional={
            "stop_on": st.sampled_from([[], ["501", "505-509"]]),
            "stop_header": st.sampled_from([None, "X-Do-Not-Retry"]),
            "max_age_seconds": st.sampled_from([None, 1.5, 3600]),
            "rules": st.lists(
                st.fixed_dictionaries(
                    {"statuses": st.sampled_from([["429"], ["5xx", "408"]])},
                    optional={
                        "max_attempts": st.none() | st.integers(1, 25),
                        "delay_seconds": st.sampled_from([None, 0, 0.5, 60]),
                    },
                ),
                max_size=20,
            ),
        },
    ),
)
SUCCESS = st.fixed_dictionaries(
    {},
    optional={
        "statuses": st.sampled_from([["2xx"], ["204", "304", "500-504"]]),
        "header": st.just({"name": "X-Result", "pattern": "^ok, done$"}),
        "body_pattern": st.sampled_from(["ok", "a b", "(?i) x"]),
        "json": st.fixed_dictionaries(
            {
                "path": st.just("$.a.b[0]"),
                "equals": st.sampled_from(
                    [None, True, 0, 1.5, "done", "true", "1", "a b", " x ", '"q"', "[1]", ""]
                ),
            }
        ),
    },
)
#: Webhooks without a secret, which a form can show whole.
OPEN_WEBHOOKS = st.fixed_dictionaries(
    {"url": st.just(URL)},
    optional={
        "success": SUCCESS,
        "follow_redirects": st.booleans(),
        "connect_timeout_seconds": st.sampled_from([0.5, 5]),
        "completion": st.sampled_from(["response", "callback"]),
        "heartbeat_timeout_seconds": st.sampled_from([1, 300, 0.5 + 1]),
    },
)
WEBHOOKS = st.fixed_dictionaries(
    {"url": st.just(URL)},
    optional={
        "success": SUCCESS,
        "auth": st.none() | st.sampled_from([*AUTHS.values()]),
        "tls": st.sampled_from([None, {"verify": True}, {}]),
        "proxy": st.sampled_from(
            [
                None,
                {"url": "http://proxy.example.com:3128"},
                {"url": "http://proxy.example.com:3128", "username": "u ", "password": " p "},
            ]
        ),
        "template": st.just(True),
        "headers": st.just({"X-Run": "{{ attempt }}", "X-Api-Token": "s3cret"}),
    },
)
TARGETS = st.one_of(
    st.just({"url": URL}), OPEN_WEBHOOKS, WEBHOOKS, *map(st.just, (POOL, HANDLER, COMMAND))
)
BODIES = st.fixed_dictionaries(
    {"schedule": SCHEDULES, "target": TARGETS},
    optional={
        "name": st.sampled_from(["Daily", "  spaced  ", "é <b>\"'&"]),
        "payload": JSON,
        "priority": st.integers(0, 9),
        "labels": st.dictionaries(LABEL_TEXT, LABEL_TEXT | st.just(""), max_size=3),
        "retry_policy": RETRIES,
    },
)


def definition(**parts: Any) -> dict[str, Any]:
    body = {"schedule": {"cron_expression": "0 8 * * *"}, "target": {"url": URL}, **parts}
    return to_long(parse_create(body, now=NOW, limits=LIMITS), secrets=True)


def saved(fields: dict[str, str], base: dict[str, Any] | None = None) -> dict[str, Any]:
    return to_long(parse_create(read_form(fields, base), now=NOW, limits=LIMITS), secrets=True)


def sent(fields: dict[str, str]) -> dict[str, str]:
    """Return the fields as a browser sends them."""
    return {name: value.replace("\n", "\r\n") for name, value in fields.items()}


@given(BODIES)
def test_saving_without_a_change_keeps_the_definition(body):
    before = definition(**body)
    untouched = copy.deepcopy(before)
    before["name"] = before["name"].strip()

    assert saved(sent(form_of(before)), before) == before
    assert untouched == {**before, "name": untouched["name"]}


@given(BODIES, OPEN_WEBHOOKS | st.sampled_from([POOL, HANDLER, {**COMMAND, "environment": {}}]))
def test_what_the_form_shows_is_what_it_reads_without_a_base(body, target):
    schedule = {**body["schedule"]}
    for name in ("end_at", "run_at"):
        schedule.pop(name, None)
    if not schedule.get("cron_expression"):
        common = {name: value for name, value in schedule.items() if name in AROUND}
        schedule = {"run_at": "2027-01-01T00:00:00Z", **common}
    plain = {**body, "schedule": schedule, "retry_policy": {}, "labels": {"team": "billing"}}
    before = definition(**{**plain, "target": target})

    assert saved(sent(form_of(before))) == {**before, "name": before["name"].strip()}


def test_a_new_form_needs_only_an_address_and_a_time():
    made = saved({**EMPTY, "url": URL, "cron_expression": "0 8 * * *"})

    assert made == definition()


@pytest.mark.parametrize(
    ("fields", "schedule"),
    [
        ({"when": "every", "every_count": "10", "every_unit": "S"}, {"every": "PT10S"}),
        ({"when": "every", "every_count": "2", "every_unit": "D"}, {"every": "P2D"}),
        (
            {"when": "at", "run_at": "2026-11-20T09:00", "timezone": "Europe/Berlin"},
            {"run_at": "2026-11-20T08:00:00.000Z"},
        ),
        (
            {"when": "at", "run_at": "2026-11-20T09:00:00+01:00"},
            {"run_at": "2026-11-20T08:00:00.000Z"},
        ),
        (
            {"when": "at", "run_at": "2026-11-20T09:00:00+0100"},
            {"run_at": "2026-11-20T08:00:00.000Z"},
        ),
        ({"when": "at", "run_at": "2026-11-20"}, {"run_at": "2026-11-20T00:00:00.000Z"}),
        ({"when": "after", "delay_seconds": "1.5"}, {"delay_seconds": 1.5}),
        ({"when": "cron", "cron_expression": " @daily "}, {"cron_expression": "@daily"}),
    ],
)
def test_each_kind_of_schedule_is_read(fields, schedule):
    found = judge_schedule({**EMPTY, **fields}, None, dict)["schedule"]

    assert schedule.items() <= found.items()


@pytest.mark.parametrize(
    ("local", "instant"),
    [
        ("2027-03-28T02:30", "2027-03-28T01:30:00.000Z"),  # does not exist: after the gap
        ("2027-10-31T02:30", "2027-10-31T00:30:00.000Z"),  # comes twice: the first
    ],
)
def test_a_local_time_on_the_night_of_the_clock_change_is_one_instant(local, instant):
    fields = {**EMPTY, "cron_expression": "0 8 * * *", "timezone": "Europe/Berlin"}

    found = judge_schedule({**fields, "start_at": local, "end_at": local}, None, dict)["schedule"]

    assert (found["start_at"], found["end_at"]) == (instant, instant)


def test_the_second_half_past_two_stays_the_second_until_it_is_changed():
    schedule = {
        "cron_expression": "0 8 * * *",
        "timezone": "Europe/Berlin",
        "end_at": "2027-10-31T01:30:00.000Z",
    }
    base = definition(schedule=schedule)
    fields = form_of(base)

    assert fields["end_at"] == "2027-10-31T02:30:00"
    assert read_form(fields, base)["schedule"]["end_at"] == schedule["end_at"]
    moved = read_form({**fields, "timezone": "UTC"}, base)
    assert moved["schedule"]["end_at"] == "2027-10-31T02:30:00.000Z"


def test_another_kind_of_schedule_leaves_nothing_of_the_old_one():
    base = definition(
        schedule={
            "cron_expression": "0 8 * * *",
            "end_at": "2027-01-01T00:00:00Z",
            "dst_gap": "skip",
        }
    )
    fields = form_of(base)

    once = saved({**fields, "when": "at", "run_at": "2026-12-01T08:00"}, base)
    rate = saved({**fields, "when": "every", "every_count": "5", "every_unit": "M"}, base)

    assert once["type"] == "ONE_TIME"
    assert "end_at" not in once["schedule"]
    assert (rate["schedule"]["every"], rate["schedule"]["dst_gap"]) == ("PT5M", "next_valid")
    assert rate["schedule"]["end_at"] == "2027-01-01T00:00:00.000Z"


def test_parts_that_the_form_does_not_show_are_kept():
    target = {"url": URL, "success": {"statuses": ["204"]}, "connect_timeout_seconds": 2}
    base = definition(target=target, retry_policy={"retry_on": ["503"], "jitter": "none"})

    after = saved({**form_of(base), "name": "Other"}, base)

    assert after == {**base, "name": "Other"}


def test_what_happens_around_a_run_is_read():
    fields = {
        **EMPTY,
        "url": URL,
        "cron_expression": "0 8 * * *",
        "jitter_seconds": "30",
        "overlap_policy": "queue_one",
        "max_concurrent": "2",
        "misfire_policy": "replay",
        "misfire_replay_limit": "5",
        "misfire_replay_per_second": "0.5",
        "calendars": "Holidays\r\nClose-down",
        "calendar_policy": "next_business_day",
        "pause_after_failures": "3",
    }

    made = saved(fields)

    assert made["schedule"]["calendars"] == ["Holidays", "Close-down"]
    assert {name: made["schedule"][name] for name in ("jitter_seconds", "max_concurrent")} == {
        "jitter_seconds": 30,
        "max_concurrent": 2,
    }
    assert made["schedule"]["misfire_replay_per_second"] == 0.5
    assert made["retry_policy"]["pause_after_failures"] == 3


def test_what_is_emptied_is_no_more():
    schedule = {
        "cron_expression": "0 8 * * *",
        "jitter_seconds": 30,
        "max_concurrent": 2,
        "calendars": ["Holidays"],
        "working_day": 1,
    }
    base = definition(schedule=schedule, retry_policy={"pause_after_failures": 3})
    emptied = dict.fromkeys([*schedule, "pause_after_failures"], "")

    after = saved({**form_of(base), **emptied, "cron_expression": "0 8 * * *"}, base)

    assert after == definition()


def test_a_listed_backoff_is_kept_and_can_be_left():
    base = definition(retry_policy={"backoff": "listed", "delays_seconds": [1, 5]})
    fields = form_of(base)

    assert fields["backoff"] == "listed"
    assert saved(fields, base)["retry_policy"]["delays_seconds"] == [1, 5]
    other = saved({**fields, "backoff": "fixed"}, base)["retry_policy"]
    assert (other["backoff"], "delays_seconds" in other) == ("fixed", False)


def test_separators_inside_a_value_do_not_part_it():
    labels = {"note": "a\u2028b", "query": "x=1"}
    base = definition(labels=labels)

    assert saved({**form_of(base), "name": "Other"}, base)["labels"] == labels
    assert read_form({**form_of(base), "labels": "note=a\u2028b"}, base)["labels"] == {
        "note": "a\u2028b"
    }


def test_a_pasted_definition_fills_only_what_it_speaks_of():
    pasted = {
        "target": {"url": URL, "method": "POST", "headers": {"Authorization": "Bearer mine"}},
        "schedule": {"cron_expression": "0 8 * * *", "timezone": "UTC"},
    }

    assert given_fields(pasted) == {
        "url": URL,
        "method": "POST",
        "headers": "Authorization: Bearer mine",
        "cron_expression": "0 8 * * *",
        "timezone": "UTC",
        "when": "cron",
        "every_unit": "M",
    }
    assert given_fields({}) == {}


def test_a_zone_that_is_no_more_is_shown_with_its_name():
    stored = definition()
    stored["schedule"] |= {"timezone": "Gone/Town", "end_at": "2027-01-01T00:00:00.000Z"}

    assert (form_of(stored)["timezone"], form_of(stored)["end_at"]) == (
        "Gone/Town",
        "2027-01-01T00:00:00",
    )


@pytest.mark.parametrize(
    ("pointer", "field"),
    [
        ("#/schedule/cron_expression", "cron_expression"),
        ("#/target/headers/X-A", "headers"),
        ("#/labels/team", "labels"),
        ("#/payload/a/0", "payload"),
        ("#/schedule", "form"),
        ("#/schedule/every", "every_count"),
        ("#/retry_policy/delays_seconds/1", "delays_seconds"),
        ("#/retry_policy/retry_on/0", "retry_on"),
        ("#/retry_policy/rules", "rule_0_statuses"),
        ("#/retry_policy/rules/2", "rule_2_statuses"),
        ("#/retry_policy/rules/1/delay_seconds", "rule_1_delay_seconds"),
        ("#/retry_policy", "form"),
        ("#/target", "form"),
        ("#/target/kind", "kind"),
        ("#/target/auth", "auth_type"),
        ("#/target/auth/client_secret", "auth_client_secret"),
        ("#/target/tls/client_key", "tls_client_key"),
        ("#/target/proxy", "proxy_url"),
        ("#/target/success/json/path", "success_json_path"),
        ("#/target/success/statuses/1", "success_statuses"),
        ("#", "form"),
    ],
)
def test_an_error_stands_at_its_field(pointer, field):
    assert field_errors([FieldError(pointer, "x", "Wrong.")]) == {field: "Wrong."}


def test_the_first_error_of_a_field_counts():
    errors = [FieldError("#/name", "a", "First."), FieldError("#/name", "b", "Second.")]

    assert field_errors(errors) == {"name": "First."}


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999", "five", "0x10", "1 2"])
@pytest.mark.parametrize("name", ["timeout_seconds", "priority", "max_attempts", "max_occurrences"])
def test_what_is_no_number_is_said_at_its_field(name, number):
    with pytest.raises(InvalidInput) as refused:
        read_form({**EMPTY, "url": URL, "cron_expression": "0 8 * * *", name: number})

    assert field_errors(refused.value.errors) == {name: "Must be a number."}


NONSENSE = st.sampled_from(
    [
        "",
        " ",
        "\0",
        "a\0b",
        "nan",
        "-inf",
        "1e999",
        "1e308",
        "-1",
        "9" * 5000,
        "\ud800",
        "x" * 100000,
        "[" * 3000,
        '{"a":',
        "\u0661",
        "1_0",
        "2026-02-30T00:00",
        "9999-12-31T23:59:59",
        "0001-01-01",
        "0001-01-01T00:00:00+14:00",
        "2026-01-01T00:00:00+99:99",
        ":",
        "=",
        "a:b\n:c",
        "a=b\na=c",
        "Host: x",
        "../../etc/passwd",
        "'\"<script>",
        "listed",
        "every",
        "at",
        "after",
        "cron",
        "null",
        "pool",
        "command",
        "basic",
        "raw",
        '["a", 1]',
        '["a"]',
    ]
) | st.text(max_size=30)
FIELDS = sorted(
    {
        *EMPTY,
        *form_of({"target": {"auth": AUTHS["oauth2"] | AUTHS["api_key"] | AUTHS["basic"]}}),
        *(f"rule_{place}_{part}" for place in (0, 7) for part in ("statuses", "max_attempts")),
        "auth_token",
        "proxy_password",
        "tls_client_key",
        "pool_name",
        "arguments",
        "environment",
        "requires",
        "name",
        "url",
        "headers",
        "labels",
        "payload",
        "run_at",
        "start_at",
        "end_at",
        "max_occurrences",
        "misfire_grace_seconds",
        "misfire_replay_limit",
        "max_concurrent",
        "calendars",
        "working_day",
        "pause_after_failures",
        "cron_expression",
    }
)


@given(
    st.dictionaries(st.sampled_from(FIELDS), NONSENSE, max_size=6),
    st.sampled_from([None, {"url": URL}, COMMAND, HANDLER, POOL]),
)
def test_nonsense_is_refused_and_never_a_crash(nonsense, target):
    base = definition(target=target) if target else None
    start = form_of(base) if base else dict(EMPTY)
    for read in (
        lambda: saved({**start, **nonsense}, base),
        lambda: judge_schedule(nonsense, None, dict),
    ):
        with suppress(InvalidInput, TooLarge):
            read()
