"""Sessions of people: begin, find, list and end them.

A session ends when it is unused for SESSION_IDLE_SECONDS, at the age of SESSION_SECONDS, or when a
person or an operator ends it. Open pages follow each end (:data:`ended`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from events import audit
from shared import database_clock, tenant_scope
from shared.actor import Actor
from shared.exceptions import Conflict, NotFound
from shared.followers import Followers
from shared.tenant_scope import Purpose
from tenants.choices import SignInEnd, SignInMethod
from tenants.models import Identity, Membership, SecondFactor, SignIn

#: Where a session keeps the id of its row.
SIGN_IN = "sign_in"
#: Sessions of a person at once; a further one ends the one unused for the longest time.
MOST_SESSIONS = 50
#: The use of a session is written at most this often.
SEEN_EVERY = timedelta(minutes=5)
#: Ended sessions are deleted after this time.
KEPT = timedelta(days=30)
#: Expired sessions that one sign-in deletes.
_SWEPT = 100
#: Ends after which a session from before the upgrade to a table of sessions is refused, too.
_ENDS_OF_OTHERS = (SignInEnd.ENDED, SignInEnd.PASSWORD, SignInEnd.FACTOR)

#: Told the ids of sessions that have ended.
ended: Followers[Sequence[UUID]] = Followers()


@dataclass(frozen=True, slots=True)
class OpenSignIn:
    """An open session and what decides on its rights."""

    row: SignIn
    #: Whether the person has a second factor, which this session has passed.
    has_factor: bool
    #: Whether a tenant of theirs requires one.
    needs_factor: bool

    @property
    def must_enrol(self) -> bool:
        """Whether the session may do nothing but set up a second factor."""
        by_provider = self.row.method == SignInMethod.OIDC_MFA
        return self.needs_factor and not self.has_factor and not by_provider


@transaction.atomic
def begin_sign_in(
    user_id: int,
    *,
    address: str,
    user_agent: str,
    by_factor: bool = False,
    method: str = "",
    sign_in_id: UUID | None = None,
    is_known: bool = False,
) -> SignIn:
    """Record a new session, delete old ended ones, and end the oldest beyond MOST_SESSIONS.

    ``by_factor`` says that a code of the second factor was given, ``method`` what the first proof
    was. A ``sign_in_id`` is made from a proof that counts once: raise Conflict where the session is
    there; unless it ``is_known`` that it may be.
    """
    now = database_clock.now()
    rows = SignIn.objects.filter(user_id=user_id)
    rows.filter(Q(ended_at__lt=now - KEPT) | Q(began_at__lt=now - _longest() - KEPT)).delete()
    made = SignIn(user_id=user_id, address=address[:45], user_agent=_storable(user_agent))
    made.began_at = made.seen_at = now
    made.by_factor, made.method = by_factor, method
    if sign_in_id is not None:
        made.id = sign_in_id
    sweep_sessions()
    try:
        with transaction.atomic():
            SignIn.objects.bulk_create([made], ignore_conflicts=is_known)
    except IntegrityError as error:
        raise _used() from error
    beyond = _open(user_id, now).order_by("-seen_at", "-id").values_list("pk", flat=True)
    _end(rows.filter(pk__in=list(beyond[MOST_SESSIONS:])), SignInEnd.REPLACED, now)
    return made


def hold_identity(identity_id: int, user_id: int) -> None:
    """Keep an identity from being unlinked until this transaction ends.

    Raise Conflict where it has been: no session may begin by it any more.
    """
    rows = Identity.objects.select_for_update(no_key=True)
    if rows.filter(pk=identity_id, user_id=user_id).first() is None:
        raise _unlinked()


def refuse_unlinked(identity_id: int, user_id: int) -> None:
    """Raise Conflict where the identity signs in to the account no longer.

    Asked before anything tells of a sign-in; :func:`hold_identity` decides the race.
    """
    if not Identity.objects.filter(pk=identity_id, user_id=user_id).exists():
        raise _unlinked()


def _unlinked() -> Conflict:
    return Conflict("This identity has just been unlinked. Begin again.", code="unlinked")


def refuse_used(sign_in_id: UUID) -> None:
    """Raise Conflict where the session of a proof that counts once is there.

    Asked before anything tells of a sign-in; of two at once :func:`begin_sign_in` refuses one.
    """
    if SignIn.objects.filter(pk=sign_in_id).exists():
        raise _used()


def _used() -> Conflict:
    return Conflict("This sign-in was used already. Begin again.", code="used")


def adopt_session(
    user_id: int, session_key: str, *, address: str, user_agent: str
) -> SignIn | None:
    """Record a session from before sessions were recorded; None where it may not go on.

    Requests of one session at once make one row: its id is made from the session's.
    """
    if not may_adopt(user_id):
        return None
    made_id = adopted_id(session_key)
    return begin_sign_in(
        user_id, address=address, user_agent=user_agent, sign_in_id=made_id, is_known=True
    )


def adopted_id(session_key: str) -> UUID:
    """Return the id of the row that :func:`adopt_session` makes for this session."""
    return UUID(bytes=hashlib.sha256(f"sign-in:{session_key}".encode()).digest()[:16])


def may_adopt(user_id: int) -> bool:
    """Return whether an unrecorded session may go on: none of the person's was ended by force."""
    forced = SignIn.objects.filter(user_id=user_id, ended_by__in=_ENDS_OF_OTHERS).exists()
    return not forced and not _factor_of(user_id).exists()


