"""The console's clock, durations and form parts; used by every template.

Times are one component: ``clock`` for a moment, ``ago`` for its distance from now, which the
page's script keeps counting.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import date, datetime, tzinfo
from typing import Any, cast

from django import template
from django.template.context import RequestContext
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from shared.clock_text import beside_text, day_text, digits, zone_label, zone_of
from shared.duration_words import duration_text
from shared.instants import format_instant, parse_instant
from tasks.definition import plain_pool
from tenants.models import Membership

register = template.Library()

#: Of 365 days: from two years on, a distance is told in years.
_YEAR = 365 * 86_400
_NONE = mark_safe('<span class="none">–</span>')


@register.simple_tag
def clock(
    moment: datetime | str | None, precision: str = "seconds", zone: tzinfo | str | None = None
) -> SafeString:
    """Show a moment on the visitor's clock, and on that of ``zone`` where it differs.

    The ISO form appears on hover and for copying.
    """
    if not moment:
        return _NONE
    when = _moment(moment)
    there = beside_text(when, zone_of(zone) if isinstance(zone, str) else zone, precision)
    return format_html(
        '<time datetime="{}" title="{}">{} <span class="zone">{}</span></time>{}',
        format_instant(when),
        format_instant(when),
        digits(when, precision),
        zone_label(when),
        format_html(' <small class="muted beside">({})</small>', there) if there else "",
    )


@register.simple_tag
def ago(moment: datetime | str | None) -> SafeString:
    """Show how far a moment is from now, in words; the script keeps it counting."""
    if not moment:
        return _NONE
    when = _moment(moment)
    seconds = (when - timezone.now()).total_seconds()
    return format_html(
        '<time datetime="{}" data-ago title="{}">{}</time>',
        format_instant(when),
        format_instant(when),
        distance(seconds),
    )


@register.simple_tag
def countdown(moment: datetime | str) -> SafeString:
    """Show how far ahead a moment is; a past moment is "now", never "ago"."""
    when = _moment(moment)
    seconds = max(0.0, (when - timezone.now()).total_seconds())
    return format_html(
        '<time datetime="{}" data-ago="ahead" title="{}">{}</time>',
        format_instant(when),
        format_instant(when),
        distance(seconds),
    )


@register.filter
def iso(moment: datetime) -> str:
    """Show a moment as programs and commands read it."""
    return format_instant(moment)


@register.filter
def day(value: date, form: str) -> str:
    """Show a day that is no moment, in the form of Django's ``date``."""
    return day_text(value, form)


@register.filter
def ms(value: float | None) -> str:
    """Show milliseconds as people read them: ``212 ms``, ``1.2 s``, ``3 m 4 s``."""
    return duration_text(value)


@register.filter
def figure(value: float | None) -> str:
    """Show a number as commands do, without zeros behind its last digit: ``2.5``, ``100``."""
    return "–" if value is None else f"{value:g}"


@register.filter
def cause(signature: str) -> str:
    """Return a cause of failures in words: ``HTTP 503`` of ``http_status:503``."""
    code, _, detail = signature.partition(":")
    if code == "http_status" and detail:
        return f"HTTP {detail}"
    words = code.replace("_", " ").capitalize()
    return f"{words}: {detail}" if detail else words


@register.filter
def commas(count: int) -> str:
    """Show a count with its thousands apart: ``10,000``."""
    return f"{count:,}"


@register.filter
def whole(value: float) -> str:
    """Show a number without decimals; halves are rounded as commands round them."""
    return f"{value:.0f}"


def distance(seconds: float) -> str:
    """Return a distance from now in words; under a second it is now."""
    if abs(seconds) < 1:
        return "now"
    whole = int(abs(seconds))
    # Rounded half up, as the script in ages.js does.
    years = int(whole * 10 / _YEAR + 0.5) / 10
    text = f"{years:g} years" if whole >= 2 * _YEAR else duration_text(whole * 1000)
    return f"in {text}" if seconds > 0 else f"{text} ago"


@register.simple_tag(name="plain_pool")
def pool_name(pool: str) -> str:
    """Show a pool by the name that people gave it, not by that of the ledger."""
    return plain_pool(pool)


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """Show an icon of the sprite; without a label it is decoration."""
    path = f"{static('console-icons.svg')}#{name}"
    if label:
        return format_html(
            '<svg class="icon" role="img" aria-label="{}"><use href="{}"/></svg>', label, path
        )
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}"/></svg>', path)


@register.simple_tag(takes_context=True)
def form_key(context: Mapping[str, Any]) -> SafeString:
    """Put into a form the key that makes a second sending harmless, and the form's tenant.

    The visitor may choose another tenant in another tab while the form is open.
    """
    visitor = context.get("visitor")
    return format_html(
        '<input type="hidden" name="form_key" value="{}">'
        '<input type="hidden" name="form_tenant" value="{}">',
        uuid.uuid4().hex,
        visitor.tenant.pk if visitor else "",
    )


@register.simple_tag(takes_context=True)
def query_with(context: RequestContext, **changes: Any) -> str:
    """Return the page's query with some values changed; an empty value takes one out."""
    query = context["request"].GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value not in (None, ""):
            query[name] = value
    return f"?{query.urlencode()}" if query else "?"


@register.simple_tag(takes_context=True)
def who(context: RequestContext, actor: str | None) -> str:
    """Return the name of a member for ``user:<id>``; other actors as the audit log has them."""
    if not actor or not actor.startswith("user:"):
        return actor or "–"
    known: dict[str, str] = cast(Any, context.render_context).setdefault("who", {})
    if actor not in known:
        members = Membership.objects.filter(tenant=context["visitor"].tenant)
        number = actor.removeprefix("user:")
        found = members.filter(user_id=number) if number.isdecimal() else members.none()
        known[actor] = found.values_list("user__username", flat=True).first() or actor
    return known[actor]


def _moment(moment: datetime | str) -> datetime:
    return parse_instant(moment) if isinstance(moment, str) else moment
