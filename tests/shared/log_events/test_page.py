from __future__ import annotations

from shared.log_events import EVENTS, PARTS
from shared.log_events.fields import OF_EVENTS, OF_THE_WORK
from shared.log_events.page import render_log_events
from tests.architecture import tree

PAGE = tree.REPOSITORY / "docs" / "reference" / "log-events.md"
WRITE = (
    "run: python -c 'from shared.log_events.page import render_log_events as r; "
    'print(r(), end="")\' > docs/reference/log-events.md'
)


def test_the_reference_page_is_what_the_catalogue_says():
    assert PAGE.read_text(encoding="utf-8") == render_log_events(), WRITE


def test_the_page_has_a_part_for_each_event():
    lines = render_log_events().splitlines()

    assert [line[4:] for line in lines if line.startswith("### ")] == list(EVENTS)


def test_each_name_is_given_once():
    assert sum(len(part) for part in PARTS.values()) == len(EVENTS)


def test_the_page_explains_each_field_and_no_other():
    used = {field for event in EVENTS.values() for field in event.fields}

    assert used - set(OF_THE_WORK) == set(OF_EVENTS)
