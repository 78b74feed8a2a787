"""One sign-in between its begin and the provider's answer, kept in a cookie of the browser.

The cookie is signed and lives for ten minutes; no row is made before a provider has spoken for the
person. It ties the answer to the browser that began (``state``), the ID token to this sign-in
(``nonce``) and the code to its redeemer (PKCE).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

LASTS_SECONDS = 600
_SALT = "punctual.oidc"
_BYTES = 32


@dataclass(frozen=True, slots=True)
class Flow:
    """What a sign-in has sent, and where it leads."""

    provider: str
    state: str
    nonce: str
    verifier: str
    next: str

    @property
    def sign_in_id(self) -> UUID:
        """The id of the one session that the sign-in makes: a second use meets it."""
        return UUID(bytes=hashlib.sha256(f"oidc:{self.state}".encode()).digest()[:16])


def begin_flow(provider: str, next_path: str) -> Flow:
    """Return a sign-in whose parts cannot be guessed."""
    state, nonce, verifier = (secrets.token_urlsafe(_BYTES) for _ in range(3))
    return Flow(provider, state, nonce, verifier, next_path)


def keep_flow(answer: HttpResponse, flow: Flow) -> None:
    """Give the sign-in to the browser; an earlier one of the browser ends."""
    answer.set_cookie(
        cookie_name(),
        signing.dumps(asdict(flow), salt=_SALT),
        max_age=LASTS_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        # Sent with the provider's redirect, which comes from another site.
        samesite="Lax",
    )


def forget_flow(answer: HttpResponse) -> None:
    """Take the sign-in from the browser."""
    answer.delete_cookie(cookie_name(), samesite="Lax")


def kept_flow(request: HttpRequest, provider: str, state: str) -> Flow | None:
    """Return the browser's sign-in with this provider and state; None where it has none."""
    try:
        kept: Any = signing.loads(
            request.COOKIES.get(cookie_name(), ""), salt=_SALT, max_age=LASTS_SECONDS
        )
        flow = Flow(**kept)
    except (signing.BadSignature, TypeError):
        return None
    # A provider that answers in the name of another one gets no code of that one redeemed.
    is_own = flow.provider == provider and hmac.compare_digest(
        flow.state.encode(), state.encode(errors="replace")
    )
    return flow if is_own else None


def cookie_name() -> str:
    """Return the name, with the prefix that binds it to this host where cookies are secure."""
    return ("__Host-" if settings.SESSION_COOKIE_SECURE else "") + "oidc"
