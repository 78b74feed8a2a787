from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db import connection, transaction

from events import feed
from events.feed import cursor, kept_since, read_page, start
from events.feed_places import FeedPlace, place_at
from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from shared.exceptions import Expired, InvalidInput
from shared.ids import new_id
from shared.sql import rows
from tests.support.feed_rows import late_event, read_on, write, write_batch

TENANT, OTHER = new_id(), new_id()


@pytest.fixture
def begin(transactional_db: None) -> FeedPlace:
    """Return the end of the feed before the test has written anything."""
    now = database_now()
    ledger.ensure_days_ahead(now)
    return read_on(TENANT, place_at(now), 100)[1]


def names(place: FeedPlace, limit: int = 100) -> list[str]:
    return [event.type for event in read_on(TENANT, place, limit)[0]]


def test_events_come_once_and_in_order_whatever_the_limit(begin: FeedPlace):
    singles = write(TENANT, "task.changed", "execution.failed")
    with transaction.atomic():
        batch = write_batch(TENANT, 3)
        late = write(TENANT, "execution.retrying")
        more = write_batch(TENANT, 2, "execution.started")
    wanted = [*singles, *batch, *late, *more]

    for limit in (1, 2, 3, 4, 7, 8, 100):
        found, end = read_on(TENANT, begin, limit)
        assert [event.subject_id for event in found] == wanted, limit
        assert len({event.id for event in found}) == len(wanted)
        assert read_on(TENANT, end, limit)[0] == []


def test_ids_of_events_are_the_same_however_a_batch_is_cut(begin: FeedPlace):
    write_batch(TENANT, 5)

    whole, halves = (read_on(TENANT, begin, limit)[0] for limit in (100, 2))

    assert whole == halves
    assert all(event.task_id for event in whole)


def test_a_reader_may_continue_after_each_event(begin: FeedPlace):
    subjects = [*write_batch(TENANT, 3), *write(TENANT, "task.changed")]
    page = read_page(TENANT, begin)

    for number, (_, place) in enumerate(page.events, start=1):
        assert [one.subject_id for one in read_on(TENANT, place, 2)[0]] == subjects[number:]


def test_a_transaction_that_commits_late_is_not_skipped(begin: FeedPlace):
    with late_event(TENANT, "run.changed") as beside:
        write(TENANT, "task.changed")
        found, place = read_on(TENANT, begin, 100)
        assert found == []
        beside.commit()

    assert names(place) == ["run.changed", "task.changed"]


def test_a_place_within_a_batch_outlives_a_late_transaction(begin: FeedPlace):
    batch = write_batch(TENANT, 3)
    first = read_page(TENANT, begin, limit=2)
    with late_event(TENANT, "run.changed") as beside:
        second = read_page(TENANT, first.next)
        assert [event.subject_id for event, _ in second.events] == batch[2:]
        assert not second.has_more
        beside.commit()

    assert names(second.next) == ["run.changed"]


def test_a_feed_has_no_event_of_another_tenant_or_without_a_public_type(begin: FeedPlace):
    write(OTHER, "task.changed")
    write_batch(OTHER, 2)
    write(TENANT, "secret.thing", "task.changed")

    assert names(begin) == ["task.changed"]


def test_only_the_types_asked_for_come_and_the_others_are_passed(
    begin: FeedPlace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(feed, "_SCANNED", 2)
    write(TENANT, "task.changed", "task.changed", "task.changed", "execution.failed")
    write_batch(TENANT, 2)

    first = read_page(TENANT, begin, types=["execution.failed", "execution.queued"])
    found, _ = read_on(TENANT, begin, 1, types=["execution.failed", "execution.queued"])

    assert (first.events, first.has_more) == ([], True)
    kinds = [event.type for event in found]
    assert kinds == ["execution.failed", "execution.queued", "execution.queued"]


def test_an_event_shows_the_listed_fields_of_its_data(begin: FeedPlace):
    write(TENANT, "quota.near", data={"quota": "tasks", "limit": 5, "inner": "hidden"})

    [event] = read_on(TENANT, begin, 10)[0]

    assert event.document()["data"] == {"quota": "tasks", "limit": 5}
    assert event.document()["id"] == str(event.id)


def test_a_reader_by_time_begins_there(begin: FeedPlace):
    write(TENANT, "task.changed")
    # An id has its time to the millisecond, and a feed by time begins with the whole of one.
    with connection.cursor() as database:
        database.execute("SELECT pg_sleep(0.002)")
    with transaction.atomic():
        now: datetime = rows("leases/database_time")[0][0]
    write(TENANT, "run.changed")

    assert names(start(TENANT, after=None, since=now + timedelta(days=1))) == []
    assert names(start(TENANT, after=None, since=now)) == ["run.changed"]
    assert names(start(TENANT, after=None, since=None)) == ["task.changed", "run.changed"]


def test_a_cursor_names_a_place_of_this_feed_alone():
    place = FeedPlace(5, new_id(), 0, datetime.now().astimezone())
    kept = start(TENANT, after=cursor(place, TENANT), since=None)

    assert (kept.xid, kept.event_id) == (place.xid, place.event_id)
    with pytest.raises(InvalidInput, match="not given by this feed"):
        start(OTHER, after=cursor(place, TENANT), since=None)
    with pytest.raises(InvalidInput, match="either after or since"):
        start(TENANT, after=cursor(place, TENANT), since=place.at)


def test_a_cursor_older_than_the_kept_days_says_where_to_begin(begin: FeedPlace):
    oldest = kept_since(begin.at)
    expired = replace(begin, at=oldest - timedelta(milliseconds=1))

    with pytest.raises(Expired, match=f"since={oldest:%Y-%m-%d}T00:00:00.000Z") as refused:
        read_page(TENANT, expired)

    assert (refused.value.status, refused.value.code) == (410, "cursor_expired")
    assert read_page(TENANT, replace(begin, at=oldest)).events == []


def test_a_cursor_from_before_a_restore_is_told_apart(begin: FeedPlace):
    with pytest.raises(Expired, match="before a restore"):
        read_page(TENANT, replace(begin, xid=begin.xid + 10_000_000))
