"""What stands between a session and a person: recorded, neither ended nor idle, with its factor.

``request.user`` is anonymous unless the session is open in the table of sessions. Where a tenant
of the person requires a second factor and there is none, it is anonymous on all pages but those of
the enrolment. Every door that reads ``request.user`` is guarded so: console, admin, messages.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db import DatabaseError, InterfaceError, transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.functional import SimpleLazyObject

from shared import database_clock, tenant_scope
from shared.client_address import client_address
from shared.tenant_scope import Purpose
from tenants.services.sign_ins import (
    SIGN_IN,
    OpenSignIn,
    adopt_session,
    adopted_id,
    begin_sign_in,
    find_open,
    hold_identity,
    note_use,
    sign_out,
)

log = logging.getLogger(__name__)

#: The name of the cookie where it is not secure, and before names had a prefix.
PLAIN_COOKIE = "sessionid"
#: The only pages of a person who has yet to set up a second factor.
ENROLMENT = frozenset(
    {"dashboard:second_factor", "dashboard:second_factor_begin", "dashboard:second_factor_confirm"}
)
#: How long requests with the old cookie may be under way when the first answer brings the new one.
_SENT_AT_ONCE = timedelta(minutes=1)
_ALSO_WHILE_ENROLLING = ENROLMENT | {"dashboard:logout"}

Next = Callable[[HttpRequest], HttpResponseBase]


class PlainCookieMiddleware:
    """Accept the cookie of a session from before names of cookies had the prefix ``__Host-``.

    Only sessions that are not recorded yet, or since a minute: a recorded one has had its cookie
    under the new name, and another site under the same domain could plant one under the old name.
    """

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Offer the old cookie under the new name, and have it sent anew."""
        name = settings.SESSION_COOKIE_NAME
        old = request.COOKIES.get(PLAIN_COOKIE)
        if name == PLAIN_COOKIE or name in request.COOKIES or not old:
            return self.get_response(request)
        request.COOKIES[name] = old
        request.by_plain_cookie = True  # type: ignore[attr-defined]  # read by the guard below
        answer: Any = self.get_response(request)
        # An answer that did not ask whose session it is brings no new cookie: the old one stays.
        if name in answer.cookies:
            answer.delete_cookie(PLAIN_COOKIE, samesite=settings.SESSION_COOKIE_SAMESITE)
        return answer  # type: ignore[no-any-return]  # as it came


class SignInMiddleware:
    """Replace ``request.user`` by a checked one; it is read, and costs a query, on first use."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Guard the user of the request."""
        found = request.user
        request.user = SimpleLazyObject(lambda: _checked(request, found))  # type: ignore[assignment]  # lazy, as Django's own
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: object, args: object, captured: object
    ) -> HttpResponseBase | None:
        """Lead a person who has yet to set up a second factor there; open the admin to staff."""
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or request.path.startswith("/v1/"):
            return None
        try:
            _ = request.user.is_authenticated
        except (DatabaseError, InterfaceError):
            return None  # the view meets the same, and answers it
        if not must_enrol(request):
            _open_admin(request)
            return None
        if _view_name(request) in _ALSO_WHILE_ENROLLING:
            return None
        return redirect("dashboard:second_factor")


def _open_admin(request: HttpRequest) -> None:
    """Let staff read and change the rows of all tenants on pages of the admin, and there alone."""
    match, user = request.resolver_match, request.user
    if match is not None and "admin" in match.app_names and user.is_active and user.is_staff:
        tenant_scope.enter_purpose(Purpose.ADMIN)


def must_enrol(request: HttpRequest) -> bool:
    """Return whether the session of the request may do nothing but set up a second factor."""
    sign_in: OpenSignIn | None = getattr(request, "sign_in", None)
    return sign_in is not None and sign_in.must_enrol


def sign_in_id(request: HttpRequest) -> UUID | None:
    """Return the id of the request's session; None where it is not open."""
    sign_in: OpenSignIn | None = getattr(request, "sign_in", None)
    return None if sign_in is None else sign_in.row.pk


def method_of(request: HttpRequest) -> str:
    """Return by what the request's session began; an empty text where that is not known."""
    sign_in: OpenSignIn | None = getattr(request, "sign_in", None)
    return "" if sign_in is None else sign_in.row.method


def began_at(request: HttpRequest) -> datetime | None:
    """Return when the request's session began; None where it is not open, or unknown.

    The row of a session from before the upgrade is younger than the session.
    """
    sign_in: OpenSignIn | None = getattr(request, "sign_in", None)
    if sign_in is None or sign_in.row.pk == adopted_id(str(request.session.session_key)):
        return None
    return sign_in.row.began_at


def _checked(request: HttpRequest, found: Any) -> Any:
    if not found.is_authenticated:
        return found
    sign_in = _open_sign_in(request, found.pk)
    if sign_in is None:
        request.session.flush()
        return AnonymousUser()
    request.sign_in = sign_in  # type: ignore[attr-defined]  # read by the functions above
    note_use(sign_in.row)
    if sign_in.must_enrol and _view_name(request) not in _ALSO_WHILE_ENROLLING:
        return AnonymousUser()
    return getattr(found, "_wrapped", found)


def _open_sign_in(request: HttpRequest, user_id: int) -> OpenSignIn | None:
    session = request.session
    if SIGN_IN in session:
        found = find_open(session[SIGN_IN], user_id)
        if getattr(request, "by_plain_cookie", False) and not _was_just_adopted(request, found):
            return None
        return found
    made = adopt_session(user_id, str(session.session_key), **_origin(request))
    if made is None:
        return None
    session[SIGN_IN] = str(made.pk)
    return find_open(made.pk, user_id)


def _was_just_adopted(request: HttpRequest, found: OpenSignIn | None) -> bool:
    """Return whether another request of the same browser, sent at once, recorded the session."""
    if found is None or found.row.pk != adopted_id(str(request.session.session_key)):
        return False
    return found.row.began_at > database_clock.now() - _SENT_AT_ONCE


def _view_name(request: HttpRequest) -> str:
    return request.resolver_match.view_name if request.resolver_match else ""


def _origin(request: HttpRequest) -> dict[str, Any]:
    agent = str(request.META.get("HTTP_USER_AGENT", ""))
    return {"address": client_address(request), "user_agent": agent}


def note_sign_in(sender: object, request: HttpRequest, user: Any, **_: object) -> None:
    """Record a session that begins; it takes the place of the browser's earlier one."""
    if SIGN_IN in request.session:
        sign_out(user.pk, request.session[SIGN_IN])
    by_factor = bool(getattr(request, "gave_code", False))
    proof = getattr(request, "first_proof", None)
    with transaction.atomic():
        if proof is not None and proof.identity_id is not None:
            hold_identity(proof.identity_id, user.pk)
        made = begin_sign_in(
            user.pk,
            by_factor=by_factor,
            method=proof.method if proof else "",
            sign_in_id=proof.sign_in_id if proof else None,
            **_origin(request),
        )
    request.session[SIGN_IN] = str(made.pk)


def note_sign_out(sender: object, request: HttpRequest, user: Any, **_: object) -> None:
    """End the session whose person leaves."""
    if user is not None and SIGN_IN in request.session:
        sign_out(user.pk, request.session[SIGN_IN])


def connect() -> None:
    """Record the sessions that Django begins and ends."""
    user_logged_in.connect(note_sign_in, dispatch_uid="punctual.note_sign_in")
    user_logged_out.connect(note_sign_out, dispatch_uid="punctual.note_sign_out")
