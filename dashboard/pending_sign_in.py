"""A sign-in between its first proof (see :class:`FirstProof`) and the code of the second factor.

The session of the browser holds whose it is and nothing else: until the code is right no person is
signed in, on any page. It ends after five minutes, with a change of the password, and when the
identity by which it began is unlinked.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth import get_user_model, login
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

from shared import database_clock
from shared.exceptions import Conflict
from tenants.choices import SignInMethod
from tenants.services.identities import is_linked
from tenants.services.second_factors import has_second_factor
from tenants.services.sign_ins import refuse_unlinked, refuse_used, sweep_sessions

SECONDS = 300
_KEY = "pending_sign_in"
_BACKEND = "django.contrib.auth.backends.ModelBackend"


@dataclass(frozen=True, slots=True)
class FirstProof:
    """By what a sign-in began; a proof that counts once makes one session, under its id."""

    method: SignInMethod
    sign_in_id: UUID | None = None
    #: The identity at a provider, which must still be linked when the session begins.
    identity_id: int | None = None

    @property
    def counts_twice(self) -> bool:
        """Whether it takes the place of the second factor, too."""
        return self.method == SignInMethod.OIDC_MFA


PASSWORD = FirstProof(SignInMethod.PASSWORD)


def sign_in(request: HttpRequest, user: User, proof: FirstProof = PASSWORD) -> bool:
    """Sign in a person who has given the first proof; return False where a code is still needed.

    Raise Conflict for a proof that was used.
    """
    if proof.counts_twice or not has_second_factor(user.pk):
        _begin(request, user, proof, by_factor=proof.counts_twice)
        return True
    sweep_sessions()
    # A new id, and nothing of what the browser's session held before.
    request.session.flush()
    request.session[_KEY] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),
        "until": database_clock.now().timestamp() + SECONDS,
        "method": proof.method.value,
        "sign_in": proof.sign_in_id and str(proof.sign_in_id),
        "identity": proof.identity_id,
    }
    request.session.set_expiry(SECONDS)
    return False


def pending_user(request: HttpRequest) -> User | None:
    """Return the person whose code is still needed; None where there is none, or it took long."""
    kept = request.session.get(_KEY)
    if not isinstance(kept, dict) or kept["until"] < database_clock.now().timestamp():
        return None
    user = get_user_model().objects.filter(pk=kept["user"], is_active=True).first()
    if user is None or not constant_time_compare(kept["hash"], user.get_session_auth_hash()):
        return None
    identity = kept.get("identity")
    if identity is not None and not is_linked(identity, user.pk):
        return None
    return user


def complete(request: HttpRequest, user: User) -> None:
    """Sign in a person whose code was right, under a new session; raise Conflict as `sign_in`."""
    kept = request.session[_KEY]
    known = kept.get("sign_in")
    proof = FirstProof(
        SignInMethod(kept.get("method", SignInMethod.PASSWORD)),
        UUID(known) if known else None,
        kept.get("identity"),
    )
    request.session.flush()
    _begin(request, user, proof, by_factor=True)


def _begin(request: HttpRequest, user: User, proof: FirstProof, *, by_factor: bool) -> None:
    # Read where the session is recorded.
    request.first_proof, request.gave_code = proof, by_factor  # type: ignore[attr-defined]  # ours
    try:
        if proof.sign_in_id is not None:
            refuse_used(proof.sign_in_id)
        if proof.identity_id is not None:
            refuse_unlinked(proof.identity_id, user.pk)
        login(request, user, backend=_BACKEND)
    except Conflict:
        request.session.flush()
        request.user = AnonymousUser()
        raise
