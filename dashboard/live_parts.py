"""Parts of a live page that are sent again only when they have changed.

A page is asked for again at each live change. The parts of it that are large have a version made of
what they show: the script names the versions that it has, and a part that is the same comes without
its content. What a part shows is neither drawn nor sent twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

#: The header of a page's request to read itself again.
LIVE = "X-Live"
#: The versions on the screen: ``<id>=<version>``, with spaces between.
HAVE = "X-Live-Have"


def version_of(*shown: Any) -> str:
    """Return the version of what is shown; values of equal ``repr`` are the same."""
    whole = repr((timezone.get_current_timezone_name(), *shown))
    return hashlib.blake2b(whole.encode(errors="backslashreplace"), digest_size=9).hexdigest()


def version_for(request: HttpRequest, version: str) -> str:
    """Return the version of a part for this visitor: buttons differ by role, markup by release.

    "" stays "", which is never taken for the same.
    """
    visitor = getattr(request, "visitor", None)
    role = None if visitor is None else str(visitor.membership.role)
    release = settings.SPECTACULAR_SETTINGS["VERSION"]
    return version_of(version, role, release) if version else ""


def is_on_screen(request: HttpRequest, part: str, version: str) -> bool:
    """Return whether the page that asks again has this version of a part."""
    return bool(version) and (part, version) in _pairs(request.headers.get(HAVE, "").split())


def _pairs(texts: Iterable[str]) -> set[tuple[str, str]]:
    return {(name, version) for name, _, version in (text.partition("=") for text in texts)}
