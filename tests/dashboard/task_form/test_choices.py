"""The words of the form's selects are those of the API, and its parts open where they must."""

from __future__ import annotations

import pytest

from dashboard.task_form.choices import (
    CHOICES,
    GROUPS,
    PARTS,
    TEMPLATE_NAMES,
    clock_rule,
    open_groups,
    open_parts,
)
from dashboard.task_form.form import EMPTY
from shared.templates import names_in
from tasks import choices


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("kind", choices.TARGET_KINDS),
        ("body_format", choices.BODY_FORMATS),
        ("completion", choices.COMPLETIONS),
        ("auth_type", ("none", *choices.AUTH_TYPES)),
        ("auth_in", choices.API_KEY_PLACES),
        ("backoff", choices.BACKOFFS),
        ("jitter", choices.JITTERS),
        ("overlap_policy", choices.OVERLAP_POLICIES),
        ("misfire_policy", choices.MISFIRE_POLICIES),
        ("misfire_coalesce", choices.MISFIRE_COALESCE),
        ("calendar_policy", choices.CALENDAR_POLICIES),
    ],
)
def test_a_select_offers_every_word_of_the_api(field, words):
    assert sorted(word for word, _ in CHOICES[field]) == sorted(words)


def test_the_first_choice_is_what_a_new_form_shows():
    for field, offered in CHOICES.items():
        assert EMPTY[field] in {word for word, _ in offered}


def test_a_new_form_is_folded():
    assert open_parts(dict(EMPTY), {}) == []


@pytest.mark.parametrize(
    ("fields", "errors", "part"),
    [
        ({"auth_type": "basic"}, {}, "auth"),
        ({}, {"tls_client_key": "Wrong."}, "tls"),
        ({"rule_1_statuses": "429"}, {}, "retry"),
        ({"headers": "X-A: 1"}, {}, "request"),
        ({"completion": "callback"}, {}, "long"),
    ],
)
def test_a_part_opens_where_something_is_set_or_wrong(fields, errors, part):
    assert open_parts({**EMPTY, **fields}, errors) == [part]
    assert part in PARTS


def test_the_names_that_are_listed_are_those_of_templates():
    listed = [name for name, _ in TEMPLATE_NAMES]

    assert [*names_in("".join(f"{{{{ {name} }}}}" for name in listed))] == listed


def test_every_part_is_in_one_group():
    grouped = [part for parts, _ in GROUPS.values() for part in parts]

    assert sorted(grouped) == sorted(PARTS)


@pytest.mark.parametrize(
    ("fields", "errors", "group"),
    [
        ({"headers": "A: b"}, {}, "call"),
        ({"jitter_seconds": "30"}, {}, "when"),
        ({"max_attempts": "1"}, {}, "fails"),
        ({}, {"rule_0_statuses": "Wrong."}, "fails"),
        ({"overlap_policy": "skip"}, {}, "limits"),
        ({"owner": "a@example.com"}, {}, "limits"),
    ],
)
def test_a_group_opens_where_something_in_it_is_set_or_wrong(fields, errors, group):
    assert open_groups(dict(EMPTY), {}) == []
    assert open_groups({**EMPTY, **fields}, errors) == [group]


def test_the_rule_for_changed_clocks_is_said_of_cron_alone():
    assert clock_rule({"every": "PT5M"}) == ""
    assert clock_rule({"cron_expression": "0 2 * * *", "dst_overlap": "both"}) == (
        "When the clocks skip its time: run right after the gap. "
        "When its time occurs twice: run both times."
    )
