"""The filter of the console's lists: one text, with links and forms that write the same text.

The text is in the URL. Older parameters that it can say (``status``, ``q``) are read into it, so
that the field shows all that a list is filtered by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from api.protocol.query import Parameter, text
from insight.filter_language.fields import Vocabulary
from insight.filter_language.terms import Filter, parse
from insight.filter_language.tokens import MAX_LENGTH, FilterError, quoted
from insight.list_budget import TooWide, read_list
from insight.list_orders import is_plain
from shared.instants import format_instant

#: Of pages with a filter; ``add`` and ``value`` are the form that adds a term to it.
PARAMETERS: Mapping[str, Parameter] = {
    "filter": text(max_length=MAX_LENGTH),
    "add": text(max_length=40),
    "value": text(max_length=MAX_LENGTH),
}
#: Older parameters whose values the filter can say by the field of the same name.
_SAID_BY_FIELDS = ("status", "type", "owner", "label")
#: Older parameters that bound the times of a list, and the comparison that says the same.
_SAID_BY_TIMES = (("since", ">="), ("until", "<"))
#: What a new filter never keeps of the URL: the form's fields, and the place in the list.
_NEVER_KEPT: tuple[str, ...] = ("filter", "add", "value", "cursor", "page")
#: What a page shows in place of rows that it does not read.
NO_ROWS: Mapping[str, Any] = {"rows": [], "pagination": {"next_cursor": None}}
#: Windows that a page offers where reading a list takes too long.
_NARROWER = ("-24h", "-1h")

_Listed = TypeVar("_Listed", bound=Mapping[str, Any])


@dataclass(frozen=True, slots=True)
class ShownTerm:
    """A term of the filter, and the filter without it."""

    text: str
    without: str


@dataclass(frozen=True, slots=True)
class Chip:
    """A state that the list can be filtered by: the filter with it, and whether it is chosen."""

    label: str
    value: str
    filter: str
    here: bool
    count: int | None = None


@dataclass(slots=True)
class ListFilter:
    """The filter of a page. ``box`` is all that its text says, ``wanted`` what is applied to rows.

    ``text`` is what was typed, which is shown again beside an ``error``. ``replaced`` are the
    parameters that links to another filter leave out, because its text says what they say.
    """

    vocabulary: Vocabulary
    wanted: Filter
    box: Filter
    text: str
    error: str = ""
    position: int = 0
    narrower: tuple[tuple[str, str], ...] = ()
    replaced: tuple[str, ...] = _NEVER_KEPT

    @property
    def list_name(self) -> str:
        """The name by which suggestions are asked for."""
        return self.vocabulary.name

    @property
    def terms(self) -> list[ShownTerm]:
        """The terms, each with the filter that is left without it."""
        return [
            ShownTerm(term.text, self.box.without_term(place).text)
            for place, term in enumerate(self.box.terms)
        ]

    @property
    def fields(self) -> list[Any]:
        """The fields that a term can be added of."""
        return list(self.vocabulary.fields.values())

    def chips(self, key: str, counts: Mapping[str, int] | None = None) -> list[Chip]:
        """Return a chip for all rows, and one for each word of a field."""
        chosen = self.box.values_of(key)
        others = self.box.without(key)
        found = [Chip("All", "", others.text, not chosen)]
        for word in self.vocabulary.fields[key].listed:
            value = word.upper()
            count = None if counts is None else counts.get(value)
            wanted = others.and_text(f"{key}:{word}").text
            found.append(Chip(word.replace("_", " ").title(), value, wanted, word in chosen, count))
        return found

    def read(self, read: Callable[[], _Listed], *, order: str, none: _Listed) -> _Listed:
        """Return what is read; ``none`` for a filter with an error, or one that takes too long."""
        if self.error:
            return none
        try:
            return read_list(read, advice="", unlimited=is_plain(self.wanted, order))
        except TooWide as error:
            self.error = error.message.strip()
            if "scheduled" in self.vocabulary.fields:
                others = self.box.without("scheduled")
                self.narrower = tuple(
                    (f"scheduled:{since}", others.and_text(f"scheduled:{since}").text)
                    for since in _NARROWER
                )
            return none


def read_filter(query: Mapping[str, Any], vocabulary: Vocabulary) -> ListFilter:
    """Return the filter of a page's query; one that cannot be read has an ``error``."""
    typed = query["filter"] or ""
    nothing = Filter(vocabulary)
    try:
        wanted = parse(typed, vocabulary)
    except FilterError as error:
        return ListFilter(vocabulary, nothing, nothing, typed, str(error), error.position)
    box, replaced = wanted, _NEVER_KEPT
    for name in _SAID_BY_FIELDS:
        given = query.get(name)
        if not given or name not in vocabulary.fields:
            continue
        words = ",".join(quoted(word) for word in ([given] if isinstance(given, str) else given))
        with suppress(FilterError):  # A parameter that no term can say stays one.
            box, replaced = box.and_text(f"{name}:{words}"), (*replaced, name)
    for name, sign in _SAID_BY_TIMES:
        if query.get(name) and "scheduled" in vocabulary.fields:
            term = f"scheduled:{sign}{format_instant(query[name])}"
            box, replaced = box.and_text(term), (*replaced, name)
    if query.get("q"):
        box, replaced = box.and_free_text(query["q"]), (*replaced, "q")
    return ListFilter(vocabulary, wanted, box, box.text, replaced=replaced)


def added(request: HttpRequest, query: Mapping[str, Any], found: ListFilter) -> HttpResponse | None:
    """Return the way to the list with the term that the form adds; None where it adds none.

    Values are separated by commas and may hold spaces. A value that cannot be read, or that makes
    the filter too long, becomes the error of the filter.
    """
    value = query["value"]
    if not query["add"] or not value or found.error:
        return None
    if '"' not in value:
        value = ",".join(quoted(part.strip()) for part in value.split(","))
    term = f"{query['add']}:{value}"
    try:
        wanted = found.box.and_text(term)
        parse(wanted.text, found.vocabulary)
    except FilterError as error:
        found.error, found.position = f"{term!r}: {error}", error.position
        return None
    kept = request.GET.copy()
    for name in found.replaced:
        kept.pop(name, None)
    kept["filter"] = wanted.text
    return redirect(f"{request.path}?{kept.urlencode()}")
