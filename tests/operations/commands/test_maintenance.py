from __future__ import annotations

from typing import Any

import pytest

from notifications.models import MaintenanceWindow
from shared.ids import new_id
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def read(verb: str, *words: str) -> dict[str, Any]:
    said = call("maintenance", verb, *words, "--json")
    assert said.code == 0, said.err
    return read_document(f"maintenance-{verb}", said.out)


def test_a_window_is_made_listed_and_ended(alpha):
    made = read("create", "Upgrade", "--until", "2h", "--scope", "label", "--value", "team:data")

    assert (made["scope"], made["value"], made["weekdays"]) == ("label", "team:data", [])
    assert made["active_until"] == made["ends_at"]
    [listed] = read("list")["maintenance_windows"]
    assert {"schema": 1, **listed} == made
    assert "label team:data" in call("maintenance", "list").out
    assert read("end", made["id"]) == {"schema": 1, "id": made["id"], "name": "Upgrade"}
    assert not MaintenanceWindow.objects.exists()
    assert call("maintenance", "end", made["id"]).code == 3


def test_a_weekly_window_is_of_every_day_unless_days_are_given(alpha):
    every = read("create", "Nightly load", "--daily", "22:00-02:00", "--tz", "Europe/Berlin")
    some = read("create", "Week", "--daily", "08:00-09:00", "--weekdays", "sat", "sun")

    assert (every["weekdays"], some["weekdays"]) == ([1, 2, 3, 4, 5, 6, 7], [6, 7])
    assert (every["from_time"], every["to_time"]) == ("22:00", "02:00")
    assert "sat sun 08:00-09:00 UTC" in call("maintenance", "list").out


@pytest.mark.parametrize(
    "words",
    [
        ["create", "x"],
        ["create", "x", "--until", "oops"],
        ["create", "x", "--daily", "oops"],
        ["create", "x", "--weekdays", "mon"],
        ["create", "x", "--until", "2h", "--scope", "task", "--value", str(new_id())],
    ],
)
def test_bad_words_are_refused(alpha, words):
    said = call("maintenance", *words)

    assert said.code == 2
    assert said.err
    assert not MaintenanceWindow.objects.exists()
