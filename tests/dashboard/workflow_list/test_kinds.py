"""Changes of a kind: what the new kind does not have goes, and the draft says so."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dashboard.workflow_list.fields import kind_of
from tasks.choices import STEP_KINDS, TARGET_KINDS
from tasks.validation.workflow import parse_workflow
from tests.dashboard.workflow_list.drafts import (
    APPROVE,
    EXTRACT,
    LOAD,
    PUBLISH,
    put,
    rich,
    steps_of,
)
from tests.tasks.bodies import LIMITS

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
TIMINGS = {
    "cron_expression": "0 2 * 1,3 *",
    "every": "PT15M",
    "run_at": "2026-12-01T08:00:00Z",
    "delay_seconds": 60,
}
KINDS = [*TARGET_KINDS, *(kind for kind in STEP_KINDS if kind != "target")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_can_be_of_every_kind_and_keeps_its_common_fields(kind):
    draft = put(rich(), PUBLISH, "@kind", kind)

    step = steps_of(draft)["publish"]
    assert kind_of(step) == kind
    assert (step["depends_on"], step["condition"]) == (["approve", "load"], "all_done")


def test_fields_that_the_new_kind_does_not_have_go_and_unknown_ones_stay():
    draft = put(rich(), LOAD, "@kind", "delay")

    assert steps_of(draft)["load"] == {
        "key": "load",
        "kind": "delay",
        "depends_on": ["extract"],
        "whatfor": 1,
    }
    assert draft.said == (
        "Removed, because Delay has no such field: for_each, max_parallel, target and payload."
    )


def test_a_target_of_another_kind_keeps_the_fields_that_both_have():
    body = {"name": "x", "steps": [{"key": "a", "target": {"url": "u", "timeout_seconds": 9}}]}

    draft = put(body, 1, "@kind", "handler")

    assert draft.steps == [{"key": "a", "target": {"kind": "handler", "timeout_seconds": 9}}]
    assert draft.said == "Removed, because Python handler has no such field: target.url."


def test_an_approval_becomes_a_call_again():
    draft = put(rich(), APPROVE, "@kind", "webhook")

    assert steps_of(draft)["approve"] == {
        "key": "approve",
        "depends_on": ["load"],
        "timeout_seconds": 86400,
        "target": {},
    }


def test_a_time_limit_of_the_step_goes_where_its_target_has_none():
    body = {"name": "x", "steps": [{"key": "a", "kind": "approval", "timeout_seconds": 9}]}

    draft = put(body, 1, "@kind", "pool")

    assert draft.steps == [{"key": "a", "target": {"kind": "pool"}}]
    assert "timeout_seconds" in draft.said


def test_what_undoes_a_step_is_chosen_and_taken_away():
    draft = put(rich(), EXTRACT, "compensate/@kind", "command")
    assert steps_of(draft)["extract"]["compensate"] == {"target": {"kind": "command"}}

    draft = put(draft, EXTRACT, "compensate/@kind", "")
    assert draft.body == rich()

    draft = put(rich(), PUBLISH, "compensate/@kind", "pool")
    assert steps_of(draft)["publish"]["compensate"] == {
        "target": {"kind": "pool"},
        "payload": {"k": 1},
    }


def test_the_schedule_keeps_what_is_not_about_its_times():
    draft = put(rich(), 0, "schedule/@timing", "every")

    assert draft.body["schedule"] == {"every": ""}
    assert draft.said == "Removed, because an interval has no such field: schedule.working_day."
    assert "schedule" not in put(rich(), 0, "schedule/@timing", "").body
    assert put(rich(), 0, "schedule/@timing", "").said.endswith("schedule.working_day.")


@pytest.mark.parametrize("before", TIMINGS)
@pytest.mark.parametrize("after", TIMINGS)
def test_no_field_of_a_schedule_is_left_that_its_new_kind_refuses(before, after):
    every_field = {
        "timezone": "Europe/Berlin",
        "jitter_seconds": 1,
        "misfire_policy": "replay",
        "misfire_grace_seconds": 60,
        "overlap_policy": "skip",
    }
    recurring = {
        "dst_gap": "skip",
        "dst_overlap": "second",
        "start_at": "2026-11-01T00:00:00Z",
        "end_at": "2027-11-01T00:00:00Z",
        "max_occurrences": 9,
        "misfire_coalesce": "earliest",
        "misfire_replay_limit": 4,
        "misfire_replay_per_second": 5,
    }
    if before in ("cron_expression", "every"):
        every_field |= recurring
    if before == "cron_expression":
        every_field |= {"calendar_policy": "next_business_day", "working_day": 3}
    body = {
        "name": "x",
        "schedule": {before: TIMINGS[before], **every_field},
        "steps": [{"key": "a", "kind": "approval"}],
    }

    draft = put(body, 0, "schedule/@timing", after)
    draft = put(draft, 0, f"schedule/{after}", str(TIMINGS[after]))

    left = draft.body["schedule"].keys()
    parse_workflow(draft.body, now=NOW, limits=LIMITS)
    assert every_field.keys() - left == (set() if before == after else set(lost(before, after)))


def lost(before, after):
    """Return the fields of the test above that the change takes away, and that are named."""
    recurring = {
        "dst_gap",
        "dst_overlap",
        "start_at",
        "end_at",
        "max_occurrences",
        "misfire_coalesce",
        "misfire_replay_limit",
        "misfire_replay_per_second",
    }
    gone = {"working_day", "calendar_policy"} if before == "cron_expression" else set()
    if after == "every":
        return gone
    if after == "cron_expression" or before not in ("cron_expression", "every"):
        return set()
    return recurring | (gone - {"calendar_policy"})


def test_a_backoff_keeps_only_the_waits_that_it_has():
    policy = {"initial_delay_seconds": 1, "factor": 3, "max_delay_seconds": 9, "max_attempts": 4}
    body = {"name": "x", "steps": [{"key": "a", "target": {}, "retry_policy": policy}]}

    draft = put(body, 1, "retry_policy/backoff", "fixed")

    assert draft.steps[0]["retry_policy"] == {
        "initial_delay_seconds": 1,
        "max_attempts": 4,
        "backoff": "fixed",
    }
    assert "factor and max_delay_seconds" in draft.said
