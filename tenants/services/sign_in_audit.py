"""The audit of signing in and out: console, admin and one-time links alike, by Django's signals.

A failed try has an entry as the first, tenth and hundredth of a minute for its account and
address, so that guessing cannot fill the log; all accounts that do not exist count as one. The
name that was typed is not kept, because people type passwords there.
"""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed

from events import audit
from shared import request_actor, windowed_counts
from shared.actor import Actor
from shared.client_address import counted_address
from shared.redis_client import ConnectionFailed

log = logging.getLogger(__name__)

_WINDOW_SECONDS = 60
#: Tries of a minute that have an entry.
_NOTED = (1, 10, 100, 1_000, 10_000)
#: Entries of failed tries within a minute, of all accounts and addresses together.
_MOST = 300
_UNKNOWN = "unknown"


def follow_sign_ins() -> None:
    """Record each sign-in, sign-out and failed try from now on."""
    user_logged_in.connect(note_sign_in, dispatch_uid="audit of sign-ins")
    user_logged_out.connect(note_sign_out, dispatch_uid="audit of sign-outs")
    user_login_failed.connect(note_failure, dispatch_uid="audit of failed sign-ins")


def note_sign_in(request: Any, user: User, **_: object) -> None:
    """Record that a person signed in, and by which first proof."""
    if not _is_real(request):
        return
    proof = getattr(request, "first_proof", None)
    way = str(proof.method) if proof is not None else "password"
    _record(request, f"user:{user.pk}", "sign_in.succeeded", str(user.pk), {"by": way})


def note_sign_out(request: Any, user: User | None, **_: object) -> None:
    """Record that a person signed out."""
    if user is not None and _is_real(request):
        _record(request, f"user:{user.pk}", "sign_in.ended", str(user.pk))


def note_failure(credentials: Any, request: Any = None, **_: object) -> None:
    """Record a failed try, if it is one of those that have an entry."""
    if not _is_real(request):
        return
    name = str(credentials.get("username", ""))
    found = User.objects.filter(username=name).values_list("pk", flat=True).first()
    account = _UNKNOWN if found is None else str(found)
    try:
        tries, of_all = windowed_counts.count(
            [f"audit:failed:{counted_address(request)} {account}", "audit:failed"], _WINDOW_SECONDS
        )
    except ConnectionFailed as error:
        # Uncounted tries are in the web server's log only.
        log.warning("failed_sign_in.not_counted", extra={"reason": type(error).__name__})
        return
    if tries in _NOTED and (of_all <= _MOST or of_all in _NOTED):
        _record(request, "anonymous", "sign_in.failed", account, {"tries": tries})


def _is_real(request: Any) -> bool:
    # Tests and programs make sessions without a call.
    return request is not None and request.method is not None


def _record(
    request: Any, actor: str, action: str, account: str, after: dict[str, Any] | None = None
) -> None:
    who: Actor = request_actor.actor_of(request, actor)
    audit.record(audit.INSTALLATION, who, action, "user", account, after=after)
