from __future__ import annotations

import copy
import string
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.exceptions import InvalidInput, TooLarge
from tasks.definition import to_long
from tasks.limits import Limits
from tasks.validation.bodies import StatusChange, parse_create, parse_replace
from tests.tasks.bodies import (
    ABSENT,
    AUTHS,
    COMMAND,
    HANDLER,
    LIMITS,
    LONG,
    MINIMAL,
    NOW,
    ONCE,
    POOL,
    SHORT,
    TARGETS,
    WEBHOOK,
    changed,
    create,
    patch,
    problems,
    with_target,
)

TASK_ID = "0199b6f0-0000-7000-8000-000000000001"

REFUSED = [
    ("name", "", "blank"),
    ("name", "   ", "blank"),
    ("name", "x" * 201, "too_long"),
    ("name", "x" * 10_000, "too_long"),
    ("name", "a\0b", "invalid_characters"),
    ("name", "a\nb", "invalid_characters"),
    ("name", "\x1b[31mred", "invalid_characters"),
    ("name", "\ud800", "invalid_characters"),
    ("name", 5, "invalid_type"),
    ("name", None, "null"),
    ("name", ["x"], "invalid_type"),
    ("type", "CRON", "invalid_choice"),
    ("type", "recurring", "invalid_choice"),
    ("type", 1, "invalid_type"),
    ("type", None, "null"),
    ("priority", -1, "out_of_range"),
    ("priority", 10, "out_of_range"),
    ("priority", 10**30, "out_of_range"),
    ("priority", 5.0, "invalid_type"),
    ("priority", "5", "invalid_type"),
    ("priority", True, "invalid_type"),
    ("priority", None, "null"),
    ("labels", [], "invalid_type"),
    ("labels", "team=billing", "invalid_type"),
    ("labels", None, "null"),
    ("labels", {str(n): "x" for n in range(33)}, "too_many"),
    ("labels/team", 5, "invalid_type"),
    ("labels/team", None, "invalid_type"),
    ("labels/team", ["x"], "invalid_type"),
    ("labels/team", "x" * 201, "too_long"),
    ("labels/team", "a\0", "invalid_characters"),
    ("labels/team", "\udfff", "invalid_characters"),
    ("labels/" + "k" * 64, "x", "too_long"),
    ("labels/ ", "x", "blank"),
    ("depends_on", TASK_ID, "invalid_type"),
    ("depends_on", None, "null"),
    ("on_dependency_failure", "stop", "invalid_choice"),
    ("on_dependency_failure", None, "null"),
    ("depends_on", [TASK_ID] * 101, "too_many"),
    ("prority", 5, "unknown_field"),
    ("Name", "x", "unknown_field"),
    ("id", TASK_ID, "read_only"),
    ("status", "PAUSED", "read_only"),
    ("version", 1, "read_only"),
    ("next_execution", None, "read_only"),
    ("next_execution_local", None, "read_only"),
    ("schedule_text", "x", "read_only"),
    ("last_execution", None, "read_only"),
    ("created_at", "2026-11-20T08:00:00Z", "read_only"),
    ("updated_at", "2026-11-20T08:00:00Z", "read_only"),
    ("paused_until", None, "read_only"),
]


@pytest.mark.parametrize(("field", "value", "code"), REFUSED)
def test_wrong_fields_are_named(field, value, code):
    assert (f"#/{field}", code) in problems(create, changed(LONG, field, value))


@pytest.mark.parametrize(
    "value", ["not-an-id", 5, None, TASK_ID.replace("-", ""), f"{{{TASK_ID}}}"]
)
def test_dependencies_that_are_no_ids_are_refused_by_place(value):
    body = changed(LONG, "depends_on", [TASK_ID, value])

    assert problems(create, body) == {("#/depends_on/1", "invalid")}


@pytest.mark.parametrize("body", [None, [], "text", 5, 1.5, True])
def test_a_body_that_is_no_object_is_refused(body):
    assert problems(create, body) == {("#", "invalid_type")}


