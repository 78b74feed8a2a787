"""The context of every page's template: navigation, visitor, theme, clock."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from dashboard.access import CLOCK_COOKIE, THEME_COOKIE, ConsoleRequest
from dashboard.live_parts import LIVE
from executions.models import DeadLetter
from shared.process_sight import is_hidden

THEMES = ("system", "light", "dark")
#: The entries that fit into a phone's bar; the others unfold from it.
ON_A_PHONE = frozenset({"overview", "tasks", "executions", "dead_letters", "alerts"})
#: Entries that begin a group of the navigation: work, repairs, where it runs, figures, the rest.
_BEGINS = frozenset({"dead_letters", "destinations", "usage", "system"})
#: The badge of the dead letters counts no further.
_BADGE_LIMIT = 99
#: How the names of the pages begin that *Settings* leads to.
_OF_SETTINGS = (
    "calendar",
    "channel",
    "event_subscription",
    "member",
    "invitation",
    "api_key",
    "audit",
    "encryption",
    "secret",
    "quotas",
    "zones",
)
#: Other pages, and the entry that leads to each.
_INNER_PAGES = {
    "concurrency_keys": "executions",
    "erasure": "usage",
    "erasures": "usage",
    "demo": "system",
    "maintenance": "alerts",
    "maintenance_new": "alerts",
    "shares": "usage",
    "task_import": "tasks",
}
#: Entries for those who may see the processes of the installation.
_OF_OPERATORS = ("system",)


class Place(NamedTuple):
    """One entry of the navigation; ``key`` follows ``g`` on the keyboard."""

    name: str
    label: str
    icon: str
    key: str


PLACES = (
    Place("overview", "Overview", "gauge", "o"),
    Place("tasks", "Tasks", "calendar", "t"),
    Place("executions", "Executions", "play", "e"),
    Place("workflows", "Workflows", "branch", "w"),
    Place("forecast", "Calendar", "grid", "c"),
    Place("dead_letters", "Dead letters", "octagon", "d"),
    Place("bulk_jobs", "Bulk jobs", "layers", "b"),
    Place("pauses", "Pauses", "pause", "p"),
    Place("destinations", "Destinations", "host", "h"),
    Place("pools", "Pools", "tray", "q"),
    Place("workers", "Workers", "cpu", "k"),
    Place("usage", "Usage", "clock", "u"),
    Place("objectives", "Objectives", "target", "l"),
    Place("alerts", "Alerts", "bell", "a"),
    Place("system", "System", "pulse", "y"),
    Place("settings", "Settings", "sliders", "s"),
)


def console(request: HttpRequest) -> dict[str, Any]:
    """Return the frame's values; pages without a visitor get theme and clock only.

    A live reading (``X-Live``) takes regions out of the page and no frame, so it gets none.
    """
    theme = request.COOKIES.get(THEME_COOKIE, "system")
    zone = timezone.get_current_timezone()
    is_live = LIVE in request.headers
    frame: dict[str, Any] = {
        "is_live": is_live,
        "theme": theme if theme in THEMES else "system",
        "zone_name": str(zone),
        "clock": "utc" if request.COOKIES.get(CLOCK_COOKIE) == "utc" else "mine",
    }
    visitor = getattr(request, "visitor", None)
    if visitor is not None:
        frame |= {"visitor": visitor, "places": [] if is_live else _places(request)}
    return frame


def seen_places() -> list[Place]:
    """Return the entries that the visitor may open."""
    return [one for one in PLACES if one.name not in _OF_OPERATORS or not is_hidden()]


def _places(request: HttpRequest) -> list[dict[str, Any]]:
    here = request.resolver_match.url_name if request.resolver_match else ""
    return [
        {
            **place._asdict(),
            "url": reverse(f"dashboard:{place.name}"),
            "here": _belongs(here or "", place.name),
            "badge": _open_letters(request) if place.name == "dead_letters" else "",
            "on_a_phone": place.name in ON_A_PHONE,
            "begins": place.name in _BEGINS,
        }
        for place in seen_places()
    ]


def _belongs(here: str, place: str) -> bool:
    """Return whether a page belongs to an entry: ``task_edit`` is one of ``tasks``."""
    if here.startswith("bulk_"):
        return place == "bulk_jobs"
    if here.startswith(_OF_SETTINGS):
        return place == "settings"
    if here in _INNER_PAGES:
        return place == _INNER_PAGES[here]
    return here == place or here.startswith(f"{place.removesuffix('s')}_") or f"{here}s" == place


def _open_letters(request: HttpRequest) -> str:
    tenant = cast(ConsoleRequest, request).visitor.tenant
    found = DeadLetter.objects.for_tenant(tenant.pk).filter(resolved=False)
    count = found.order_by()[: _BADGE_LIMIT + 1].count()
    return "" if not count else f"{_BADGE_LIMIT}+" if count > _BADGE_LIMIT else str(count)
