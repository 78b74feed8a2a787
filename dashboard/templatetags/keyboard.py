"""The tag of the help dialog: the table of keys that the visitor has."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import RequestContext

from dashboard.keyboard import keyboard

register = template.Library()


@register.inclusion_tag("dashboard/_keyboard.html", takes_context=True)
def keyboard_help(context: RequestContext) -> dict[str, Any]:
    """Show the keys by heading; the script reads from here what each key does."""
    visitor = context.get("visitor")
    return {"groups": keyboard(may_edit=visitor is not None and visitor.may_edit)}