def find_open(sign_in_id: object, user_id: int) -> OpenSignIn | None:
    """Return the person's session if it is open, and what decides on its rights.

    A session that began without a code is not open once the person has a second factor: that
    closes the race of a sign-in with an enrolment.
    """
    try:
        key = UUID(str(sign_in_id))
    except ValueError:
        return None
    needs = Membership.objects.filter(
        user_id=OuterRef("user_id"),
        tenant__suspended_at=None,
        tenant__second_factor_required=True,
    )
    rows = SignIn.objects.filter(_is_open(database_clock.now()), pk=key, user_id=user_id)
    with tenant_scope.across(Purpose.SIGN_IN):
        found: Any = rows.annotate(
            has_factor=Exists(_factor_of(OuterRef("user_id"))), needs_factor=Exists(needs)
        ).first()
    if found is None or (found.has_factor and not found.by_factor):
        return None
    return OpenSignIn(found, found.has_factor, found.needs_factor)


def note_use(sign_in: SignIn) -> None:
    """Note that the session was used, unless that was noted lately."""
    now = database_clock.now()
    if sign_in.seen_at < now - SEEN_EVERY:
        # Asked again in the statement: of many requests at once, one writes.
        stale = SignIn.objects.filter(pk=sign_in.pk, ended_at=None, seen_at__lt=now - SEEN_EVERY)
        stale.update(seen_at=now)


def list_sign_ins(user_id: int) -> list[SignIn]:
    """Return the person's open sessions, those used last first."""
    return list(_open(user_id, database_clock.now()).order_by("-seen_at", "-id")[:MOST_SESSIONS])


@transaction.atomic
def end_sign_in(user_id: int, sign_in_id: UUID, *, actor: Actor) -> None:
    """End one session; raise NotFound where the person has no such open one."""
    if not _end(SignIn.objects.filter(user_id=user_id, pk=sign_in_id), SignInEnd.ENDED):
        raise NotFound("There is no such session, or it has ended.")
    _record(user_id, 1, SignInEnd.ENDED, actor)


@transaction.atomic
def end_sign_ins(
    user_id: int, why: str, *, actor: Actor, but: UUID | None = None, always: bool = False
) -> int:
    """End the person's sessions, ``but`` one; return how many were open.

    Unrecorded sessions from before the upgrade end, too: a row marks the end of all.
    """
    rows = SignIn.objects.filter(user_id=user_id)
    ended = _end(rows.exclude(pk=but) if but else rows, why)
    if not ended and not rows.filter(ended_by__in=_ENDS_OF_OTHERS).exists():
        now = database_clock.now()
        SignIn.objects.create(
            user_id=user_id, began_at=now, seen_at=now, ended_at=now, ended_by=why
        )
    if ended or always:
        _record(user_id, ended, why, actor)
    return ended


def end_sign_ins_by_provider(user_id: int, *, actor: Actor, but: UUID | None = None) -> int:
    """End the person's sessions that began by a provider, ``but`` one; return how many were open.

    In the caller's transaction.
    """
    methods = (SignInMethod.OIDC, SignInMethod.OIDC_MFA)
    rows = SignIn.objects.filter(user_id=user_id, method__in=methods)
    count = _end(rows.exclude(pk=but) if but else rows, SignInEnd.ENDED)
    if count:
        _record(user_id, count, SignInEnd.ENDED, actor)
    return count


def sign_out(user_id: int, sign_in_id: object) -> None:
    """End a session because its person leaves; one that is not there is left alone."""
    try:
        key = UUID(str(sign_in_id))
    except ValueError:
        return
    with transaction.atomic():
        _end(SignIn.objects.filter(user_id=user_id, pk=key), SignInEnd.SIGNED_OUT)


def _end(rows: QuerySet[SignIn], why: str, now: datetime | None = None) -> int:
    """End those rows that are open; the race of two ends is decided by the statement."""
    still = rows.filter(ended_at=None)
    locked = still.order_by("pk").select_for_update(no_key=True)
    ids = list(locked.values_list("pk", flat=True))
    if not ids:
        return 0
    SignIn.objects.filter(pk__in=ids).update(ended_at=now or database_clock.now(), ended_by=why)
    ended.tell(ids)
    return len(ids)


def sweep_sessions() -> None:
    """Delete some expired sessions; called wherever one is made, so that they do not pile up."""
    expired = Session.objects.filter(expire_date__lt=database_clock.now()).values_list(
        "pk", flat=True
    )
    Session.objects.filter(pk__in=list(expired[:_SWEPT])).delete()


def _record(user_id: int, count: int, why: str, actor: Actor) -> None:
    after = {"sessions": count, "reason": str(why)}
    audit.record(
        audit.INSTALLATION, actor, "user.sessions_ended", "user", str(user_id), after=after
    )


def _open(user_id: int, now: datetime) -> QuerySet[SignIn]:
    return SignIn.objects.filter(_is_open(now), user_id=user_id)


def _is_open(now: datetime) -> Q:
    idle = timedelta(seconds=settings.SESSION_IDLE_SECONDS)
    return Q(ended_at=None, seen_at__gt=now - idle, began_at__gt=now - _longest())


def _longest() -> timedelta:
    return timedelta(seconds=settings.SESSION_COOKIE_AGE)


def _factor_of(user_id: Any) -> QuerySet[SecondFactor]:
    return SecondFactor.objects.filter(user_id=user_id, confirmed_at__isnull=False)


def _storable(text: str) -> str:
    return "".join(letter for letter in text[:300] if letter.isprintable())
