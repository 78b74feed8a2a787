"""Find the path of the API that a call to an unknown path most likely meant.

Used after a 404, and before a program gets a page of the console that it has not meant: without
``/v1`` the API and the console have the same paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any

from django.urls import Resolver404, URLPattern, URLResolver, get_resolver, resolve

PREFIX = "/v1"
_SLASHES = re.compile("/{2,}")
_ID = re.compile(r"[0-9a-fA-F-]{32,36}|\d+")
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
#: A longer path is no typing mistake.
_LONGEST = 300
#: From this similarity on, from 0 to 1, one path counts as a misspelling of the other.
_ALIKE = 0.85


def is_api(path: str) -> bool:
    """Return whether a path lies in the API, with or without such a resource."""
    return path == PREFIX or path.startswith(PREFIX + "/")


def meant_by(path: str) -> str | None:
    """Return the path of the API that differs by its prefix, its slashes or its case alone."""
    if len(path) > _LONGEST:
        return None
    return next((found for found in _spellings(path) if _is_there(found)), None)


def hint_for(path: str) -> str:
    """Return a sentence that names the path to call instead of an unknown one."""
    meant = meant_by(path) or _nearest(path)
    return f"Did you mean {meant}?" if meant else "GET /v1/schema/ describes every path."


def _spellings(path: str) -> Iterator[str]:
    plain = _SLASHES.sub("/", f"/{path}").rstrip("/")
    lower = plain.lower()
    for known in (f"/api{PREFIX}", "/api", PREFIX, ""):
        if lower == known or lower.startswith(f"{known}/"):
            rest = plain[len(known) :]
            for found in (f"{PREFIX}{rest}", f"{PREFIX}{rest.lower()}"):
                # Nearly all paths end without a slash; those of the schema and its page with one.
                yield from (found, f"{found}/")
            return


def _is_there(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


def _nearest(path: str) -> str | None:
    if len(path) > _LONGEST:
        return None
    parts = ["{id}" if _ID.fullmatch(part) else part for part in path.split("/")]
    near = get_close_matches("/".join(parts), _templates(get_resolver()), n=1, cutoff=_ALIKE)
    return near[0] if near else None


@cache
def _templates(routes: URLResolver) -> list[str]:
    """Return every path of the API as the documentation writes it."""
    return sorted({path for path in _walk(routes.url_patterns, "/") if is_api(path)})


def _walk(patterns: list[Any], prefix: str) -> Iterator[str]:
    for pattern in patterns:
        path = prefix + _PARAMETER.sub(r"{\1}", str(pattern.pattern))
        if isinstance(pattern, URLPattern):
            yield re.sub(r"\{\w+_id\}", "{id}", path)
        else:
            yield from _walk(pattern.url_patterns, path)
