"""A draft as the templates show it."""

from __future__ import annotations

import pytest

from dashboard.workflow_list.cards import list_view, place_of
from dashboard.workflow_list.draft import draft_of
from shared.exceptions import FieldError
from tests.dashboard.workflow_list.drafts import EXTRACT, LOAD, PUBLISH, put, rich


def fields_of(view, card):
    """Return the fields of an open card by name."""
    parts = next(one.parts for one in view.cards if one.number == card)
    return {field.name: field for part in parts for field in part.fields}


def test_a_folded_card_says_what_it_is_calls_and_waits_for():
    cards = list_view(draft_of(rich()), []).cards

    assert [(one.key, one.kind, one.calls, one.waits) for one in cards] == [
        ("extract", "Webhook", "https://api.example.com/extract", ""),
        ("load", "Command", "load", "extract"),
        ("approve", "Approval", "", "load"),
        ("publish", "Workers of a pool", "gpu publish", "approve and load"),
    ]
    assert not any(one.parts or one.is_open for one in cards)


def test_an_open_card_names_what_is_set_and_not_shown():
    view = list_view(draft_of(rich(), {"opened": f"{EXTRACT} {LOAD}"}), [])

    hidden = {one.number: one.hidden for one in view.cards}
    assert hidden[EXTRACT] == "target.auth and retry_policy.rules"
    assert hidden[LOAD] == "whatfor"
    assert view.hidden == "schedule.working_day and x-unknown"


def test_parts_with_something_set_are_open():
    view = list_view(draft_of(rich(), {"opened": str(LOAD)}), [])

    parts = next(one.parts for one in view.cards if one.number == LOAD)
    assert [part.title for part in parts if part.is_open and part.title] == [
        "Once for each item of a list"
    ]


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("#/steps/0/target/url", (EXTRACT, "target/url")),
        ("#/steps/0/target/headers/X-A", (EXTRACT, "target/headers")),
        ("#/steps/0/target/kind", (EXTRACT, "@kind")),
        ("#/steps/0/target/auth/token", (EXTRACT, "")),
        ("#/steps/3/depends_on/1", (PUBLISH, "depends_on")),
        ("#/steps/3/compensate/target/tls", (PUBLISH, "compensate/@kind")),
        ("#/steps/0/redact/1", (EXTRACT, "redact")),
        ("#/redact/0", (0, "redact")),
        ("#/steps/9/key", (0, "")),
        ("#/steps", (0, "")),
        ("#/schedule/working_day", (0, "schedule/@timing")),
        ("#/name", (0, "name")),
        ("#", (0, "")),
    ],
)
def test_an_error_leads_to_the_field_that_shows_its_place(pointer, place):
    assert place_of(draft_of(rich()), pointer) == place


def test_an_error_of_a_targets_field_appears_at_the_step_that_gives_it():
    body = {"steps": [{"key": "a", "timeout_seconds": "soon", "target": {"url": "x"}}]}

    place = place_of(draft_of(body), "#/steps/0/target/timeout_seconds")

    assert place == (1, "timeout_seconds")


def test_errors_stand_at_their_fields_and_the_others_in_their_cards():
    errors = [
        FieldError("#/steps/0/target/url", "invalid", "No URL."),
        FieldError("#/steps/0/target/auth/token", "invalid", "No token."),
        FieldError("#/name", "blank", "No name."),
        FieldError("#", "too_large", "Too large."),
    ]

    view = list_view(draft_of(rich(), {"opened": "1"}), errors)

    assert (view.cards[0].errors, view.cards[0].problems) == (2, ["target.auth.token: No token."])
    assert fields_of(view, EXTRACT)["target/url"].error == "No URL."
    assert view.problems == ["Too large."]
    assert view.parts[0].fields[0].error == "No name."


def test_text_without_a_value_is_shown_where_it_was_typed():
    draft = put(draft_of(rich(), {"opened": "1"}), EXTRACT, "payload", "{")

    field = fields_of(list_view(draft, []), EXTRACT)["payload"]
    assert (field.text, field.is_unread) == ("{", True)
    assert "JSON" in field.error


def test_few_other_steps_are_boxes_and_many_are_offered_in_a_select():
    few = fields_of(list_view(draft_of(rich(), {"opened": "4"}), []), PUBLISH)["depends_on"]
    assert [(one.value, one.chosen) for one in few.choices] == [
        ("extract", False),
        ("load", True),
        ("approve", True),
    ]

    steps = [{"key": f"s{n}", "depends_on": ["s1", "gone"]} for n in range(40)]
    many = list_view(draft_of({"steps": steps}, {"opened": "1"}), [])
    field = fields_of(many, 1)["depends_on"]
    assert [one.value for one in field.choices] == ["s1", "gone"]
    assert len(field.others) == 38


def test_a_long_list_has_pages():
    view = list_view(draft_of({"steps": [{"key": f"s{n}"} for n in range(250)]}, {"page": "2"}), [])

    assert [one.key for one in view.cards][:1] == ["s200"]
    assert [(one.label, one.chosen) for one in view.pages] == [
        ("1–100", False),
        ("101–200", False),
        ("201–250", True),
    ]
