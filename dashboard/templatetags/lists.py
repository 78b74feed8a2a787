"""The tags of sorted and filtered lists: headings that sort, and what a form keeps of the URL."""

from __future__ import annotations

from django import template
from django.template.context import RequestContext
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from dashboard.templatetags.console import query_with

register = template.Library()
_NUMBER = mark_safe(' class="num"')


@register.simple_tag(takes_context=True)
def sort_head(context: RequestContext, label: str, name: str, kind: str = "number") -> SafeString:
    """Show the heading of a column that sorts the list: a link, and the order that it has now.

    ``kind`` is ``number``, ``time`` or ``text``. The first use begins with the largest or latest
    one, of texts with the first; the next use turns the order.
    """
    current = context["query"]["ordering"]
    here = current.removeprefix("-") == name
    falls = current.startswith("-")
    first = name if kind == "text" else f"-{name}"
    turned = name if falls else f"-{name}"
    href = query_with(context, ordering=turned if here else first, cursor="", page="")
    css = _NUMBER if kind == "number" else ""
    if not here:
        return format_html(
            '<th{}><a class="sort" href="{}">{}<span class="sort-mark" aria-hidden="true">↕</span>'
            "</a></th>",
            css,
            href,
            label,
        )
    return format_html(
        '<th{} aria-sort="{}"><a class="sort" href="{}">{}'
        '<span class="sort-mark" aria-hidden="true">{}</span></a></th>',
        css,
        "descending" if falls else "ascending",
        href,
        label,
        "▼" if falls else "▲",
    )


@register.simple_tag(takes_context=True)
def filter_link(context: RequestContext, text: str) -> str:
    """Return the page's query with another filter, from the first page on."""
    left_out = dict.fromkeys(context["list_filter"].replaced, "")
    return query_with(context, **{**left_out, "filter": text})


@register.simple_tag(takes_context=True)
def kept_fields(context: RequestContext, *own: str) -> SafeString:
    """Keep the page's query in a form that has the filter and its own place.

    ``own`` are further fields that the form has itself.
    """
    left_out = {*context["list_filter"].replaced, *own}
    given = context["request"].GET
    pairs = (
        (name, value)
        for name in given
        if name not in left_out
        for value in given.getlist(name)
        if value
    )
    return format_html_join("", '<input type="hidden" name="{}" value="{}">', pairs)
