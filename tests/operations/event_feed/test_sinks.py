from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from events import feed
from events.feed import FeedEvent
from events.feed_places import FeedPlace, place_at
from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from operations.event_feed import sinks
from operations.event_feed.sinks import FileSink, drain
from shared.exceptions import Conflict
from shared.ids import new_id
from tests.support.feed_rows import read_on, write, write_batch

TENANT = new_id()


def lines(directory: Path) -> list[dict[str, object]]:
    """Return the exported events of all files, in their order of places."""
    found = sorted(directory.glob("events/*/*/*/*.jsonl.gz"), key=lambda path: path.name)
    return [
        orjson.loads(line)
        for path in found
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]


@pytest.fixture
def begin(transactional_db: None, tmp_path: Path) -> FeedPlace:
    """Return the end of the feed, at which the sink begins."""
    now = database_now()
    ledger.ensure_days_ahead(now)
    place = read_on(TENANT, place_at(now), 100)[1]
    FileSink(tmp_path).write(TENANT, place, [], place)
    return place


def test_events_come_into_files_once_and_each_run_continues(
    begin: FeedPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sinks, "_BATCH", 2)
    monkeypatch.setattr(feed, "MAX_LIMIT", 2)
    batch = write_batch(TENANT, 5)

    assert drain(FileSink(tmp_path), TENANT) == 5
    [later] = write(TENANT, "execution.failed")
    assert drain(FileSink(tmp_path), TENANT) == 1
    assert drain(FileSink(tmp_path), TENANT) == 0

    found = lines(tmp_path)
    assert [one["subject_id"] for one in found] == [str(one) for one in [*batch, later]]
    assert {one["tenant_id"] for one in found} == {str(TENANT)}
    assert not list(tmp_path.rglob("*.part"))


def test_an_export_that_died_before_its_cursor_moved_doubles_nothing(
    begin: FeedPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = write_batch(TENANT, 2)
    replace = sinks._replace

    def die_at_the_cursor(path: Path, content: bytes) -> None:
        if path.parent.name == "cursors":
            raise KeyboardInterrupt
        replace(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(sinks, "_replace", die_at_the_cursor)
        with pytest.raises(KeyboardInterrupt):
            drain(FileSink(tmp_path), TENANT)
    assert len(lines(tmp_path)) == 2
    more = write(TENANT, "task.changed")

    assert drain(FileSink(tmp_path), TENANT) == 3

    assert [one["subject_id"] for one in lines(tmp_path)] == [str(one) for one in [*first, *more]]


def test_files_lie_by_tenant_day_and_hour_of_the_event(tmp_path: Path):
    now = datetime(2026, 11, 30, 8, 59, tzinfo=UTC)
    events = [
        FeedEvent(new_id(), "task.changed", now + timedelta(minutes=late), new_id(), None, None)
        for late in (0, 0, 1)
    ]
    place = place_at(now)

    FileSink(tmp_path).write(TENANT, place, events, place)

    day = f"events/tenant={TENANT}/date={now:%Y-%m-%d}"
    [eight] = (tmp_path / day / "hour=08").iterdir()
    [nine] = (tmp_path / day / "hour=09").iterdir()
    assert eight.name == nine.name
    assert [len(gzip.decompress(one.read_bytes()).splitlines()) for one in (eight, nine)] == [2, 1]


def test_two_exports_do_not_write_into_one_directory(tmp_path: Path):
    with FileSink(tmp_path).turn(), pytest.raises(Conflict), FileSink(tmp_path).turn():
        pass


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"after": 1}', b'{"after": "x"}'])
def test_a_damaged_cursor_stops_the_export(tmp_path: Path, content: bytes):
    path = tmp_path / "cursors" / f"{TENANT}.json"
    path.parent.mkdir()
    path.write_bytes(content)

    with pytest.raises(Conflict, match="no cursor"):
        FileSink(tmp_path).place(TENANT)
