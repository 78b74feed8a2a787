"""The proof that a person gives again before they change how they sign in: password or code.

A session that was left open, or stolen, must not be enough to take over the account.
"""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest

from dashboard.sign_in_guard import began_at
from dashboard.throttle import CODE, account_name, forget_failures, is_refused, note_failure
from shared import database_clock
from shared.client_address import counted_address
from shared.exceptions import FieldError, InvalidInput
from shared.request_actor import actor_of
from tenants.services.second_factors import take_code

#: An account without a password has no other proof than a sign-in of lately.
FRESH = timedelta(minutes=15)
_LONGEST = 4096
_WAIT = "Too many failed tries. Wait five minutes."


def require_password(request: HttpRequest) -> None:
    """Raise InvalidInput unless the form has the present password; guessing is slowed down.

    Of an account without a password the session must have begun within 15 minutes.
    """
    user = cast(User, request.user)
    if not user.has_usable_password():
        begun = began_at(request)
        if begun is None or begun < database_clock.now() - FRESH:
            raise _refused("present_password", "Sign in again by a new one-time link first.")
        return
    subject = (account_name(user.get_username()), counted_address(request))
    if is_refused(*subject):
        raise _refused("present_password", _WAIT)
    typed = request.POST.get("present_password", "")
    if len(typed) > _LONGEST or not user.check_password(typed):
        note_failure(*subject)
        raise _refused("present_password", "The present password is wrong.")
    forget_failures(*subject)


def require_code(request: HttpRequest) -> None:
    """Raise InvalidInput unless the form has a code of the second factor, which is used up."""
    user = cast(User, request.user)
    subject = (str(user.pk), counted_address(request), CODE)
    if is_refused(*subject):
        raise _refused("code", _WAIT)
    code = request.POST.get("code", "")
    if not take_code(user.pk, code, actor=actor_of(request, f"user:{user.pk}")):
        note_failure(*subject)
        raise _refused("code", "That code is wrong, or was used already.")
    forget_failures(*subject)


def _refused(field: str, message: str) -> InvalidInput:
    return InvalidInput([FieldError(f"#/{field}", "invalid", message)], message)
