"""Timestamps come from the database as the driver's own reader would answer them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import DataError, connection
from psycopg.adapt import Transformer

from shared.moments import MomentLoader

pytestmark = pytest.mark.django_db


def read(text: str) -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [text])
        moment: datetime = cursor.fetchone()[0]
        return moment


def test_every_session_reads_timestamps_by_it():
    with connection.cursor() as cursor:
        loader = cursor.adapters.get_loader(1184, 0)

    assert loader is MomentLoader


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 11, 22, 1, 2, 3, 456789, tzinfo=UTC),
        datetime(2026, 11, 22, 1, 2, 3, 400000, tzinfo=UTC),
        datetime(2026, 11, 22, tzinfo=UTC),
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
    ],
)
def test_a_moment_is_read_in_utc_to_its_microsecond(moment: datetime):
    found = read(moment.isoformat())

    assert found == moment
    assert found.tzinfo is UTC


@pytest.mark.parametrize("text", ["infinity", "-infinity", "0044-03-15 12:00+00 BC"])
def test_what_is_no_date_of_pythons_is_refused_as_ever(text: str):
    with pytest.raises(DataError, match="timestamp too"):
        read(text)


def test_a_session_in_another_zone_says_what_the_drivers_reader_says():
    text = b"2026-11-22 01:02:03.4+01"
    loader = MomentLoader(1184, Transformer())
    usual = super(MomentLoader, loader).load(text)

    assert loader.load(text) == usual
    assert loader.load(text).utcoffset() == timedelta(0)
