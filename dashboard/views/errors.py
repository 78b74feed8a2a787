"""The pages of addresses that lead nowhere and of unexpected errors; the site's handlers.

A member who is signed in sees them in the console's frame, with the navigation and the search at
hand; everyone else sees the plain page.
"""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from api.protocol import paths
from api.protocol.trace import trace_id_of
from dashboard.access import own_page, refuse

log = logging.getLogger(__name__)

_NOWHERE = (404, "There is no such page", "The address leads nowhere.")
_BROKEN = (
    500,
    "Something went wrong here",
    "The error is in the log of the web process, under the trace id below.",
)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404 for an address that no page has, or that a page refuses to show."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated or paths.is_api(request.path):
        return render(request, "404.html", status=404)
    return _in_the_frame(request)


@own_page
def _in_the_frame(request: HttpRequest) -> HttpResponse:
    return refuse(request, *_NOWHERE)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500; in the frame where the visitor was known and it can still be drawn."""
    if hasattr(request, "visitor"):
        try:
            return refuse(request, *_BROKEN)
        # What broke the page may break the frame as well: the plain one needs nothing.
        except Exception as error:  # noqa: BLE001 - anything may be broken here
            told = {"path": request.path, "reason": type(error).__name__}
            log.error("console.frame_of_error", extra=told)
    return render(None, "500.html", {"trace_id": trace_id_of(request)}, status=500)
