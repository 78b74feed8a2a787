"""Versions of parts, and which of them a page that asks again has."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from django.test import RequestFactory
from django.utils import timezone

from dashboard.live_parts import HAVE, is_on_screen, version_of


def asked(have: str):
    return RequestFactory().get("/", headers={HAVE: have})


def test_what_is_shown_alike_has_one_version_and_a_change_another():
    assert version_of([1], "a") == version_of([1], "a")
    assert len({version_of([1], "a"), version_of([1, 2], "a"), version_of([1], "b")}) == 3


def test_another_time_zone_is_another_version():
    with timezone.override(ZoneInfo("Europe/Berlin")):
        there = version_of("08:00")

    assert there != version_of("08:00")


@pytest.mark.parametrize(
    ("have", "found"),
    [
        ("", False),
        ("run-steps=abc", True),
        ("other=1 run-steps=abc", True),
        ("run-steps=abd", False),
        ("other=abc", False),
        ("run-steps", False),
        ("= == run-steps=abc=", False),
    ],
)
def test_a_part_is_on_the_screen_in_the_version_that_the_page_names(have: str, found: bool):
    assert is_on_screen(asked(have), "run-steps", "abc") == found


def test_a_part_without_a_version_is_always_sent():
    assert not is_on_screen(asked("run-steps="), "run-steps", "")
