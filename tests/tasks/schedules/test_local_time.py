from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.schedules.base import DST_GAP, DST_OVERLAP
from tasks.schedules.local_time import LocalRules, place
from tasks.schedules.zones import EPOCH, find_zone
from tests.tasks.schedules.instants import cron

BERLIN = find_zone("Europe/Berlin")


def wall(text: str) -> int:
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH) // timedelta(seconds=1)


def placed(text: str, **rules):
    found = place(BERLIN, wall(text), LocalRules(**rules))
    return found and (f"{EPOCH + timedelta(seconds=found[0]):%m-%d %H:%M:%S}", found[1])


@pytest.mark.parametrize(
    ("text", "rules", "expected"),
    [
        ("2026-11-20 08:00", {}, ("11-20 07:00:00", ())),
        ("2026-03-29 02:30", {}, ("03-29 01:00:00", (DST_GAP,))),
        ("2026-03-29 02:30", {"gap": "before"}, ("03-29 00:59:00", (DST_GAP,))),
        ("2026-03-29 02:30", {"gap": "before", "step": 1}, ("03-29 00:59:59", (DST_GAP,))),
        ("2026-03-29 02:30", {"gap": "skip"}, None),
        ("2026-03-29 03:00", {"gap": "skip"}, ("03-29 01:00:00", ())),
        ("2026-10-25 02:30", {}, ("10-25 00:30:00", (DST_OVERLAP,))),
        ("2026-10-25 02:30", {"overlap": "second"}, ("10-25 01:30:00", (DST_OVERLAP,))),
        ("2026-10-25 02:30", {"overlap": "both"}, ("10-25 00:30:00", (DST_OVERLAP,))),
        ("1969-12-31 08:00", {}, None),
        ("2200-01-01 08:00", {}, None),
    ],
)
def test_a_local_time_becomes_an_instant_by_the_rules(text, rules, expected):
    assert placed(text, **rules) == expected


@given(
    st.sampled_from(["Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Gaza"]),
    st.integers(0, 23),
    st.sampled_from([0, 15, 45]),
    st.sampled_from(["next_valid", "skip", "before"]),
    st.sampled_from(["first", "second"]),
    st.integers(wall("2009-01-01") // 86_400, wall("2027-01-01") // 86_400),
)
def test_it_is_where_a_cron_line_of_that_day_fires(zone, hour, minute, gap, overlap, day):
    date = EPOCH + timedelta(days=day)
    spec = cron(
        f"{minute} {hour} {date.day} {date.month} *", zone, dst_gap=gap, dst_overlap=overlap
    )

    found = place(
        find_zone(zone), day * 86_400 + hour * 3600 + minute * 60, LocalRules(gap, overlap)
    )

    fired = [one.at for one in spec.between(date - timedelta(days=2), date + timedelta(days=2), 9)]
    assert fired == ([] if found is None else [EPOCH + timedelta(seconds=found[0])])
