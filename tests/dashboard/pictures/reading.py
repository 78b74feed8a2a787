"""Reads the markup of a picture as a parser does, and checks what holds for every picture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, fromstring

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
#: Attributes that place or measure. The lines of a pattern begin outside of its square.
_MEASURES = ("x", "y", "width", "height", "x1", "x2", "y1", "y2", "d")


def parsed(markup: str) -> Element:
    """Return the root; markup that is not well-formed raises."""
    return fromstring(f"<root>{markup}</root>")


def having(markup: str, css: str) -> list[Element]:
    """Return the elements that carry a class."""
    return [one for one in parsed(markup).iter() if css in one.get("class", "").split()]


def texts(markup: str, css: str) -> list[str]:
    return ["".join(one.itertext()) for one in having(markup, css)]


def rows(markup: str) -> list[list[str]]:
    """Return the cells of the table twin, without its head."""
    return [["".join(cell.itertext()) for cell in row] for body in _bodies(markup) for row in body]


def _bodies(markup: str) -> Iterator[Element]:
    return parsed(markup).iter("tbody")


def assert_keeps_the_rules(markup: str) -> None:
    """Check what the CSP, assistive technology and common sense ask of every picture."""
    root = parsed(markup)
    for one in root.iter():
        assert one.tag not in ("style", "script")
        assert "style" not in one.attrib
        assert not [name for name in one.attrib if name.startswith("on")]
        if "pattern-lines" not in one.get("class", ""):
            assert not _below_zero([one.get(name, "") for name in _MEASURES]), one.attrib
    named = [one for one in root.iter() if one.get("role") in ("img", "group", "meter")]
    assert named
    assert all(one.get("aria-label") for one in named)
    for image in (one for one in named if one.get("role") == "img"):
        assert not [
            part for part in image.iter() if part is not image and "tabindex" in part.attrib
        ]


def _below_zero(texts_of_measures: list[str]) -> list[str]:
    found = _NUMBER.findall(" ".join(texts_of_measures))
    return [part for part in found if part.startswith("-")]
