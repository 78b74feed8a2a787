from __future__ import annotations

import pytest

from events.audit import record
from tests.support.command_calls import call

pytestmark = pytest.mark.django_db


def test_hostile_text_reaches_no_terminal(alpha):
    record(alpha.id, "user:1\x1b[31m", "task.updated", "task", "\x1b[2J", None, {"\x07": 1})

    assert "\x1b" not in call("audit", "list").out
    assert "\x07" not in call("audit", "list").out


def test_no_more_entries_are_listed_than_asked_for(alpha):
    for number in range(5):
        record(alpha.id, "system", "task.updated", "task", str(number))

    lines = call("audit", "list", "--limit", "2").out.splitlines()

    assert len(lines) == 3
    assert "task:4" in lines[1]


def test_an_id_of_an_object_needs_its_kind(alpha):
    assert call("audit", "list", "--object", ":abc").code == 2


def test_times_bound_the_list(alpha):
    record(alpha.id, "system", "task.updated", "task", "t")

    assert "task:t" in call("audit", "list", "--since", "1h").out
    assert "task:t" not in call("audit", "list", "--until", "1h").out
    assert call("audit", "list", "--since", "yesterday-ish").code == 2