def test_an_empty_body_says_what_is_missing():
    assert problems(create, {}) == {("#/schedule", "required"), ("#/target", "required")}


def test_every_error_is_reported_at_once():
    body = changed(changed(changed(LONG, "priority", 11), "schedule/dst_gap", "x"), "oops", 1)

    assert problems(create, body) == {
        ("#/priority", "out_of_range"),
        ("#/schedule/dst_gap", "invalid_choice"),
        ("#/oops", "unknown_field"),
    }


def test_the_list_of_errors_is_bounded():
    with pytest.raises(InvalidInput) as refused:
        create(LONG | {f"field{n}": n for n in range(1000)})

    assert len(refused.value.errors) == 50


def test_hostile_names_of_fields_do_not_reach_the_answer():
    with pytest.raises(InvalidInput) as refused:
        create(LONG | {"\x1b" + "x" * 100_000: 1})

    assert refused.value.errors[0].pointer == "#/?" + "x" * 99


@pytest.mark.parametrize(
    ("payload", "pointer", "code"),
    [
        ({"a": "\0"}, "#/payload/a", "invalid_characters"),
        ({"a": ["x", "\ud83d"]}, "#/payload/a/1", "invalid_characters"),
        ({"\0": 1}, "#/payload/?", "invalid_characters"),
        (float("nan"), "#/payload", "out_of_range"),
        ([float("inf")], "#/payload/0", "out_of_range"),
        ({"n": 2**64}, "#/payload/n", "out_of_range"),
        ({"at": NOW}, "#/payload/at", "invalid_type"),
        ({1: 2}, "#/payload/1", "invalid_type"),
    ],
)
def test_a_payload_that_cannot_be_carried_is_refused(payload, pointer, code):
    assert problems(create, changed(LONG, "payload", payload)) == {(pointer, code)}


def test_a_payload_nested_too_deeply_is_refused():
    payload: list[Any] = []
    for _ in range(5000):
        payload = [payload]

    with pytest.raises(InvalidInput) as refused:
        create(changed(LONG, "payload", payload))

    assert refused.value.errors[0].code == "too_deep"


@pytest.mark.parametrize("payload", [None, 0, "", "text", [], {}, [1, {"a": None}], "ü", 2**64 - 1])
def test_any_other_json_is_a_payload(payload):
    assert create(changed(LONG, "payload", payload)).payload == payload


def test_the_size_of_a_payload_is_that_of_its_compact_json_in_utf8():
    exact = Limits(payload_bytes=len('{"a":"üü"}'.encode()), allow_list=LIMITS.allow_list)

    taken = parse_create(changed(LONG, "payload", {"a": "üü"}), now=NOW, limits=exact)

    assert taken.payload == {"a": "üü"}
    with pytest.raises(TooLarge):
        parse_create(changed(LONG, "payload", {"a": "üüx"}), now=NOW, limits=exact)


def test_a_payload_over_the_limit_is_too_large_in_both_forms():
    large = "x" * (257 * 1024)

    with pytest.raises(TooLarge):
        create(changed(LONG, "payload", large))
    with pytest.raises(TooLarge):
        create(changed(SHORT, "payload/body", large))


def test_the_defaults_are_those_of_the_documentation():
    definition = create(MINIMAL)

    assert definition.type == "RECURRING"
    assert definition.payload is None
    assert definition.priority == 5
    assert definition.labels == {}
    assert definition.depends_on == []


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.example.com/services/s3cret", "api.example.com"),
        ("https://API.example.com/", "api.example.com"),
        ("https://api.example.com", "api.example.com"),
        ("http://api.example.com:8080/a/b?token=secret#secret", "api.example.com:8080"),
    ],
)
def test_a_task_without_a_name_takes_its_targets_host_and_port_and_nothing_secret(url, name):
    assert create(MINIMAL | {"target": {"url": url}}).name == name


