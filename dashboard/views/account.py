"""A person's own account: the password and the sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from dashboard.access import own_page
from dashboard.device_words import device_words
from dashboard.own_proof import require_password
from dashboard.sign_in_guard import sign_in_id
from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput, PunctualError
from shared.request_actor import actor_of
from tenants.choices import SignInEnd
from tenants.services.accounts import change_password as change
from tenants.services.identities import list_identities
from tenants.services.identities import unlink_identity as unlink
from tenants.services.second_factors import (
    has_second_factor,
    is_required,
    unused_recovery_codes,
)
from tenants.services.sign_ins import end_sign_in, end_sign_ins, list_sign_ins


@own_page
def account(request: HttpRequest) -> HttpResponse:
    """Show the person's password form, second factor and sessions."""
    user = cast(User, request.user)
    here = sign_in_id(request)
    return render(
        request,
        "dashboard/account.html",
        {
            "account": user,
            "has_password": user.has_usable_password(),
            "has_factor": has_second_factor(user.pk),
            "factor_required": is_required(user.pk),
            "codes_left": unused_recovery_codes(user.pk),
            "identities": list_identities(user.pk),
            "sessions": [_shown(one, here) for one in list_sign_ins(user.pk)],
        },
    )


@require_POST
@own_page
def change_password(request: HttpRequest) -> HttpResponse:
    """Change the password; all other sessions end, and this one gets a new id."""

    def run() -> str:
        new = request.POST.get("new_password", "")
        if new != request.POST.get("repeated_password", ""):
            message = "The new password and its repetition differ."
            raise InvalidInput([FieldError("#/repeated_password", "invalid", message)], message)
        require_password(request)
        here = sign_in_id(request)
        user = change(cast(User, request.user), new, but=here, actor=own_actor(request))
        update_session_auth_hash(request, user)
        return "The password is changed. All other sessions have ended."

    return answer_own(request, run, "dashboard:account")


@require_POST
@own_page
def unlink_identity(request: HttpRequest, identity_id: int) -> HttpResponse:
    """Remove one of the person's identities at OpenID providers, for who gives the password."""

    def run() -> str:
        require_password(request)
        user_id, here = cast(User, request.user).pk, sign_in_id(request)
        unlink(user_id, identity_id, but=here, actor=own_actor(request))
        return "The identity is unlinked. It signs in no longer."

    return answer_own(request, run, "dashboard:account")


@require_POST
@own_page
def end_session(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """End one of the person's own sessions."""

    def run() -> str:
        end_sign_in(cast(User, request.user).pk, session_id, actor=own_actor(request))
        return "The session has ended."

    return answer_own(request, run, "dashboard:account")


@require_POST
@own_page
def end_other_sessions(request: HttpRequest) -> HttpResponse:
    """End all sessions of the person but this one."""

    def run() -> str:
        user_id, here = cast(User, request.user).pk, sign_in_id(request)
        ended = end_sign_ins(user_id, SignInEnd.ENDED, but=here, actor=own_actor(request))
        return f"{ended} other session{'' if ended == 1 else 's'} ended."

    return answer_own(request, run, "dashboard:account")


def own_actor(request: HttpRequest) -> Actor:
    """Return the person as the actor of a change of their own account."""
    return actor_of(request, f"user:{cast(User, request.user).pk}")


def answer_own(request: HttpRequest, run: Callable[[], str], place: str) -> HttpResponse:
    """Run a change and lead to the place, with its result or what was wrong.

    A session that is not there, another person's among them, is a page that is not there.
    """
    try:
        messages.success(request, run())
    except PunctualError as error:
        if error.status == 404:
            raise
        messages.error(request, error.message)
    return redirect(place)


def _shown(row: Any, here: UUID | None) -> dict[str, Any]:
    return {
        "id": row.pk,
        "device": device_words(row.user_agent),
        "user_agent": row.user_agent,
        "address": row.address,
        "method": row.get_method_display(),
        "began_at": row.began_at,
        "seen_at": row.seen_at,
        "is_this": row.pk == here,
    }
