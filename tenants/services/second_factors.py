"""The second factor of an account: enrol, confirm, take codes, remove, reset.

A code of the app is valid in its 30 seconds and the ones before and after, and once: the step of
the last accepted code is written by compare-and-set. Wrong codes are counted in the row, so that
they are limited while Redis is away, too, and from all addresses together.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import timedelta
from uuid import UUID

import pyotp
from django.db import transaction
from django.db.models import F

from events import audit
from shared import database_clock, tenant_scope
from shared.actor import Actor
from shared.encryption import open_sealed, seal
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound
from shared.sealing_contexts import second_factor_context
from shared.tenant_scope import Purpose
from tenants.choices import SignInEnd
from tenants.models import Membership, RecoveryCode, SecondFactor, SignIn
from tenants.services.sign_ins import end_sign_ins

ISSUER = "Punctual"
RECOVERY_CODES = 10
#: An enrolment that is not confirmed within this time begins anew.
ENROLMENT_LASTS = timedelta(minutes=30)
#: Wrong codes of an account within TRIES_WINDOW after which all codes are refused.
MOST_TRIES = 50
TRIES_WINDOW = timedelta(hours=1)
_STEP_SECONDS = 30
_DIGITS = 6
#: 80 bits: too many to guess, so that a plain hash keeps them.
_CODE_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
_CODE_LENGTH = 16
_LONGEST_TYPED = 64


def has_second_factor(user_id: int) -> bool:
    """Return whether sign-in asks this person for a code."""
    return SecondFactor.objects.filter(user_id=user_id, confirmed_at__isnull=False).exists()


def is_required(user_id: int) -> bool:
    """Return whether a tenant of this person requires a second factor."""
    with tenant_scope.across(Purpose.SIGN_IN):
        return Membership.objects.filter(
            user_id=user_id, tenant__second_factor_required=True, tenant__suspended_at=None
        ).exists()


@transaction.atomic
def begin_second_factor(user_id: int) -> None:
    """Make a secret, in place of one that was not confirmed; raise Conflict beside a confirmed one.

    Nothing asks for its codes until :func:`confirm_second_factor`.
    """
    sealed = seal(pyotp.random_base32().encode(), second_factor_context(user_id))
    row = SecondFactor(user_id=user_id, sealed_secret=sealed)
    SecondFactor.objects.bulk_create([row], ignore_conflicts=True)
    unconfirmed = SecondFactor.objects.filter(user_id=user_id, confirmed_at=None)
    if not unconfirmed.update(sealed_secret=sealed, created_at=database_clock.now()):
        raise Conflict("This account has a second factor already. Remove it first.")


def pending_secret(user_id: int) -> str | None:
    """Return the secret that waits for its first code; None where there is none or it is old."""
    row = _pending(user_id)
    return None if row is None else _secret_of(row)


def enrolment_uri(secret: str, account: str) -> str:
    """Return the address that an authenticator app reads from a QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=account, issuer_name=ISSUER)


def confirm_second_factor(
    user_id: int, code: str, sign_in_id: UUID | None, *, actor: Actor, at: float | None = None
) -> list[str]:
    """Turn the second factor on by a first code; return the recovery codes, shown this once.

    All other sessions of the person end: they began without a code.

    Raise NotFound where none waits, and InvalidInput for a wrong code.
    """
    row = _pending(user_id)
    if row is None:
        raise NotFound("No second factor waits for its first code. Begin again.")
    _take_try(user_id)
    step = _step_of(_secret_of(row), code, database_clock.now().timestamp() if at is None else at)
    if step is None:
        raise _wrong_code()
    with transaction.atomic():
        # The secret decides a race: another session may have begun anew meanwhile.
        waiting = SecondFactor.objects.filter(
            user_id=user_id, confirmed_at=None, sealed_secret=row.sealed_secret
        )
        if not waiting.update(confirmed_at=database_clock.now(), last_step=step, tries=0):
            raise Conflict("Another session has begun or ended this meanwhile. Begin again.")
        codes = _new_recovery_codes(user_id)
        _record(user_id, "user.second_factor_enrolled", actor)
        if sign_in_id is not None:
            SignIn.objects.filter(pk=sign_in_id, user_id=user_id).update(by_factor=True)
        end_sign_ins(user_id, SignInEnd.FACTOR, actor=actor, but=sign_in_id)
    return codes


def take_code(user_id: int, code: str, *, actor: Actor, at: float | None = None) -> bool:
    """Return whether the code is valid, and use it up: one of the app, or a recovery code.

    Raise InvalidInput (``too_many_tries``) once the account has had MOST_TRIES wrong codes.
    """
    row = SecondFactor.objects.filter(user_id=user_id, confirmed_at__isnull=False).first()
    if row is None:
        return False
    _take_try(user_id)
    typed = "".join(code[:_LONGEST_TYPED].split()).replace("-", "").lower()
    if len(typed) == _DIGITS:
        taken = _take_step(row, typed, database_clock.now().timestamp() if at is None else at)
    else:
        taken = _take_recovery_code(user_id, typed, actor)
    if taken:
        SecondFactor.objects.filter(user_id=user_id).update(tries=0)
    return taken


