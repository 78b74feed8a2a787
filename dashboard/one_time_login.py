"""The one-time login link of the first administrator: no installation has a default password.

A link signs in once, within PASSWORD_RESET_TIMEOUT (15 minutes) of its making, and not after a
change of the password. It takes the place of the password only: a second factor is asked for.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth import logout as end_session
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from dashboard.pending_sign_in import FirstProof, sign_in
from dashboard.views.session import ask_for_code
from shared import database_clock
from tenants.choices import SignInMethod


class _LinkTokens(PasswordResetTokenGenerator):
    """Django's tokens, bound to the last login to the microsecond instead of the second."""

    key_salt = "punctual.one_time_login"

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        used = user.last_login and user.last_login.timestamp()
        return f"{super()._make_hash_value(user, timestamp)}{used}"


_tokens = _LinkTokens()


def login_path(user: User) -> str:
    """Return the path that logs the user in once."""
    return reverse("one-time-login", args=[user.pk, _tokens.make_token(user)])


@require_GET
@never_cache
def one_time_login(request: HttpRequest, user_id: int, token: str) -> HttpResponse:
    """Log in and open the console; a used, expired or made-up link leads to the login page."""
    user = get_user_model().objects.filter(pk=user_id, is_active=True).first()
    if user is None or not _tokens.check_token(user, token) or not _use_up(user):
        return redirect("dashboard:login")
    if request.user.is_authenticated:
        end_session(request)
    signed_in = sign_in(request, user, FirstProof(SignInMethod.LINK))
    return redirect("dashboard:overview") if signed_in else ask_for_code()


def _use_up(user: User) -> bool:
    """Return whether this request is the one that uses the link: of two at once, one is."""
    same = get_user_model().objects.filter(
        pk=user.pk, is_active=True, last_login=user.last_login, password=user.password
    )
    now = database_clock.now()
    used = bool(same.update(last_login=now))
    user.last_login = now
    return used
