"""A sample of ``python -m bench.dst_corpus``: every shape of change that the years 2000–2037 have.

The whole runs there; here each shape is met at least once, under every policy.
"""

from __future__ import annotations

import json

import pytest

from bench import cronsim_differences, dst_corpus
from bench.dst_corpus import YEARS, changes, compare, compare_all, groups, names

#: Zone and years of one or a few changes, and what makes their shape.
SHAPES = [
    ("America/New_York", (2027, 2027), "an hour, at two in the night"),
    ("Europe/Dublin", (2027, 2027), "an hour, winter time is the negative one"),
    ("Australia/Lord_Howe", (2027, 2027), "half an hour"),
    ("Antarctica/Troll", (2027, 2027), "two hours"),
    ("Antarctica/Casey", (2020, 2021), "three hours, at one minute past"),
    ("Pacific/Apia", (2011, 2011), "a whole day left out"),
    ("Pacific/Fakaofo", (2011, 2011), "a whole day left out, without summer time"),
    ("Africa/Casablanca", (2024, 2024), "back for Ramadan"),
    ("Pacific/Kiritimati", (2000, 2037), "no change at all"),
    ("America/Caracas", (2007, 2016), "half an hour for good, in both directions"),
    ("Asia/Pyongyang", (2015, 2018), "half an hour for good, at midnight and near it"),
    ("Asia/Kathmandu", (2027, 2027), "an offset of three quarters"),
    ("Pacific/Chatham", (2027, 2027), "an hour at a quarter to three"),
    ("Asia/Beirut", (2027, 2027), "midnight is left out"),
    ("Africa/Cairo", (2027, 2027), "midnight is left out on a Friday"),
    ("America/Havana", (2027, 2027), "midnight is left out on a Sunday"),
    ("America/Asuncion", (2024, 2024), "midnight is left out, and once for good"),
    ("Atlantic/Azores", (2027, 2027), "from midnight on"),
    ("America/Sao_Paulo", (2018, 2018), "the last hour of a day comes twice"),
    ("America/Bahia", (2000, 2000), "cronsim answers with a midnight that is not"),
    ("Europe/Moscow", (2011, 2014), "an hour for good, in both directions"),
    ("Asia/Dhaka", (2009, 2009), "at 23 o'clock, and at 24"),
    ("Europe/Volgograd", (2018, 2020), "an hour for good, and back"),
    ("America/Godthab", (2023, 2023), "on the evening before, then for good"),
    ("Asia/Gaza", (2026, 2026), "twice within a few weeks"),
    ("America/Scoresbysund", (2024, 2024), "two changes that are one"),
]


@pytest.mark.parametrize(
    ("zone", "years"), [shape[:2] for shape in SHAPES], ids=[shape[0] for shape in SHAPES]
)
def test_the_product_agrees_with_both_oracles_around_every_shape_of_change(zone, years):
    result = compare_all([zone], years=years)

    assert not result.wrong
    assert not result.unexplained
    assert result.compared or zone in ("Pacific/Kiritimati", "Asia/Kathmandu")


def test_the_corpus_has_every_zone_and_enough_expressions():
    listed = names()

    assert len(listed) > 590
    assert {"Europe/Berlin", "US/Eastern", "EST5EDT", "UTC"} <= set(listed)
    assert len(dst_corpus.EXPRESSIONS) >= 40
    assert len(dst_corpus.POLICIES) == 9


def test_links_are_known_by_the_file_that_they_repeat():
    assert groups(["Europe/Berlin", "Asia/Tokyo", "Japan"]) == [
        ["Europe/Berlin"],
        ["Asia/Tokyo", "Japan"],
    ]


def test_changes_are_found_to_the_minute():
    [spring, autumn] = changes("America/New_York", (2027, 2027))

    assert [dst_corpus._text(spring), dst_corpus._text(autumn)] == [
        "2027-03-14 07:00:00",
        "2027-11-07 06:00:00",
    ]
    assert changes("UTC", YEARS) == []


@pytest.mark.parametrize("processes", ["1", "2"])
def test_the_report_tells_what_was_compared_and_stores_it(monkeypatch, tmp_path, capsys, processes):
    monkeypatch.setattr(dst_corpus, "names", lambda: ["America/Caracas"])

    code = dst_corpus.main(["--processes", processes, "--results", str(tmp_path)])

    said = capsys.readouterr().out
    assert code == 0
    assert "transitions: 2, 2 of them" in said
    assert "unexplained: 0" in said
    [stored] = tmp_path.glob("*.json")
    assert json.loads(stored.read_text())["distinct"] == 2


def test_a_wrong_answer_of_the_product_is_told(monkeypatch):
    monkeypatch.setattr(dst_corpus, "_product", lambda *_: [])
    [spring, _] = changes("America/New_York", (2027, 2027))

    result = compare(spring, ["America/New_York"])

    assert result.wrong
    assert "unexplained: 0" not in dst_corpus.lines(result)


def test_an_unexplained_answer_of_cronsim_is_told(monkeypatch):
    monkeypatch.setattr(cronsim_differences, "instants", lambda *_: [1, 2, 3])
    [spring, _] = changes("America/New_York", (2027, 2027))

    assert compare(spring, ["America/New_York"]).unexplained
