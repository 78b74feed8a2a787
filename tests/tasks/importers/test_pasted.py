from __future__ import annotations

import pytest

from shared.exceptions import InvalidInput
from tasks.importers.pasted import parse_crontab_line, parse_pasted

URL = "https://api.example.com/ping"


def _refusal(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        parse_pasted(text)
    return caught.value.message


def test_a_curl_command_is_read_as_one():
    assert parse_pasted(f"  $ curl {URL}\n").definition["target"]["url"] == URL


def test_a_crontab_line_that_calls_curl_becomes_schedule_and_target():
    found = parse_pasted(
        f"*/5 * * * * /usr/bin/curl -fsS {URL} >/dev/null 2>&1", timezone="Europe/Berlin"
    )

    assert found.definition == {
        "name": "GET api.example.com",
        "target": {"url": URL, "method": "GET"},
        "schedule": {
            "cron_expression": "*/5 * * * *",
            "timezone": "Europe/Berlin",
            "jitter_seconds": 0,
        },
    }
    assert len(found.notes) == 1


def test_another_command_becomes_a_schedule_and_a_note():
    found = parse_crontab_line("@daily /usr/local/bin/backup.sh " + "x" * 80)

    assert set(found.definition) == {"schedule"}
    assert found.definition["schedule"]["cron_expression"] == "@daily"
    assert "choose one of the commands" in found.notes[0]
    assert "…" in found.notes[0]


def test_a_user_column_before_curl_is_recognised():
    found = parse_crontab_line(f"0 8 * * * root curl {URL}")

    assert found.definition["target"]["url"] == URL
    assert found.notes == ()


def test_variables_above_the_line_set_its_zone():
    found = parse_crontab_line(f"CRON_TZ=Asia/Tokyo\nMAILTO=a@b\n0 8 * * * curl {URL}")

    assert found.definition["schedule"]["timezone"] == "Asia/Tokyo"
    assert found.notes == ("Variables of the crontab are left out.",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("  ", "Paste a crontab line or a curl command."),
        ("# nothing", "no schedule"),
        ("hello", "5 time fields"),
        ("@reboot x", "@reboot"),
        ("0 8 * * * a\n0 9 * * * b", "one crontab line"),
        ("0 8 * * * curl", "has no URL"),
        ("61 8 * * * curl x", "61"),
    ],
)
def test_what_is_neither_is_refused(text: str, told: str):
    assert told in _refusal(text)
