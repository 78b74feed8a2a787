"""Checks of the settings that ``manage.py check`` makes, and the web process before it listens."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error

TOKENS = "tokens"


def jwt_issuers(app_configs: Any = None, **options: Any) -> list[CheckMessage]:
    """Report a JWT_ISSUERS that cannot be used."""
    problem = settings.JWT_ISSUERS_PROBLEM
    if not problem:
        return []
    hint = "See docs/howto/sign-in-services-with-jwt.md, or empty the variable to take no tokens."
    return [Error(problem, hint=hint, id="punctual.E001")]


def oidc_providers(app_configs: Any = None, **options: Any) -> list[CheckMessage]:
    """Report an OIDC_PROVIDERS that cannot be used, and one without the packages of the extra."""
    hint = "See docs/howto/sign-in-people-by-oidc.md, or empty the variable to use passwords alone."
    problem = settings.OIDC_PROVIDERS_PROBLEM
    if not problem and settings.OIDC_PROVIDERS and find_spec("authlib") is None:
        problem = "OIDC_PROVIDERS: the packages of the extra `oidc` are not installed."
        hint = "Install them: make setup-oidc, or requirements-oidc.lock as UPGRADING.md says."
    return [Error(problem, hint=hint, id="punctual.E002")] if problem else []
