from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.template import Context, Engine

from dashboard.pictures.fires import FireMinute
from dashboard.pictures.heat_map import DayRow, HourCell
from dashboard.pictures.partition_map import PartitionCell
from dashboard.pictures.run_strip import RunBar
from tests.dashboard.pictures.reading import having

AT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
_ENGINE = Engine(libraries={"pictures": "dashboard.templatetags.pictures"})


def _render(text: str, **values: object) -> str:
    template = _ENGINE.from_string(f"{{% load pictures %}}{text}")
    return template.render(Context(values))


def test_a_badge_takes_the_attempt_along():
    assert "retrying 2/5" in _render("{% state_badge 'RETRYING' 2 5 %}")


@pytest.mark.parametrize(
    ("text", "css"),
    [
        ("{% run_strip bars compact=True %}", "run-strip"),
        ("{% waterfall attempts now=at %}", "waterfall"),
        ("{% state_path visits %}", "state-path"),
        ("{% partition_map cells %}", "partition-map"),
        ("{% delay_strip minutes bounds %}", "picture-delay-strip"),
        ("{% delay_histogram counts bounds window='24 h' %}", "picture-delay-histogram"),
        ("{% throughput_bars minutes %}", "picture-throughput"),
        ("{% fire_histogram fires %}", "picture-fires"),
        ("{% heat_map days %}", "picture-heat-map"),
        ("{% sparkline counts label='Failures' %}", "sparkline"),
        ("{% gauge 12 50 label='Slots' %}", "gauge"),
    ],
    ids=lambda value: value.split()[1] if "%" in value else "",
)
def test_each_tag_draws_its_picture_unescaped(text: str, css: str):
    drawn = _render(
        text,
        at=AT,
        bars=[RunBar("SUCCEEDED", AT, 5.0)],
        attempts=[],
        visits=[],
        minutes=[],
        cells=[PartitionCell(0, "a", 1)],
        days=[DayRow(AT.date(), [HourCell(8, 1, "?")])],
        fires=[FireMinute(AT, 3)],
        counts=[1, 2],
        bounds=[1000],
    )

    assert having(drawn, css)


def test_durations_and_words_are_filters():
    assert _render("{{ 1240|duration }} {{ 'TIMED_OUT'|state_label }}") == "1.24 s timed out"
