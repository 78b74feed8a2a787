"""Builds the markup of every picture: escaped elements, plain numbers, the figure and its table.

The only place that declares text safe, and only after it has escaped it; the pictures never
write a tag by hand. No element carries a style attribute, so the strict CSP needs no exception.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.html import conditional_escape, escape
from django.utils.safestring import SafeString, mark_safe

Attributes = Mapping[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class Table:
    """The table of a picture: its content as rows of text or of safe markup."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def tag(name: str, attributes: Attributes, *children: str) -> SafeString:
    """Return one element; attributes that are None are left out, children are escaped."""
    pairs = "".join(
        f' {key}="{_value(value)}"' for key, value in attributes.items() if value is not None
    )
    inside = "".join(conditional_escape(child) for child in children)
    return mark_safe(f"<{name}{pairs}>{inside}</{name}>")  # noqa: S308 - every part is escaped above


def joined(parts: Iterable[SafeString]) -> SafeString:
    """Return elements one after another."""
    text = "".join(conditional_escape(part) for part in parts)
    return mark_safe(text)  # noqa: S308 - every part is escaped above


def number(value: float) -> str:
    """Return a coordinate with at most two decimals, and never ``-0``."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percent(share: float) -> str:
    """Return a share of 0 to 1 as a length, cut to that range."""
    return f"{number(min(max(share, 0.0), 1.0) * 100)}%"


def figure(kind: str, title: str, summary: str, *parts: str, table: Table) -> SafeString:
    """Return a picture under its title, with the table of the same content.

    The drawing names itself by the summary, so the visible summary is not read twice.
    """
    caption = tag(
        "figcaption",
        {"class": "picture-caption"},
        tag("span", {"class": "picture-title"}, title),
        " ",
        tag("span", {"class": "picture-summary", "aria-hidden": "true"}, summary),
    )
    twin = table_twin(title, table)
    return tag("figure", {"class": f"picture picture-{kind}"}, caption, *parts, twin)


def table_twin(title: str, table: Table) -> SafeString:
    """Return the folded table of a picture; "" for an empty table."""
    if not table.rows:
        return joined(())
    head = joined(tag("th", {"scope": "col"}, text) for text in table.head)
    rows = joined(_row(row) for row in table.rows)
    return tag(
        "details",
        {"class": "picture-twin"},
        tag("summary", {}, "View as table"),
        tag(
            "div",
            {"class": "picture-scroll", "tabindex": "0", "role": "group", "aria-label": title},
            tag(
                "table",
                {},
                tag("caption", {"class": "sr"}, title),
                tag("thead", {}, tag("tr", {}, head)),
                tag("tbody", {}, rows),
            ),
        ),
    )


def link(href: str | None, attributes: Attributes, *children: str) -> SafeString:
    """Return a link, or a plain group without an address."""
    if not href:
        return tag("g", attributes, *children)
    return tag("a", {"href": href, **attributes}, *children)


def clipped(text: str, letters: int) -> str:
    """Return a text with this many letters at most: of a longer one the begin and the end."""
    if len(text) <= letters:
        return text
    tail = letters * 2 // 5
    return f"{text[: letters - 1 - tail]}…{text[-tail:]}"


def plural(count: int, singular: str, many: str | None = None) -> str:
    """Return a count with its noun: ``1 run``, ``1,204 runs``."""
    noun = singular if count == 1 else many or f"{singular}s"
    return f"{count:,} {noun}"


def _row(row: Sequence[str]) -> SafeString:
    first, *rest = row
    cells = joined(tag("td", {}, cell) for cell in rest)
    return tag("tr", {}, tag("th", {"scope": "row"}, first), cells)


def _value(value: str | int | float) -> str:
    if isinstance(value, float):
        return number(value)
    return str(escape(value))