def test_the_example_of_the_documentation_is_answered_with_every_default():
    expected = copy.deepcopy(LONG)
    expected["schedule"] |= {
        "end_at": "2026-12-31T00:00:00.000Z",
        "misfire_coalesce": "latest",
        "misfire_replay_limit": None,
        "misfire_replay_per_second": 10,
        "calendar_policy": "skip",
        "working_day": None,
    }
    expected["retry_policy"]["pause_after_failures"] = None
    expected |= {"owner": None, "payload_ref": None}

    assert to_long(create(LONG)) == expected


def test_label_values_may_be_empty():
    assert create(changed(LONG, "labels", {"team": ""})).labels == {"team": ""}


def test_the_callers_body_is_not_changed_nor_shared():
    body = copy.deepcopy(LONG)

    definition = create(body)
    body["target"]["headers"]["X-Late"] = "1"

    assert body == changed(LONG, "target/headers/X-Late", "1")
    assert definition.target["headers"] == {"X-Team": "billing"}


def test_replacing_goes_back_to_the_defaults_of_what_is_left_out():
    assert parse_replace(MINIMAL, now=NOW, limits=LIMITS) == create(MINIMAL)


# --- edits ---------------------------------------------------------------------------------


def test_an_edit_merges_nested_objects():
    edited, change = patch(create(LONG), {"labels": {"tier": "gold"}, "payload": {"dry": True}})

    assert change is None
    assert edited.labels == {"team": "billing", "tier": "gold"}
    assert edited.payload == {"report_type": "daily", "dry": True}
    assert edited.schedule == create(LONG).schedule


def test_null_takes_away_and_goes_back_to_the_default():
    edit = {"labels": {"team": None}, "payload": None, "priority": None, "retry_policy": None}

    edited, _ = patch(create(changed(LONG, "priority", 1)), edit)

    assert (edited.labels, edited.payload, edited.priority) == ({}, None, 5)
    assert edited.retry_policy == create(MINIMAL).retry_policy


@pytest.mark.parametrize(
    ("body", "expected"),
    [({"status": "PAUSED"}, StatusChange.PAUSE), ({"status": "SCHEDULED"}, StatusChange.RESUME)],
)
def test_a_status_pauses_and_resumes_without_an_edit(body, expected):
    current = create(LONG)

    assert patch(current, body) == (current, expected)


def test_a_status_may_come_with_an_edit():
    edited, change = patch(create(LONG), {"status": "PAUSED", "priority": 0})

    assert (edited.priority, change) == (0, StatusChange.PAUSE)


@pytest.mark.parametrize("status", ["RUNNING", "COMPLETED", "CANCELLED", "paused", "", None, 1, []])
def test_other_states_cannot_be_set(status):
    assert problems(patch, create(LONG), {"status": status}) == {("#/status", "invalid_choice")}


@pytest.mark.parametrize("body", [{"schedule": {"every": "PT5M"}}, {"every": "PT5M"}])
def test_a_new_way_of_saying_when_takes_the_place_of_the_old(body):
    edited, _ = patch(create(LONG), body)

    assert edited.schedule["every"] == "PT5M"
    assert edited.schedule["cron_expression"] is None
    assert edited.schedule["timezone"] == "Europe/Berlin"


def test_a_recurring_task_becomes_one_time_when_the_type_says_so():
    body = {"type": "ONE_TIME", "schedule": {"delay_seconds": 60}}

    edited, _ = patch(create(LONG), body)

    assert edited.schedule["run_at"] == "2026-11-20T08:01:00.124Z"
    assert "end_at" not in edited.schedule


def test_a_one_time_task_becomes_recurring_when_the_type_says_so():
    edited, _ = patch(create(ONCE), {"type": "RECURRING", "cron_expression": "* * * * *"})

    assert edited.schedule["cron_expression"] == "* * * * *"
    assert "run_at" not in edited.schedule


def test_a_schedule_of_the_other_type_alone_is_a_contradiction():
    assert problems(patch, create(LONG), {"run_at": "2026-11-20T09:00:00Z"}) == {
        ("#/run_at", "type_contradiction")
    }


