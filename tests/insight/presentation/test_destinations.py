from __future__ import annotations

from datetime import UTC, datetime

from executions.destinations.limits import Shown
from insight.presentation.destinations import present_destination


def test_a_destination_is_told_in_plain_values():
    moment = datetime(2027, 1, 1, tzinfo=UTC)
    shown = Shown("a.example", "open", moment, 20, 15, 1, 7, 2, None, 2.5, True, 3)

    found = present_destination(shown)

    assert found["open_until"] == "2027-01-01T00:00:00.000Z"
    assert (found["parked"], found["rate_per_second"], found["version"]) == (7, 2.5, 3)
