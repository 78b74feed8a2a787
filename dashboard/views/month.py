"""The month page: past and coming runs by day, and the coming runs of a chosen day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from api.forecast.month_views import DAY, MONTH, ZONE
from dashboard import list_filter
from dashboard.access import ConsoleRequest, page
from dashboard.listing import read_filters
from executions.loop.clocks import database_now
from insight.filter_language.fields import EXECUTIONS, TASKS
from insight.month.days import Month, MonthDay, month_of, narrowing
from insight.month.local_days import chosen_month, days_from
from insight.month.runs import MOST_A_DAY, MOST_TASKS, Runs, runs_of_days
from shared.clock_text import day_text
from shared.instants import format_instant
from tasks.schedules.zones import Zone, find_zone, zone_names
from tenants.choices import Role

#: Lines of the coming runs of a day.
MOST_RUNS = 200
_WEEK = 7
_LEVELS = 5
_PARAMETERS = {**list_filter.PARAMETERS, "month": MONTH, "timezone": ZONE, "day": DAY}
_NOTHING: Mapping[str, Any] = {"found": None, "runs": None}


@dataclass(frozen=True, slots=True)
class Cell:
    """A day of the grid; ``level`` is the strength of its colour, 0 without coming runs."""

    shown: MonthDay
    level: int
    ended_url: str
    coming_url: str
    is_today: bool
    is_chosen: bool


@page(Role.VIEWER)
def forecast_month(request: ConsoleRequest) -> HttpResponse:
    """Show a month by day, and the list of the coming runs of a day."""
    query = read_filters(request, _PARAMETERS)
    asked = list_filter.read_filter(query, TASKS)
    if answer := list_filter.added(request, query, asked):
        return answer
    tenant, now = request.visitor.tenant.pk, database_now()
    zone: Zone = query["timezone"] or find_zone(timezone.get_current_timezone_name())
    first = chosen_month(query["month"], query["day"], zone, now)
    narrow = narrowing(tenant, asked.wanted, now)

    def read() -> Mapping[str, Any]:
        runs = None
        if query["day"]:
            runs = runs_of_days(tenant, days_from(query["day"], 1, zone), now, narrow, MOST_RUNS)
        return {"found": month_of(tenant, first, zone, now, asked.wanted), "runs": runs}

    shown = asked.read(read, order="id", none=_NOTHING)
    with timezone.override(zone.info):
        return render(request, "dashboard/month.html", _context(request, query, asked, shown, now))


def _context(
    request: ConsoleRequest,
    query: Mapping[str, Any],
    asked: list_filter.ListFilter,
    shown: Mapping[str, Any],
    now: datetime,
) -> dict[str, Any]:
    found: Month | None = shown["found"]
    runs: Runs | None = shown["runs"]
    kept = {"filter": asked.box.text, "timezone": request.GET.get("timezone", "")}
    links = _Links({name: value for name, value in kept.items() if value})
    context: dict[str, Any] = {
        "found": found,
        "list_filter": asked,
        "filtered": bool(asked.text),
        "zone": timezone.get_current_timezone_name(),
        "zones": zone_names(),
        "zone_chosen": request.GET.get("timezone", ""),
        "day": query["day"],
        "runs": runs,
        "most_tasks": MOST_TASKS,
        "most_runs": MOST_RUNS,
        "most_a_day": MOST_A_DAY,
        "feed_url": links.to("dashboard:forecast_feed_new"),
    }
    if found is None:
        return context
    return context | {
        "weeks": _weeks(found, asked, links, query["day"]),
        "previous_url": links.month(found.previous),
        "following_url": links.month(found.following),
        "this_url": links.to("dashboard:forecast_month"),
        "is_this": found.first == found.today.replace(day=1),
        "total": sum(found.coming.counts.values()),
        "has_past": any(one.ended is not None for one in found.days),
        "changes": [one for one in found.days if one.marks.change],
        "now": now,
    }


@dataclass(frozen=True, slots=True)
class _Links:
    """Addresses that keep the filter and the zone."""

    kept: Mapping[str, str]

    def to(self, name: str, **more: str) -> str:
        """Return the address of a page."""
        query = urlencode({**self.kept, **more})
        return f"{reverse(name)}?{query}" if query else reverse(name)

    def month(self, first: date) -> str:
        """Return the address of a month."""
        return self.to("dashboard:forecast_month", month=f"{first:%Y-%m}")


def _weeks(
    found: Month, asked: list_filter.ListFilter, links: _Links, chosen: date | None
) -> list[list[Cell | None]]:
    """Return the weeks from Monday on; None for days of the months beside it."""
    most = max(found.coming.counts.values(), default=0)
    cells: list[Cell | None] = [None] * found.first.weekday()
    cells += [_cell(one, most, found, asked, links, chosen) for one in found.days]
    cells += [None] * (-len(cells) % _WEEK)
    return [cells[place : place + _WEEK] for place in range(0, len(cells), _WEEK)]


def _cell(
    one: MonthDay,
    most: int,
    found: Month,
    asked: list_filter.ListFilter,
    links: _Links,
    chosen: date | None,
) -> Cell:
    level = -(-(one.coming or 0) * _LEVELS // most) if most else 0
    day = day_text(one.day)
    coming = links.to("dashboard:forecast_month", month=f"{found.first:%Y-%m}", day=day)
    return Cell(
        shown=one,
        level=level,
        ended_url=_executions(one, asked) if one.ended else "",
        coming_url=f"{coming}#runs" if one.coming else "",
        is_today=one.day == found.today,
        is_chosen=one.day == chosen,
    )


def _executions(one: MonthDay, asked: list_filter.ListFilter) -> str:
    """Return the list of the day's executions, with the terms that it has fields for."""
    terms = [
        term.text
        for term in asked.box.terms
        if term.key is None or (term.key in EXECUTIONS.fields and term.key != "status")
    ]
    query = {"since": format_instant(one.local.start), "until": format_instant(one.local.end)}
    if terms:
        query["filter"] = " ".join(terms)
    return f"{reverse('dashboard:executions')}?{urlencode(query)}"
