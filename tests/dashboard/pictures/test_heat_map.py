from __future__ import annotations

from datetime import date, timedelta

from dashboard.pictures.heat_map import DayRow, HourCell, heat_map
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, rows, texts

DAY = date(2026, 11, 20)


def week(counts: dict[tuple[int, int], int]) -> list[DayRow]:
    return [
        DayRow(
            DAY + timedelta(days=day),
            [
                HourCell(hour, counts.get((day, hour), 0), f"?hour={day}-{hour}")
                for hour in range(24)
            ],
        )
        for day in range(8)
    ]


def test_any_week_keeps_the_rules():
    for counts in ({}, {(0, 8): 1}, {(day, 0): 10**6 for day in range(8)}):
        assert_keeps_the_rules(heat_map(week(counts)))
    assert_keeps_the_rules(heat_map([]))


def test_each_hour_is_a_link_that_says_its_starts():
    markup = heat_map(week({(0, 8): 1204}))

    [cell] = [one for one in having(markup, "hour") if "1,204" in one.get("aria-label", "")]
    assert cell.get("aria-label") == "Fri 11-20 08:00: 1,204 starts"
    assert cell.get("href") == "?hour=0-8"
    assert cell[0].text == cell.get("aria-label")


def test_the_map_is_one_stop_for_the_keyboard():
    cells = having(heat_map(week({})), "hour")

    assert len(cells) == 8 * 24
    assert [cell.get("tabindex") for cell in cells].count("0") == 1


def test_more_starts_are_a_stronger_colour_and_none_is_the_ground():
    markup = heat_map(week({(0, 0): 100, (0, 1): 25, (0, 2): 1}))

    assert len(having(markup, "heat")) == 3
    assert [len(having(markup, f"heat-{level}")) for level in (5, 3, 1)] == [1, 1, 1]
    legend = texts(markup, "legend")[0]
    assert "1–4" in legend
    assert "65–100" in legend


def test_an_even_load_is_one_quiet_colour():
    markup = heat_map(week({(0, 0): 60, (0, 1): 61, (1, 0): 55}))

    assert len(having(markup, "heat-2")) == 3
    assert "55–61" in texts(markup, "legend")[0]


def test_the_summary_names_the_fullest_hour():
    markup = heat_map(week({(1, 8): 40, (0, 0): 2}))

    assert "42 starts; most in the hour from Sat 11-21 08:00 with 40." in markup
    assert "At least 42" in heat_map(week({(1, 8): 42}), complete=False)
    assert "Nothing starts" in heat_map(week({}))


def test_a_day_on_which_the_clocks_change_is_marked():
    row = DayRow(DAY, [HourCell(8, 1, "?")], "the clocks go back 60 minutes")

    markup = heat_map([row])

    assert "Fri 11-20 ±" in texts(markup, "day")[0]
    assert "Fri 11-20: the clocks go back 60 minutes." in markup


def test_hours_that_stand_out_and_the_chosen_one_are_marked():
    row = DayRow(DAY, [HourCell(8, 9, "?", hot=True), HourCell(9, 1, "?", here=True)])

    markup = heat_map([row])

    assert len(having(markup, "hot-mark")) == 1
    assert "with a hot spot" in markup
    assert [cell.get("aria-current") for cell in having(markup, "hour")] == [None, "true"]


def test_the_table_has_every_hour():
    [listed] = rows(heat_map([DayRow(DAY, [HourCell(8, 1204, "?")])]))

    assert (listed[0], listed[9], listed[10]) == ("Fri 2026-11-20", "1,204", "–")