def test_an_edit_of_anything_else_leaves_an_old_run_at_alone():
    old = parse_create(
        changed(ONCE, "schedule/run_at", "2026-01-02T00:00:00Z"),
        now=NOW.replace(month=1, day=1),
        limits=LIMITS,
    )

    edited, _ = patch(old, {"name": "Renamed"})

    assert edited.schedule["run_at"] == "2026-01-02T00:00:00.000Z"
    assert problems(patch, old, {"run_at": "2026-01-03T00:00:00Z"}) == {("#/run_at", "run_at_past")}


def test_headers_are_edited_by_name_whatever_their_case():
    edited, _ = patch(create(LONG), {"target": {"headers": {"x-team": "sales", "X-New": "1"}}})

    assert edited.target["headers"] == {"x-team": "sales", "X-New": "1"}


def test_short_form_edits_reach_target_and_payload():
    body = {"payload": {"webhook_url": "https://b.example/x", "body": {"dry": True}}}

    edited, _ = patch(create(LONG), body)

    assert edited.target["url"] == "https://b.example/x"
    assert edited.payload == {"report_type": "daily", "dry": True}


def test_leaving_listed_delays_drops_the_list():
    current = create(MINIMAL | {"retry_policy": {"backoff": "listed", "delays_seconds": [1, 2]}})

    edited, _ = patch(current, {"retry_policy": {"backoff": "fixed"}})

    assert edited.retry_policy["delays_seconds"] is None


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"name": 5}, "#/name", "invalid_type"),
        ({"oops": 1}, "#/oops", "unknown_field"),
        ({"version": 3}, "#/version", "read_only"),
        ({"schedule": {"timezone": "Mars"}}, "#/schedule/timezone", None),
        ({"schedule": None}, "#/schedule", "required"),
        ({"schedule": {"cron_expression": None}}, "#/schedule", "required"),
        ({"schedule": "daily"}, "#/schedule", "invalid_type"),
        ({"target": None}, "#/target", "required"),
        ({"target": {"url": None}}, "#/target/url", "required"),
        ({"target": {"kind": "lambda"}}, "#/target/kind", "invalid_choice"),
        ({"target": {"headers": ["x"]}}, "#/target/headers", "invalid_type"),
        ({"target": []}, "#/target", "invalid_type"),
        ({"retry_policy": []}, "#/retry_policy", "invalid_type"),
        ({"retry_policy": {"max_attempts": 99}}, "#/retry_policy/max_attempts", "out_of_range"),
        ({"timezone": "Mars"}, "#/timezone", None),
        ({"end_date": "soon"}, "#/end_date", "invalid_time"),
        ({"payload": {"webhook_url": None}}, "#/payload/webhook_url", "required"),
        ({"timezone": "UTC", "payload": None}, "#/payload", "invalid_type"),
        ({"timezone": "UTC", "schedule": {}}, "#/timezone", "mixed_forms"),
    ],
)
def test_wrong_edits_are_refused_where_they_were_written(body, pointer, code):
    found = problems(patch, create(LONG), body)

    assert {place for place, _ in found} == {pointer}
    assert code is None or (pointer, code) in found


def test_an_edit_that_changes_nothing_gives_the_same_definition():
    current = create(LONG)

    assert patch(current, {}) == (current, None)
    assert patch(current, to_long(current)) == (current, None)


# --- properties ----------------------------------------------------------------------------

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_FIELDS = st.sampled_from(
    [
        *LONG,
        *LONG["schedule"],
        *LONG["target"],
        *LONG["retry_policy"],
        *(key for target in TARGETS.values() for key in target),
        *(key for auth in AUTHS.values() for key in auth),
        *("tls", "verify", "client_key", "header", "pattern", "json", "path", "equals"),
        *SHORT,
        *SHORT["payload"],
        *("every", "run_at", "delay_seconds", "delays_seconds", "statuses", "status"),
    ]
)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_FIELDS | st.text(string.printable, max_size=8), inner, max_size=6)
    ),
    max_leaves=20,
)


