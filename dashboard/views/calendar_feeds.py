"""Calendar feeds on the console: a member's own ones, and the link that calendar programs read.

The link of a feed is in the one answer that made it, and in no stored answer, message or session.
"""

from __future__ import annotations

import logging
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.crypto import salted_hmac
from django.views.decorators.http import require_safe

from dashboard.access import ConsoleRequest, Done, action, page, run_once
from executions.loop.clocks import database_now
from insight.month.feed import feed_text, make_feed
from notifications.links import calendar_feed as link_of
from shared import windowed_counts
from shared.client_address import counted_address
from shared.exceptions import InvalidInput, NotFound, PunctualError, QuotaExceeded
from shared.redis_client import ConnectionFailed
from tasks.schedules.zones import zone_names
from tenants.choices import Role
from tenants.models import CalendarFeed
from tenants.services.calendar_feeds import (
    FILTER_LENGTH,
    NAME_LENGTH,
    find_feed,
    list_feeds,
    note_reading,
    revoke_feed,
)

log = logging.getLogger(__name__)

#: Readings of one feed, and links that do not work from one address, within the window.
MOST_READINGS, MOST_MISSES, WINDOW_SECONDS = 60, 300, 300
_REPLAYED = "Idempotent-Replayed"


class TooManyReadings(QuotaExceeded):
    """The feed, or the address, has had its readings of these minutes; try again later."""

    code = "too_many_readings"
    retry_after = WINDOW_SECONDS


@page(Role.VIEWER)
def forecast_feeds(request: ConsoleRequest) -> HttpResponse:
    """List the visitor's own feeds."""
    visitor = request.visitor
    feeds = list_feeds(visitor.tenant.pk, visitor.membership.pk)
    return render(request, "dashboard/calendar_feeds.html", {"feeds": feeds})


@page(Role.VIEWER)
def forecast_feed_new(request: ConsoleRequest) -> HttpResponse:
    """Show the form of a new feed; make it, and show its link once."""
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"])
    if request.method == "GET":
        return _form(request, {})

    def run() -> HttpResponse:
        visitor = request.visitor
        made, token = make_feed(
            visitor.tenant.pk,
            name=request.POST.get("name", "").strip(),
            filter_text=request.POST.get("filter", "").strip(),
            timezone=request.POST.get("timezone", "") or "UTC",
            member=visitor.membership.pk,
            actor=visitor.actor,
        )
        return _made(request, made, link_of(token))

    try:
        answer = run_once(request, run)
    except InvalidInput as refused:
        return _form(request, {one.pointer.strip("#/"): one.message for one in refused.errors})
    except PunctualError as refused:
        return _form(request, {"form": refused.message})
    if _REPLAYED in answer:
        # The type of a stored answer is not kept.
        answer["Content-Type"] = "text/html; charset=utf-8"
    answer["Cache-Control"] = "no-store"
    return answer


@action(Role.VIEWER)
def forecast_feed_revoke(request: ConsoleRequest, feed_id: UUID) -> Done:
    """Revoke one of the visitor's own feeds."""
    visitor = request.visitor
    revoked = revoke_feed(
        visitor.tenant.pk, feed_id, actor=visitor.actor, member=visitor.membership.pk
    )
    return Done(f"Revoked {revoked.name}.", reverse("dashboard:forecast_feeds"))


@require_safe
def calendar_feed(request: HttpRequest, token: str) -> HttpResponse:
    """Answer a calendar program that has the link of a feed."""
    try:
        answer = _read(request, token)
    except PunctualError as refused:
        answer = HttpResponse(
            f"{refused.message}\n", status=refused.status, content_type="text/plain; charset=utf-8"
        )
        if isinstance(refused, QuotaExceeded):
            answer["Retry-After"] = str(WINDOW_SECONDS)
    answer["Referrer-Policy"] = "no-referrer"
    answer["X-Robots-Tag"] = "noindex"
    answer.headers.setdefault("Cache-Control", "no-store")
    # The path has the token, and Django's log would have the path of a refusal.
    answer._has_been_logged = True  # type: ignore[attr-defined]  # read by Django's log
    return answer


def _read(request: HttpRequest, token: str) -> HttpResponse:
    misses = f"calendar-feed-misses:{counted_address(request)}"
    _refuse_many(misses, MOST_MISSES)
    try:
        found = find_feed(token)
    except NotFound:
        _count(misses)
        raise
    _count(_readings(found))
    _refuse_many(_readings(found), MOST_READINGS)
    now = database_now()
    text = feed_text(found, now)
    note_reading(found, now)
    etag = f'"{salted_hmac("calendar-feed", text, algorithm="sha256").hexdigest()[:32]}"'
    whole = HttpResponse(text, content_type="text/calendar; charset=utf-8")
    answer = get_conditional_response(request, etag=etag, response=whole) or whole
    answer["ETag"] = etag
    answer["Cache-Control"] = "private, no-cache"
    if answer.status_code == 200:
        answer["Content-Disposition"] = 'inline; filename="punctual.ics"'
    return answer


def _readings(feed: CalendarFeed) -> str:
    return f"calendar-feed:{feed.pk}"


def _count(name: str) -> None:
    try:
        windowed_counts.count([name], WINDOW_SECONDS)
    except ConnectionFailed as error:
        _say_away(error)


def _refuse_many(name: str, most: int) -> None:
    """Raise TooManyReadings beyond a count; no limit holds while Redis cannot be reached."""
    try:
        [counted] = windowed_counts.counts_of([name])
    except ConnectionFailed as error:
        _say_away(error)
        return
    if counted > most:
        raise TooManyReadings("This calendar was read too often. Try again in five minutes.")


def _say_away(error: Exception) -> None:
    log.warning("calendar_feed.without_redis", extra={"reason": type(error).__name__})


def _made(request: ConsoleRequest, made: CalendarFeed, link: str) -> HttpResponse:
    """Return the page with the link; what is stored for a repeat of the form has none."""
    answer = render(request, "dashboard/calendar_feed_made.html", {"feed": made, "link": link})
    without = render(request, "dashboard/calendar_feed_made.html", {"feed": made, "link": ""})
    answer.stored = without.content  # type: ignore[attr-defined]  # read by api.idempotency
    return answer


def _form(request: ConsoleRequest, errors: dict[str, str]) -> HttpResponse:
    given = request.POST if request.method == "POST" else request.GET
    fields = {name: given.get(name, "") for name in ("name", "filter")}
    shown = {
        "fields": fields,
        "errors": errors,
        "zones": zone_names(),
        "zone": given.get("timezone") or timezone.get_current_timezone_name(),
        "name_length": NAME_LENGTH,
        "filter_length": FILTER_LENGTH,
    }
    status = 400 if errors else 200
    return render(request, "dashboard/calendar_feed_form.html", shown, status=status)
