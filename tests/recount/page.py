"""Finds the numbers of a page as a reader meets them, each with the name by which it is recounted.

An element names its number by ``data-number``; the cells of a table are named by the table's
``data-numbers`` and a picture by its class. Digits without a name are strays: nobody recounts
them. Left out are times, code, what only labels an axis, and what is marked as no count:
``data-constant`` (a limit of the product, "1 s") and ``data-identity`` (a host, a version).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import NamedTuple

_VOID = frozenset({"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})
_SILENT = frozenset({"script", "style", "time", "code", "head", "kbd", "dialog", "textarea"})
#: What a reader hears or sees of an attribute, and what a script draws.
_SPOKEN = ("aria-label", "aria-valuetext", "aria-valuenow", "title", "data-series", "data-summary")
_DIGIT = re.compile(r"\d")
_PICTURE = "picture-"


@dataclass(eq=False)
class Node:
    """An element; ``parts`` are its texts and children in their order."""

    tag: str
    attributes: dict[str, str]
    parent: Node | None = None
    parts: list[str | Node] = field(default_factory=list)

    @property
    def children(self) -> list[Node]:
        """Return its elements."""
        return [part for part in self.parts if isinstance(part, Node)]

    @property
    def text(self) -> str:
        """Return the text in it, with single spaces."""
        return " ".join("".join(self._texts()).split())

    @property
    def classes(self) -> list[str]:
        """Return the names of its classes."""
        return self.attributes.get("class", "").split()

    def up(self) -> Iterator[Node]:
        """Yield the element and what it stands in, inside out."""
        here: Node | None = self
        while here is not None:
            yield here
            here = here.parent

    def down(self) -> Iterator[Node]:
        """Yield the element and all in it, in the order of the page."""
        yield self
        for child in self.children:
            yield from child.down()

    def _texts(self) -> Iterator[str]:
        for part in self.parts:
            yield from (part,) if isinstance(part, str) else part._texts()


class Number(NamedTuple):
    """A named number: its text as shown, the row that it stands in, its element."""

    name: str
    text: str
    row: str | None
    node: Node


@dataclass(frozen=True)
class Page:
    """What is on a page: its named numbers, and the digits that have no name."""

    root: Node
    numbers: list[Number]
    strays: list[str]

    def of(self, name: str) -> list[Number]:
        """Return the numbers of the name, in the order of the page."""
        return [one for one in self.numbers if one.name == name]


def read(html: str) -> Page:
    """Return the page with every number on it, named or stray."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    numbers = [
        Number(name, node.text, _row(node), node)
        for node in parser.root.down()
        if (name := _own_name(node)) and not _is_silent(node)
    ]
    return Page(parser.root, numbers, list(_strays(parser.root)))


def table(node: Node) -> list[list[str]]:
    """Return the cells of the first table in the element, row by row, without its heading."""
    return [
        [cell.text for cell in row.children]
        for body in node.down()
        if body.tag == "tbody"
        for row in body.children
    ]


def spoken(node: Node) -> Iterator[str]:
    """Yield the texts in a picture, outside of its table and of its axes, and what it speaks."""
    if node.tag == "details" or "tick" in node.classes:
        return
    for name in _SPOKEN:
        if name in node.attributes:
            yield node.attributes[name]
    for part in node.parts:
        if isinstance(part, Node):
            yield from spoken(part)
        elif part.strip():
            yield " ".join(part.split())


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Node("page", {})
        self._here = self.root

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs}, self._here)
        self._here.parts.append(node)
        if tag not in _VOID:
            self._here = node

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._here.parts.append(Node(tag, {name: value or "" for name, value in attrs}, self._here))

    def handle_endtag(self, tag: str) -> None:
        for node in self._here.up():
            if node.tag == tag and node.parent is not None:
                self._here = node.parent
                return

    def handle_data(self, data: str) -> None:
        self._here.parts.append(data)


def _strays(node: Node) -> Iterator[str]:
    if _is_silent(node) or _own_name(node):
        return
    for name in _SPOKEN:
        said = node.attributes.get(name, "")
        # The bar of a gauge stands beside its number, in one element that says it again.
        if _DIGIT.search(said) and not any(_own_name(child) for child in node.children):
            yield f"<{node.tag} {name}={said!r}>"
    for part in node.parts:
        if isinstance(part, Node):
            yield from _strays(part)
        elif _DIGIT.search(part):
            yield f"<{node.tag}> {' '.join(part.split())}"


def _own_name(node: Node) -> str:
    named = node.attributes.get("data-number") or node.attributes.get("data-numbers")
    if named:
        return named
    kinds = [name.removeprefix(_PICTURE) for name in node.classes if name.startswith(_PICTURE)]
    return f"picture.{kinds[0]}" if node.tag == "figure" and kinds else ""


def _is_silent(node: Node) -> bool:
    return any(
        one.tag in _SILENT or "data-constant" in one.attributes or "data-identity" in one.attributes
        for one in node.up()
    )


def _row(node: Node) -> str | None:
    return next(
        (one.attributes["data-row"] for one in node.up() if "data-row" in one.attributes), None
    )
