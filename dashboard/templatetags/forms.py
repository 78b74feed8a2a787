"""The summary of a form's errors, each with the name of its field and a link to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.template.context import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

#: The beginning of a label, and the field that it belongs to: behind it come hints only.
_LABEL = re.compile(r'<(?:label\b[^>]*? for|legend\b[^>]*? id)="([^"]+)"[^>]*>\s*([^<]+)')


class _Summary(template.Node):
    def __init__(self, errors: FilterExpression, page: NodeList) -> None:
        self.errors = errors
        self.nodelist = page

    def render(self, context: Context) -> SafeString:
        page = self.nodelist.render(context)
        errors = self.errors.resolve(context)
        return format_html("{}{}", error_summary(errors, page), page) if errors else page


@register.tag
def named_errors(parser: Parser, token: Token) -> _Summary:
    """Put the summary of ``{% named_errors errors %}`` before the form that the block holds."""
    _, errors = token.split_contents()
    page = parser.parse(("endnamed_errors",))
    parser.delete_first_token()
    return _Summary(parser.compile_filter(errors), page)


def error_summary(errors: Mapping[str, str], page: str) -> SafeString:
    """Return the list of errors by field; names are those of the labels in the page.

    An error under ``form``, and one of a field that the page does not have, has no link.
    """
    labels = {name: unescape(text.strip()) for name, text in _LABEL.findall(page)}
    items = [
        (_linked(name, _named(labels.get(name, ""), message), page),)
        for name, message in errors.items()
    ]
    return format_html(
        '<div class="error-summary" role="alert" tabindex="-1" id="error-summary">'
        "<h2>This could not be saved</h2><ul>{}</ul></div>",
        format_html_join("", "<li>{}</li>", items),
    )


def _linked(name: str, text: SafeString, page: str) -> SafeString:
    if name == "form" or f'id="{name}"' not in page:
        return text
    return format_html('<a href="#{}">{}</a>', name, text)


def _named(label: str, message: str) -> SafeString:
    """Return the message behind its field's name, unless it begins with that."""
    if not label or message.startswith(f"{label}:"):
        return format_html("{}", message)
    return format_html("{}: {}", label, message)
