"""The calendar of the load: starts by hour and minute, the hot spots, and spreading them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from api.protocol.query import instant, text
from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.listing import read_filters
from dashboard.pictures.fires import FireMinute
from dashboard.pictures.heat_map import DayRow, HourCell
from executions.bulk.spreading import MAX_JITTER_SECONDS, plan_spread, spread_minute
from executions.loop.clocks import database_now
from insight.forecast.load import Forecast, forecast, present_hot_spots
from shared.clock_text import local_time, minute_text, time_of_day, weekday_text
from shared.exceptions import FieldError, InvalidInput
from shared.instants import InstantError, format_instant, parse_instant
from tasks.schedules.clock_days import days_of_changes
from tasks.schedules.minutes import MINUTE
from tasks.schedules.zones import find_zone
from tenants.choices import Role

_PARAMETERS = {"destination": text(max_length=260), "hour": instant()}
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


@page(Role.VIEWER)
def calendar(request: ConsoleRequest) -> HttpResponse:
    """Show the next 7 days by the hour, the minutes of a chosen one, and the hot spots."""
    query = read_filters(request, _PARAMETERS)
    tenant = request.visitor.tenant.pk
    now = database_now()
    whole = forecast(tenant, now=now)
    destination = query["destination"]
    found = forecast(tenant, now=now, destination=destination) if destination else whole
    hour = _hour_of(query["hour"], found)
    busiest = sorted(whole.destinations.items(), key=lambda item: (-item[1], item[0]))
    names = [name for name, _ in busiest[:100]]
    return render(
        request,
        "dashboard/forecast.html",
        {
            "found": found,
            "rows": _rows(found, hour, destination),
            "minutes": _minutes(found, hour) if hour else None,
            "hour": hour,
            "hour_title": _title(hour) if hour else "",
            "hot_spots": present_hot_spots(found),
            "destination": destination or "",
            "destinations": names if destination in (None, *names) else [destination, *names],
            "busiest": busiest[:8],
            "starts": sum(found.starts.values()),
        },
    )


@page(Role.ADMIN)
def spread(request: ConsoleRequest) -> HttpResponse:
    """Show how many tasks would get which jitter, and ask for a confirmation."""
    at = _moment(request.GET.get("at", ""))
    found = plan_spread(request.visitor.tenant.pk, at)
    context = {"found": found, "count": len(found.task_ids), "most": MAX_JITTER_SECONDS}
    return render(request, "dashboard/forecast_spread.html", context)


@action(Role.ADMIN)
def spread_create(request: ConsoleRequest) -> Done:
    """Begin the job that spreads the minute, if its tasks are still the shown ones."""
    visitor = request.visitor
    job = spread_minute(
        visitor.tenant.pk,
        _moment(request.POST.get("at", "")),
        actor=visitor.actor,
        jitter_seconds=_number(request.POST.get("jitter_seconds", "")),
        expected_count=int(_number(request.POST.get("expected_count", ""))),
    )
    url = reverse("dashboard:bulk_job", args=[job.pk])
    return Done("Requested. Progress below.", url, settled=False)


def _rows(found: Forecast, hour: datetime | None, destination: str | None) -> list[DayRow]:
    """Return the local days with their local hours, each the sum of its minutes."""
    hot = {_local_hour(spot.at) for spot in found.hot_spots}
    counts: dict[tuple[date, int], int] = {}
    begins: dict[tuple[date, int], datetime] = {}
    at = found.start
    while at < found.until:
        key = _local_hour(at)
        begins.setdefault(key, at)
        counts[key] = counts.get(key, 0) + found.at(at)
        at += MINUTE
    days: dict[date, list[HourCell]] = {}
    chosen = _local_hour(hour) if hour else None
    for (day, number), begin in begins.items():
        cell = HourCell(
            hour=number,
            count=counts[day, number],
            href=_link(begin, destination),
            hot=(day, number) in hot,
            here=(day, number) == chosen,
        )
        days.setdefault(day, []).append(cell)
    return [DayRow(day, cells, _change_of(day)) for day, cells in days.items()]


def _local_hour(moment: datetime) -> tuple[date, int]:
    local = local_time(moment)
    return local.date(), local.hour


def _change_of(day: date) -> str:
    """Return the change of the clocks in the visitor's zone on a day, in words; else ""."""
    zone = find_zone(timezone.get_current_timezone_name())
    noon = datetime.combine(day, time(12), zone.info)
    return days_of_changes(zone, noon - 2 * _DAY, noon + 2 * _DAY).get(day, "")


def _link(begin: datetime, destination: str | None) -> str:
    query = {"hour": format_instant(begin)}
    if destination:
        query["destination"] = destination
    return f"?{urlencode(query)}#minutes"


def _hour_of(given: datetime | None, found: Forecast) -> datetime | None:
    """Return the beginning of the local hour of an instant, where the forecast covers it."""
    if given is None or not found.start - _HOUR < given < found.until:
        return None
    local = local_time(given)
    return (given - timedelta(minutes=local.minute)).replace(second=0, microsecond=0)


def _minutes(found: Forecast, hour: datetime) -> list[FireMinute]:
    moments = [hour + number * MINUTE for number in range(60)]
    return [FireMinute(at, found.at(at)) for at in moments]


def _title(hour: datetime) -> str:
    return f"{weekday_text(hour)}, {time_of_day(hour)} to {minute_text(hour + _HOUR)}"


def _moment(given: str) -> datetime:
    try:
        return parse_instant(given).astimezone(UTC)
    except InstantError as error:
        raise InvalidInput([FieldError("#/at", "invalid_time", str(error))], str(error)) from error


def _number(given: str) -> float:
    try:
        value = float(given)
    except ValueError:
        value = -1.0
    if not 0 <= value <= MAX_JITTER_SECONDS:
        message = f"Give seconds from 1 to {MAX_JITTER_SECONDS}."
        raise InvalidInput([FieldError("#/jitter_seconds", "out_of_range", message)], message)
    return value
