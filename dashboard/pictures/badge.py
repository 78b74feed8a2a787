"""Draws a state as icon, word and colour; the same everywhere."""

from __future__ import annotations

from django.templatetags.static import static
from django.utils.safestring import SafeString

from dashboard.pictures.markup import tag
from dashboard.state_vocabulary import label_with_attempt, look_of


def icon(name: str) -> SafeString:
    """Return a symbol of static/icons.svg; the word beside it gives its meaning."""
    use = tag("use", {"href": f"{static('icons.svg')}#{name}"})
    return tag("svg", {"class": f"state-icon icon-{name}", "viewBox": "0 0 16 16", **_HIDDEN}, use)


def state_badge(
    state: str, attempt: int | None = None, max_attempts: int | None = None
) -> SafeString:
    """Return the badge of a state of an execution, a task or an attempt."""
    look = look_of(state)
    label = label_with_attempt(state, attempt, max_attempts)
    counts = "execution.try" if label != look.label else None
    attributes = {"class": f"state {look.css}", "data-number": counts}
    return tag("span", attributes, icon(look.icon), label)


_HIDDEN = {"aria-hidden": "true", "focusable": "false"}
