"""The person's own second factor: enrol by QR code, recovery codes, remove."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import segno
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_POST

from dashboard.access import own_page
from dashboard.own_proof import require_code, require_password
from dashboard.sign_in_guard import must_enrol, sign_in_id
from dashboard.views.account import answer_own, own_actor
from shared.exceptions import PunctualError
from tenants.services.second_factors import (
    begin_second_factor,
    confirm_second_factor,
    enrolment_uri,
    has_second_factor,
    is_required,
    pending_secret,
    remove_second_factor,
    renew_recovery_codes,
    unused_recovery_codes,
)

_PLACE = "dashboard:second_factor"
#: Where the session that gave the password notes that it may see the secret.
_BEGAN = "began_second_factor"


@own_page
def second_factor(request: HttpRequest) -> HttpResponse:
    """Show the second factor, or what is next to set one up."""
    user = cast(User, request.user)
    on = has_second_factor(user.pk)
    secret = pending_secret(user.pk) if not on and _BEGAN in request.session else None
    return render(
        request,
        "dashboard/second_factor.html",
        {
            "has_password": user.has_usable_password(),
            "has_factor": on,
            "factor_required": is_required(user.pk),
            "must_enrol": must_enrol(request),
            "codes_left": unused_recovery_codes(user.pk) if on else 0,
            "secret": secret and " ".join(secret[i : i + 4] for i in range(0, len(secret), 4)),
            "picture": secret and _picture(enrolment_uri(secret, user.get_username())),
        },
    )


@require_POST
@own_page
def begin(request: HttpRequest) -> HttpResponse:
    """Make a secret for the app, for a person who gives the password."""

    def run() -> str:
        require_password(request)
        begin_second_factor(cast(User, request.user).pk)
        # A copy of the cookie from before sees no secret; nor does another session.
        request.session.cycle_key()
        request.session[_BEGAN] = True
        return "Scan the picture, then type the code that your app shows."

    return answer_own(request, run, _PLACE)


@require_POST
@own_page
def confirm(request: HttpRequest) -> HttpResponse:
    """Turn the second factor on by password and first code, and show the recovery codes.

    The password is asked for anew: a session that was stolen since the begin finishes nothing.
    """

    def run() -> list[str]:
        require_password(request)
        user_id, code = cast(User, request.user).pk, request.POST.get("code", "")
        made = confirm_second_factor(user_id, code, sign_in_id(request), actor=own_actor(request))
        request.session.pop(_BEGAN, None)
        request.session.cycle_key()
        return made

    return _with_codes(request, run)


@require_POST
@own_page
def renew_codes(request: HttpRequest) -> HttpResponse:
    """Replace the recovery codes and show the new ones, to a person who gives a code."""

    def run() -> list[str]:
        require_code(request)
        return renew_recovery_codes(cast(User, request.user).pk, actor=own_actor(request))

    return _with_codes(request, run)


@require_POST
@own_page
def remove(request: HttpRequest) -> HttpResponse:
    """Remove the second factor, for a person who gives password and code."""

    def run() -> str:
        require_password(request)
        require_code(request)
        remove_second_factor(cast(User, request.user).pk, actor=own_actor(request))
        request.session.cycle_key()
        return "The second factor is removed. Sign-in asks for the password only."

    return answer_own(request, run, _PLACE)


def _with_codes(request: HttpRequest, run: Callable[[], list[str]]) -> HttpResponse:
    """Show recovery codes on the answer itself: no redirect, and no store keeps them."""
    try:
        codes = run()
    except PunctualError as error:
        messages.error(request, error.message)
        return redirect(_PLACE)
    return render(request, "dashboard/recovery_codes.html", {"codes": codes})


def _picture(uri: str) -> SafeString:
    picture = segno.make(uri, error="m")
    svg = picture.svg_inline(scale=5, border=4, dark="#000", light="#fff", title="QR code")
    return mark_safe(svg)  # noqa: S308 - drawn here; of the address it holds squares only
