"""``/v1/maintenance-windows``."""

from __future__ import annotations

import pytest

from notifications.models import MaintenanceWindow

PATH = "/v1/maintenance-windows"
NIGHTS = {"name": "Nights", "weekdays": [1, 7], "from_time": "22:00", "to_time": "02:00"}


def test_a_window_is_made_shown_listed_and_ended(client):
    made = client.post(PATH, {**NIGHTS, "timezone": "Europe/Berlin"})

    assert made.status_code == 201
    shown = made.json()
    assert made["Location"] == f"{PATH}/{shown['id']}"
    assert {key: shown[key] for key in (*NIGHTS, "timezone", "scope", "value", "begins_at")} == {
        **NIGHTS,
        "timezone": "Europe/Berlin",
        "scope": "all",
        "value": "",
        "begins_at": None,
    }
    assert client.get(made["Location"]).json() == shown
    assert client.get(PATH).json()["maintenance_windows"] == [shown]
    assert client.delete(made["Location"]).status_code == 204
    assert client.get(made["Location"]).status_code == 404


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"weekdays": [8]}, "weekdays"),
        ({"from_time": "24:00"}, "from_time"),
        ({"ends_at": "2027-01-01T00:00:00Z"}, "ends_at"),
        ({"ends_at": "oops"}, "ends_at"),
        ({"scope": "oops"}, "scope"),
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"name": ""}, "name"),
        ({"until": "2h"}, "until"),
    ],
)
def test_bad_fields_are_refused(client, given, field):
    answer = client.post(PATH, {**NIGHTS, **given})

    assert answer.status_code == 400
    assert any(error["pointer"].startswith(f"#/{field}") for error in answer.json()["errors"])
    assert not MaintenanceWindow.objects.exists()
