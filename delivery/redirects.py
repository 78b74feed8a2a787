"""Turns a request and its redirect into the next request; pure, the caller sends it.

Every hop is parsed and judged like a URL that a user named, and connected to through the guard.
The proof of the sender never leaves the target's origin.
"""

from __future__ import annotations

from dataclasses import replace

from delivery.errors import DeliveryError
from delivery.http_messages import Request, Response
from shared.addresses import AllowList, TargetUrl, UrlError, parse_target_url
from shared.http_headers import is_secret_header

MAX_REDIRECTS = 5
FOLLOWED = frozenset({301, 302, 303, 307, 308})
#: They describe a body, or are made over one.
_OF_THE_BODY = frozenset({"webhook-signature"})
_OF_THE_BODY_PREFIX = "content-"


def redirected(
    request: Request,
    response: Response,
    *,
    private_headers: frozenset[str],
    allow: AllowList,
    allowed_ports: tuple[int, ...],
) -> Request | None:
    """Return the request that the answer asks for, None when it names no place.

    ``private_headers`` (lower case) stay in the origin beside those that look secret. DeliveryError
    ``redirect_forbidden`` from https to http or to no valid URL, ``address_forbidden`` as creation
    would say.
    """
    location = next((value for name, value in response.headers if name.lower() == "location"), "")
    if not location:
        return None
    url = _resolve(request.url, location, allow, allowed_ports)
    if request.url.scheme == "https" and url.scheme != "https":
        raise DeliveryError("redirect_forbidden", "The receiver redirected from https to http.")
    following = replace(request, url=url)
    if _becomes_get(request.method, response.status):
        method = "HEAD" if request.method == "HEAD" else "GET"
        kept = [pair for pair in request.headers if not _is_of_the_body(pair[0].lower())]
        following = replace(following, method=method, body=b"", headers=kept)
    if _origin(url) != _origin(request.url):
        kept = [
            (name, value)
            for name, value in following.headers
            if not is_secret_header(name) and name.lower() not in private_headers
        ]
        route = None if request.route is None else request.route.elsewhere()
        following = replace(following, headers=kept, route=route)
    return following


def _resolve(
    base: TargetUrl, location: str, allow: AllowList, allowed_ports: tuple[int, ...]
) -> TargetUrl:
    """Return the place as a browser finds it: by the URL standard, written by no RFC."""
    # Takes 4 MiB, and few webhooks follow redirects.
    from ada_url import join_url

    try:
        here = f"{base.scheme}://{base.authority}{base.path_and_query}"
        # In a query the URL standard allows a backslash, and RFC 3986 does not.
        found = join_url(here, location).replace("\\", "%5C")
        return parse_target_url(found, allow, allowed_ports)
    except UrlError as error:
        if error.code == "url_invalid":
            message = f"The receiver redirected to a URL that cannot be called. {error.message}"
            raise DeliveryError("redirect_forbidden", message) from error
        message = f"The receiver redirected to a forbidden place. {error.message}"
        raise DeliveryError("address_forbidden", message) from error
    except ValueError as error:
        message = "The receiver redirected to a URL that cannot be called."
        raise DeliveryError("redirect_forbidden", message) from error


def _becomes_get(method: str, status: int) -> bool:
    return status == 303 or (status in (301, 302) and method == "POST")


def _is_of_the_body(lowered: str) -> bool:
    return lowered in _OF_THE_BODY or lowered.startswith(_OF_THE_BODY_PREFIX)


def _origin(url: TargetUrl) -> tuple[str, str, int]:
    return (url.scheme, url.host, url.port)