@transaction.atomic
def renew_recovery_codes(user_id: int, *, actor: Actor) -> list[str]:
    """Replace the recovery codes; return the new ones. Raise NotFound without a second factor."""
    _locked(user_id)
    codes = _new_recovery_codes(user_id)
    _record(user_id, "user.recovery_codes_renewed", actor)
    return codes


def unused_recovery_codes(user_id: int) -> int:
    """Return how many recovery codes are left."""
    return RecoveryCode.objects.filter(factor_id=user_id, used_at=None).count()


@transaction.atomic
def remove_second_factor(user_id: int, *, actor: Actor) -> None:
    """Remove the person's own second factor.

    Raise NotFound where there is none, and Conflict where a tenant of theirs requires one.
    """
    row = _locked(user_id)
    if is_required(user_id):
        raise Conflict(
            "A tenant of yours requires a second factor. To use another device, ask the operator "
            "of this installation to reset it."
        )
    row.delete()
    _record(user_id, "user.second_factor_removed", actor)


@transaction.atomic
def reset_second_factor(user_id: int, *, actor: Actor) -> int:
    """Remove the second factor of a person who is locked out, and end all their sessions.

    Return how many sessions ended; raise NotFound where there is no second factor.
    """
    _locked(user_id).delete()
    _record(user_id, "user.second_factor_reset", actor)
    return end_sign_ins(user_id, SignInEnd.FACTOR, actor=actor)


def _pending(user_id: int) -> SecondFactor | None:
    since = database_clock.now() - ENROLMENT_LASTS
    rows = SecondFactor.objects.filter(user_id=user_id, confirmed_at=None, created_at__gt=since)
    return rows.first()


def _locked(user_id: int) -> SecondFactor:
    rows = SecondFactor.objects.select_for_update().filter(user_id=user_id)
    row = rows.filter(confirmed_at__isnull=False).first()
    if row is None:
        raise NotFound("This account has no second factor.")
    return row


def _secret_of(row: SecondFactor) -> str:
    return open_sealed(row.sealed_secret, second_factor_context(row.user_id)).decode()


def _take_try(user_id: int) -> None:
    """Count a try before it is judged, so that many at once are no more than allowed."""
    now = database_clock.now()
    rows = SecondFactor.objects.filter(user_id=user_id)
    rows.filter(tries_since__lt=now - TRIES_WINDOW).update(tries=0, tries_since=now)
    if not rows.filter(tries__lt=MOST_TRIES).update(tries=F("tries") + 1):
        message = "Too many wrong codes of this account. Try again in an hour."
        raise InvalidInput([FieldError("#/code", "too_many_tries", message)], message)


def _step_of(secret: str, code: str, at: float) -> int | None:
    """Return the time step that the code belongs to: this one, the one before or after."""
    typed = "".join(code[:_LONGEST_TYPED].split())
    totp, now = pyotp.TOTP(secret), int(at // _STEP_SECONDS)
    found = None
    for step in (now - 1, now, now + 1):
        if hmac.compare_digest(totp.generate_otp(step).encode(), typed.encode(errors="replace")):
            found = step
    return found


def _take_step(row: SecondFactor, typed: str, at: float) -> bool:
    step = _step_of(_secret_of(row), typed, at)
    if step is None:
        return False
    later = SecondFactor.objects.filter(
        user_id=row.user_id, last_step__lt=step, sealed_secret=row.sealed_secret
    )
    return bool(later.update(last_step=step))


def _take_recovery_code(user_id: int, typed: str, actor: Actor) -> bool:
    with transaction.atomic():
        unused = RecoveryCode.objects.filter(
            factor_id=user_id, code_hash=_hash(user_id, typed), used_at=None
        )
        taken = bool(unused.update(used_at=database_clock.now()))
        if taken:
            _record(user_id, "user.recovery_code_used", actor)
    return taken


def _new_recovery_codes(user_id: int) -> list[str]:
    RecoveryCode.objects.filter(factor_id=user_id).delete()
    codes = [
        "".join(secrets.choice(_CODE_LETTERS) for _ in range(_CODE_LENGTH))
        for _ in range(RECOVERY_CODES)
    ]
    RecoveryCode.objects.bulk_create(
        RecoveryCode(factor_id=user_id, code_hash=_hash(user_id, code)) for code in codes
    )
    return ["-".join(code[place : place + 4] for place in range(0, 16, 4)) for code in codes]


def _hash(user_id: int, code: str) -> bytes:
    return hashlib.sha256(f"recovery:{user_id}:{code}".encode(errors="replace")).digest()


def _wrong_code() -> InvalidInput:
    message = "That code is wrong or was used. Wait for the next one, and check the phone's clock."
    return InvalidInput([FieldError("#/code", "invalid", message)], message)


def _record(user_id: int, action: str, actor: Actor) -> None:
    audit.record(audit.INSTALLATION, actor, action, "user", str(user_id))
