from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from events.feed_places import (
    CURSOR_LENGTH,
    FeedPlace,
    cursor_of,
    place_at,
    place_at_the_end,
    place_of,
)
from shared.ids import first_id_at, new_id

TENANT, OTHER = new_id(), new_id()
NOW = datetime(2026, 11, 20, 8, 0, 0, 412_000, tzinfo=UTC)


@pytest.mark.parametrize(
    "place",
    [
        FeedPlace(12, new_id(), 0, NOW),
        FeedPlace(2**63 - 1, UUID(int=2**128 - 1), 2**32 - 1, NOW),
        place_at_the_end(7, NOW),
    ],
)
def test_a_cursor_is_read_as_the_place_that_it_was_made_of(place: FeedPlace):
    cursor = cursor_of(place, TENANT)

    assert place_of(cursor, TENANT) == place
    assert len(cursor) == CURSOR_LENGTH


def _changed(cursor: str, byte: int) -> str:
    content = bytearray(urlsafe_b64decode(cursor + "="))
    content[byte] ^= 1
    return urlsafe_b64encode(bytes(content)).decode().rstrip("=")


def test_a_cursor_with_a_slip_or_of_another_tenant_is_refused():
    cursor = cursor_of(FeedPlace(12, new_id(), 3, NOW), TENANT)
    slips = [_changed(cursor, byte) for byte in range(41)]
    texts = ["", "x", cursor[:-1], cursor + "A", "é" * CURSOR_LENGTH, "." * CURSOR_LENGTH]

    for wrong in (*slips, *texts):
        with pytest.raises(ValueError, match="cursor"):
            place_of(wrong, TENANT)
    with pytest.raises(ValueError, match="cursor"):
        place_of(cursor, OTHER)


@pytest.mark.parametrize(
    "place",
    [
        FeedPlace(2**63, new_id(), 0, NOW),
        FeedPlace(1, UUID(int=0), 5, NOW),
        FeedPlace(1, new_id(), 0, datetime(9500, 1, 1, tzinfo=UTC)),
        FeedPlace(1, new_id(), 0, datetime(1969, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_cursor_that_no_feed_gives_is_refused(place: FeedPlace):
    with pytest.raises(ValueError, match="cursor"):
        place_of(cursor_of(place, TENANT), TENANT)


def test_a_batch_that_was_read_in_part_is_read_again():
    whole, part = FeedPlace(5, UUID(int=9), 0, NOW), FeedPlace(5, UUID(int=9), 2, NOW)

    assert (whole.after, part.after) == (UUID(int=9), UUID(int=8))


def test_a_reader_by_time_begins_exactly_there_and_one_by_cursor_looks_back():
    assert place_at(NOW).low == first_id_at(NOW)
    assert place_at(datetime.min.replace(tzinfo=UTC)).low == UUID(int=0)
    assert place_at_the_end(5, NOW).low == first_id_at(NOW - timedelta(days=1))
