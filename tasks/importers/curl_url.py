"""The addresses of a pasted curl command: whom it calls, who calls, and through which proxy.

Pure; raises ValueError with a sentence for text that is no address. The validation of the task
checks whether it may be called, and gives the same reason for an address without a host.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

_NO_HOST = "The URL has no valid host and port."
_GLOB = re.compile(r"\{[^{},]*,[^{}]*\}|\[(?:\d+-\d+|[a-z]-[a-z]|[A-Z]-[A-Z])(?::\d+)?\]")


@dataclass(frozen=True, slots=True)
class Called:
    """A URL without its user, its host for a name, and the user as ``auth``."""

    url: str
    host: str
    auth: dict[str, str] | None
    is_globbed: bool


def called_url(text: str, query: list[str]) -> Called:
    """Return the URL to call, with the parts of a query added."""
    url, _, _ = text.partition("#")
    if query:
        url += ("&" if "?" in url else "?") + "&".join(query)
    parts = _split(url)
    user, at, host = parts.netloc.rpartition("@")
    before, _, rest = url.partition("://")
    auth = _auth(user) if at else None
    return Called(
        url=f"{before}://{rest[len(user) + 1 :]}" if at else url,
        host=parts.hostname or "",
        auth=auth,
        is_globbed=_GLOB.search(rest[len(parts.netloc) :]) is not None or "{" in host,
    )


def proxy_of(text: str) -> dict[str, Any]:
    """Return the proxy in the form of a target."""
    parts = _split(text if "://" in text else f"http://{text}")
    if parts.scheme.startswith("socks"):
        raise ValueError("proxies are reached by HTTP; SOCKS cannot be spoken.")
    user, at, host = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    found: dict[str, Any] = {"url": f"{parts.scheme}://{host}"}
    return found | ({"username": unquote(name), "password": unquote(password)} if at else {})


def credentials_of(auth: dict[str, str]) -> tuple[str, str]:
    """Return the header of a user and a password."""
    coded = base64.b64encode(f"{auth['username']}:{auth['password']}".encode()).decode()
    return "Authorization", f"Basic {coded}"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.hostname and parts.port != 0:
            return parts
    except ValueError as error:
        raise ValueError(_NO_HOST) from error
    raise ValueError(_NO_HOST)


def _auth(user: str) -> dict[str, str] | None:
    name, _, password = (unquote(part) for part in user.partition(":"))
    return {"type": "basic", "username": name, "password": password} if user else None
