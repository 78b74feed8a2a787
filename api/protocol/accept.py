"""The headers Accept and Accept-Encoding: which of the offered types a caller takes (RFC 9110)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request

from shared.exceptions import NotAcceptable

_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


def accepts(header: str, *offered: str) -> bool:
    """Return whether the header allows any of the offered values; an empty one allows each."""
    return best(header, offered) is not None


def best(header: str, offered: Sequence[str]) -> str | None:
    """Return the offered value that the caller prefers; None for none.

    Of equals it is one that the header names rather than one that ``*/*`` allows, then the first.
    Of the entries that match a value, the most specific one decides:
    ``application/json;q=0, */*`` rules JSON out.
    """
    if not header.strip():
        return offered[0] if offered else None
    given = _entries(header)
    ranks = {one: _rank(one, given) for one in offered}
    found = max(offered, key=lambda one: ranks[one], default=None)
    return found if found is not None and ranks[found][0] > 0 else None


def names(header: str, value: str) -> bool:
    """Return whether the header names the value itself, and does not rule it out."""
    return _entries(header).get(value, 0.0) > 0


def not_acceptable(offered: Sequence[str]) -> NotAcceptable:
    """Return the refusal (406) that names what is offered."""
    return NotAcceptable(f"The answer is {' or '.join(offered)}: name it in Accept, or send */*.")


class FirstRenderer(BaseContentNegotiation):
    """Take the only parser and renderer; views judge Accept after all other refusals."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        """Return the first parser; it judges the media type itself."""
        return next(iter(parsers))

    def select_renderer(
        self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """Return the first renderer and its media type."""
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


def _rank(offered: str, given: dict[str, float]) -> tuple[float, bool]:
    """Return the quality of an offered value, and whether the header names it itself."""
    quality = next((given[name] for name in _names_of(offered) if name in given), 0.0)
    return quality, offered in given


def _entries(header: str) -> dict[str, float]:
    """Return the names in a header with their qualities; of a name given twice, the first."""
    found: dict[str, float] = {}
    for entry in header.split(","):
        name, *parameters = (part.strip().lower() for part in entry.split(";"))
        found.setdefault(name, _quality(parameters))
    return found


def _quality(parameters: list[str]) -> float:
    """Return the value of ``q``; 1 where it is left out or is not one."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q" and _QUALITY.fullmatch(value.strip()):
            return float(value)
    return 1.0


def _names_of(offered: str) -> tuple[str, ...]:
    """Return the names by which an entry may match, the most specific first."""
    kind, slash, _ = offered.partition("/")
    return (offered, f"{kind}/*", "*/*") if slash else (offered, "*")
