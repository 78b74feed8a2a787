"""What the pictures of the pages have to say, in their summaries, their tables and their titles."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from tests.recount.page import Node, spoken, table
from tests.recount.recounts import BOUNDS, World, since_of
from tests.recount.world import ask, minute_of, one

_MINUTE = timedelta(minutes=1)
#: In which minutes of an hour a schedule of the world fires; each once.
_FIRES: dict[str, Callable[[int], bool]] = {
    "* * * * *": lambda minute: True,
    "30 * * * * *": lambda minute: True,
    "*/10 * * * *": lambda minute: minute % 10 == 0,
    "0 0 1 1 *": lambda minute: False,
}
Picture = Callable[[World, Node], Iterator[str]]


def throughput(world: World, node: Node) -> Iterator[str]:
    """Yield what the picture of the ended attempts says wrongly."""
    attempts = ask(
        "SELECT date_trunc('minute', a.finished_at, 'UTC'),"
        " CASE WHEN a.number < e.attempt THEN 'RETRYING' ELSE e.status END"
        " FROM attempts a JOIN executions e ON e.id = a.execution_id WHERE a.tenant_id = %s",
        world.tenant.pk,
    )
    found = Counter(attempts)
    minutes = _minutes(since_of(world))
    kinds = ("SUCCEEDED", "RETRYING", "FAILED")
    rows = [[found[(minute, kind)] for kind in kinds] for minute in minutes]
    good, again, bad = (sum(column) for column in zip(*rows, strict=True))
    busiest = max(range(60), key=lambda place: sum(rows[place]))
    summary = (
        f"{good} succeeded, {again} retried, {bad} failed in 60 minutes; the busiest was "
        f"{minutes[busiest]:%H:%M} UTC with {sum(rows[busiest])}."
    )
    series = {
        "at": [int(minute.timestamp()) for minute in minutes],
        "succeeded": [row[0] for row in rows],
        "retried": [row[1] for row in rows],
        "failed": [row[2] for row in rows],
    }
    told = next(one for one in node.down() if "data-series" in one.attributes)
    yield from _differs("series", json.loads(told.attributes["data-series"]), series)
    yield from _said(node, summary, told.attributes["data-series"])
    yield from _rows(node, minutes, rows)


def delay_strip(world: World, node: Node) -> Iterator[str]:
    """Yield what the picture of the start delays says wrongly."""
    starts = ask(
        "SELECT date_trunc('minute', a.finished_at, 'UTC'),"
        " extract(epoch FROM a.started_at - a.due_at)::float8 * 1000 FROM attempts a"
        " WHERE a.tenant_id = %s AND a.number = 1",
        world.tenant.pk,
    )
    minutes = _minutes(since_of(world))
    rows = [[0] * (len(BOUNDS) + 1) for _ in minutes]
    late = 0
    for minute, delay in starts:
        if minute in minutes:
            fits = [place for place, bound in enumerate(BOUNDS) if round(delay, 3) <= bound]
            rows[minutes.index(minute)][fits[0] if fits else len(BOUNDS)] += 1
            late += delay > 1000
    total = sum(map(sum, rows))
    yield from _said(node, f"{total} starts, {late} of them more than 1 s late, in 60 minutes.")
    yield from _rows(node, minutes, rows)


def fires(world: World, node: Node) -> Iterator[str]:
    """Yield what the picture of the coming hour says wrongly."""
    minutes = _minutes(minute_of(world.at))
    counts = [0] * 60
    tasks = ask(
        "SELECT schedule ->> 'cron_expression', next_run_at FROM tasks"
        " JOIN task_cursors ON task_id = id WHERE tasks.tenant_id = %s"
        " AND status = 'SCHEDULED' AND deleted_at IS NULL AND next_run_at IS NOT NULL",
        world.tenant.pk,
    )
    for expression, at in tasks:
        for place, minute in enumerate(minutes):
            once = expression is None and minute_of(at) == minute
            counts[place] += once or (expression and _FIRES[expression](minute.minute)) or 0
    most = max(range(60), key=lambda place: counts[place])
    busiest = f"{minutes[most]:%H:%M} UTC with {counts[most]}"
    summary = f"{sum(counts)} starts in 60 minutes; most at {busiest}."
    titles = [
        f"{minute:%H:%M} UTC: {count} start{'s' if count != 1 else ''}"
        for minute, count in zip(minutes, counts, strict=True)
    ]
    yield from _said(node, summary, *titles)
    rows = [
        [f"{minute:%H:%M} UTC", str(count), "–"]
        for minute, count in zip(minutes, counts, strict=True)
        if count
    ]
    yield from _differs("table", table(node), rows)


def partitions(_: World, node: Node) -> Iterator[str]:
    """Yield what the map of the partitions says wrongly."""
    leases = ask(
        "SELECT p.partition, n.name, p.epoch FROM partition_leases p"
        " LEFT JOIN scheduler_nodes n ON n.id = p.owner ORDER BY p.partition"
    )
    owners = Counter(name for _, name, _ in leases)
    [[owner, count]] = owners.items()
    name = owner.partition("@")[0]
    epochs = sorted({epoch for _, _, epoch in leases})
    assert one("SELECT count(*) FROM scheduler_nodes") == len(owners)
    told = "–".join(str(epoch) for epoch in sorted({epochs[0], epochs[-1]}))
    cells = [f"partition {number}, {name}, epoch {epoch}" for number, _, epoch in leases]
    summary = f"{count} partitions held by 1 scheduler, each with an owner."
    yield from _said(node, summary, str(count), name, *cells)
    span = f"{leases[0][0]}–{leases[-1][0]}"
    yield from _differs("table", table(node), [[name, str(count), span, told]])


PICTURES: dict[str, Picture] = {
    "picture.throughput": throughput,
    "picture.delay-strip": delay_strip,
    "picture.fires": fires,
    "picture.partitions": partitions,
}


def _minutes(first: datetime) -> list[datetime]:
    return [first + number * _MINUTE for number in range(60)]


def _rows(node: Node, minutes: list[datetime], rows: list[list[int]]) -> Iterator[str]:
    wanted = [
        [f"{minute:%H:%M} UTC", *map(str, row)] for minute, row in zip(minutes, rows, strict=True)
    ]
    yield from _differs("table", table(node), wanted)


def _said(node: Node, summary: str, *also: str) -> Iterator[str]:
    """Yield each digit of the picture outside of its table that is not as expected."""
    expected = {summary, *also}
    told = list(spoken(node))
    if summary not in told:
        yield f"does not say {summary!r}"
    yield from (
        f"says {text!r}" for text in told if text not in expected and re.search(r"\d", text)
    )


def _differs(what: str, shown: Any, wanted: Any) -> Iterator[str]:
    if shown != wanted:
        if isinstance(shown, list):
            pairs = zip(shown, wanted, strict=False)
            first = next((pair for pair in pairs if pair[0] != pair[1]), (len(shown), len(wanted)))
            yield f"{what}: {first[0]} where {first[1]} is right"
        else:
            yield f"{what}: {shown} where {wanted} is right"