def test_whatever_json_comes_only_known_errors_are_raised():
    current = create(LONG)

    @settings(deadline=None)
    @given(_JSON)
    def check(body):
        for call in (create, lambda it: patch(current, it)):
            with suppress(InvalidInput, TooLarge):
                call(body)

    check()


def test_whatever_stands_in_place_of_a_field_of_a_target_only_known_errors_are_raised():
    fields = [(kind, key) for kind, target in TARGETS.items() for key in target]

    @settings(deadline=None)
    @given(st.sampled_from(fields), _JSON)
    def check(field, value):
        kind, key = field
        current = create(with_target(TARGETS[kind]))
        for call in (create, lambda it: patch(current, it)):
            with suppress(InvalidInput, TooLarge):
                call(with_target({**TARGETS[kind], key: value}))

    check()


def test_whatever_stands_in_place_of_a_part_only_known_errors_are_raised():
    @settings(deadline=None)
    @given(st.sampled_from([*LONG]), _JSON)
    def check(part, value):
        with suppress(InvalidInput, TooLarge):
            create(LONG | {part: value})

    check()


_TIMING = st.one_of(
    st.fixed_dictionaries({"cron_expression": st.sampled_from(["* * * * *", "0 8 * * 1"])}),
    st.fixed_dictionaries({"every": st.sampled_from(["PT5M", "PT1S", "PT36H"])}),
    st.fixed_dictionaries({"delay_seconds": st.floats(0, 1e8) | st.integers(0, 10**8)}),
)
_WEBHOOKS = st.fixed_dictionaries(
    {"url": st.just("https://api.example.com/x")},
    optional={
        "method": st.sampled_from(["GET", "PUT"]),
        "timeout_seconds": st.floats(0.1, 3600),
        "success": st.sampled_from([{"statuses": ["200", "3xx"]}, WEBHOOK["success"]]),
        "auth": st.sampled_from([None, *AUTHS.values()]),
        "proxy": st.sampled_from([None, WEBHOOK["proxy"]]),
        "template": st.booleans(),
    },
)
_OTHERS = st.sampled_from([POOL, HANDLER, COMMAND, WEBHOOK]).flatmap(
    lambda target: st.sets(st.sampled_from([*target])).map(
        lambda left_out: {
            key: target[key]
            for key in target
            if key not in left_out or key in ("kind", "pool", "handler", "command", "url")
        }
    )
)
_BODIES = st.fixed_dictionaries(
    {"schedule": _TIMING, "target": _WEBHOOKS | _OTHERS},
    optional={
        "name": st.text(string.ascii_letters, min_size=1, max_size=200),
        "payload": _JSON.filter(lambda value: value == value),
        "priority": st.integers(0, 9),
        "retry_policy": st.fixed_dictionaries(
            {"backoff": st.just("listed")},
            optional={"max_attempts": st.integers(1, 25)},
        ).map(lambda policy: policy | {"delays_seconds": [1, 2.5]}),
        "labels": st.dictionaries(
            st.text("abc", min_size=1, max_size=5), st.text("x y", max_size=3)
        ),
    },
)


def test_the_long_form_of_a_definition_makes_the_same_definition():
    @settings(deadline=None)
    @given(_BODIES)
    def check(body):
        try:
            definition = create(body)
        except (InvalidInput, TooLarge):
            return
        assert create(to_long(definition, secrets=True)) == definition
        replaced = parse_replace(to_long(definition), now=NOW, limits=LIMITS, current=definition)
        assert replaced == definition
        # A null inside a payload is a value on creation, but takes away in an edit.
        edit = to_long(definition)
        del edit["payload"]
        assert patch(definition, edit)[0] == definition

    check()


def test_taking_away_any_optional_part_still_makes_a_definition():
    for part in ("name", "type", "payload", "priority", "retry_policy", "labels", "depends_on"):
        assert create(changed(LONG, part, ABSENT)).target == LONG["target"]
