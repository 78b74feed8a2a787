"""The acceptance of an invitation: with the account of its address, or with a new one.

The link of the message puts its token into a cookie and leads to an address without it. So the
token is in no other request, no referrer and no form; opening the link changes nothing.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from dashboard.pending_sign_in import FirstProof, sign_in
from shared import tenant_scope
from shared.exceptions import FieldError, InvalidInput, NotFound, PunctualError
from shared.request_actor import actor_of
from tenants.choices import SignInMethod
from tenants.models import Invitation
from tenants.services.acceptance import (
    accept_invitation,
    accounts_for,
    is_for,
    join_by_invitation,
)
from tenants.services.invitations import ENDED, find_invitation, is_token
from tenants.suspension import TenantSuspended

COOKIE = "punctual_invitation"
_PATH = "/invitations"
_COOKIE_SECONDS = 3600


@require_GET
@never_cache
def open_link(request: HttpRequest, token: str) -> HttpResponse:
    """Keep the token for the page that accepts, and go there."""
    if not is_token(token):
        return _refused(request, NotFound(ENDED))
    answer = redirect("dashboard:invitation")
    answer.set_cookie(
        COOKIE,
        token,
        max_age=_COOKIE_SECONDS,
        path=_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return _private(answer)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest) -> HttpResponse:
    """Show the tenant and the role that are offered; on POST accept them."""
    token = request.COOKIES.get(COOKIE, "")
    try:
        found = find_invitation(token)
        tenant_scope.enter(found.tenant_id)
        if found.tenant.suspended_at is not None:
            raise TenantSuspended
        if request.method == "POST":
            return _accept(request, token, found)
    except PunctualError as error:
        return _refused(request, error)
    return _page(request, found)


def _accept(request: HttpRequest, token: str, found: Invitation) -> HttpResponse:
    try:
        user = _accepted(request, token)
    except InvalidInput as error:
        return _page(request, found, error=" ".join(item.message for item in error.errors))
    if not request.user.is_authenticated:
        sign_in(request, user, FirstProof(SignInMethod.INVITATION))
    request.session["tenant_id"] = str(found.tenant_id)
    messages.success(request, f"You are a member of {found.tenant.name} now.")
    answer = redirect("dashboard:overview")
    answer.delete_cookie(COOKIE, path=_PATH)
    return _private(answer)


def _accepted(request: HttpRequest, token: str) -> User:
    """Accept, and return the account that is a member now."""
    if request.user.is_authenticated:
        user = request.user
        with transaction.atomic(durable=True):
            accept_invitation(token, user, actor=actor_of(request, f"user:{user.pk}"))
        return user
    password = request.POST.get("password", "")
    if password != request.POST.get("password_again", ""):
        message = "The two passwords differ."
        raise InvalidInput([FieldError("#/password_again", "differs", message)], message)
    caller = actor_of(request, "")
    return join_by_invitation(token, password, address=caller.address, trace_id=caller.trace_id)


def _page(request: HttpRequest, found: Invitation, error: str = "") -> HttpResponse:
    user = request.user
    context: dict[str, Any] = {
        "invitation": found,
        "error": error,
        "is_own": user.is_authenticated and is_for(found, user),
        "has_account": accounts_for(found).exists(),
        "sign_in": f"{reverse('dashboard:login')}?next={reverse('dashboard:invitation')}",
    }
    status = 400 if error else 200
    return _private(render(request, "dashboard/invitation.html", context, status=status))


def _refused(request: HttpRequest, error: PunctualError) -> HttpResponse:
    title = "This invitation is not valid" if isinstance(error, NotFound) else "Not accepted"
    context = {"title": title, "detail": error.message}
    return _private(
        render(request, "dashboard/invitation_refused.html", context, status=error.status)
    )


def _private(answer: HttpResponse) -> HttpResponse:
    # The link's address has the token: no page that follows may get it as referrer.
    answer["Referrer-Policy"] = "strict-origin"
    return answer
