"""The one-time login link that ``up`` prints: no installation has a default password.

The token is Django's own of password resets. It expires, and it covers the user's last login, so
the first use invalidates it.
"""

from __future__ import annotations

from django.contrib.auth import get_user_model, login
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

_BACKEND = "django.contrib.auth.backends.ModelBackend"


def login_path(user: User) -> str:
    """Return the path that logs the user in once."""
    token = default_token_generator.make_token(user)
    return reverse("one-time-login", args=[user.pk, token])


@require_GET
@never_cache
def one_time_login(request: HttpRequest, user_id: int, token: str) -> HttpResponse:
    """Log in and open the console; a used, expired or made-up link leads to the login page."""
    user = get_user_model().objects.filter(pk=user_id, is_active=True).first()
    if user is None or not default_token_generator.check_token(user, token):
        return redirect("dashboard:login")
    login(request, user, backend=_BACKEND)
    return redirect("dashboard:overview")
