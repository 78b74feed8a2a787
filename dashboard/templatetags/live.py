"""The tag of parts of live pages: ``{% part "run-graph" version %}…{% endpart %}``.

It renders its content unless the page on the screen has this version of it. The script keeps what
is on the screen for a part that comes without content.
"""

from __future__ import annotations

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.template.context import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.live_parts import is_on_screen, version_for

register = template.Library()
_WORDS = 3


@register.tag
def part(parser: Parser, token: Token) -> Part:
    """Read the tag: the id of the part, and its version."""
    words = token.split_contents()
    if len(words) != _WORDS:
        raise template.TemplateSyntaxError("Give a part its id and its version.")
    nodes = parser.parse(("endpart",))
    parser.delete_first_token()
    return Part(parser.compile_filter(words[1]), parser.compile_filter(words[2]), nodes)


class Part(template.Node):
    """One part; a version of "" is never taken for the same."""

    def __init__(self, name: FilterExpression, version: FilterExpression, nodes: NodeList) -> None:
        self._name, self._version, self.nodelist = name, version, nodes

    def render(self, context: Context) -> SafeString:
        """Return the part, without its content where the screen has it."""
        name, request = self._name.resolve(context), context["request"]
        version = version_for(request, self._version.resolve(context))
        if is_on_screen(request, name, version):
            return format_html('<div id="{}" class="part" data-unchanged></div>', name)
        inside = self.nodelist.render(context)
        opening = '<div id="{}" class="part" data-version="{}">{}</div>'
        return format_html(opening, name, version, inside)
