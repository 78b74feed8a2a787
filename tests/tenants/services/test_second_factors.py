"""Second factors: each code works once, guesses are counted, secrets are sealed."""

from __future__ import annotations

from datetime import timedelta

import pyotp
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from events.audit import INSTALLATION
from events.models import AuditEntry
from shared.encryption import DecryptionFailed
from shared.exceptions import Conflict, InvalidInput, NotFound
from tenants.models import Membership, RecoveryCode, SecondFactor, Tenant
from tenants.services import second_factors
from tenants.services.second_factors import (
    MOST_TRIES,
    begin_second_factor,
    confirm_second_factor,
    enrolment_uri,
    has_second_factor,
    pending_secret,
    remove_second_factor,
    renew_recovery_codes,
    reset_second_factor,
    take_code,
    unused_recovery_codes,
)
from tenants.services.sign_ins import begin_sign_in, find_open
from tests.factories import ACTOR
from tests.support.second_factors import enrol

pytestmark = pytest.mark.django_db
NOW = 1_800_000_000.0


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann")


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob")


def code(secret: str, at: float) -> str:
    return pyotp.TOTP(secret).at(int(at))


def take(user: User, text: str, at: float = NOW) -> bool:
    return take_code(user.pk, text, actor=ACTOR, at=at)


def actions(user: User) -> list[str]:
    rows = AuditEntry.objects.filter(tenant_id=INSTALLATION, object_id=str(user.pk))
    return list(rows.order_by("sequence").values_list("action", flat=True))


def test_nothing_is_asked_for_until_a_first_code_has_confirmed_it(ann):
    begin_second_factor(ann.pk)
    secret = pending_secret(ann.pk) or ""
    assert not has_second_factor(ann.pk)

    codes = confirm_second_factor(ann.pk, code(secret, NOW), None, actor=ACTOR, at=NOW)

    assert has_second_factor(ann.pk)
    assert len(set(codes)) == second_factors.RECOVERY_CODES
    assert actions(ann)[0] == "user.second_factor_enrolled"


def test_a_wrong_first_code_confirms_nothing(ann):
    begin_second_factor(ann.pk)

    with pytest.raises(InvalidInput):
        confirm_second_factor(ann.pk, "000000", None, actor=ACTOR, at=NOW)

    assert not has_second_factor(ann.pk)


def test_an_enrolment_that_was_left_must_begin_anew(ann):
    begin_second_factor(ann.pk)
    secret = pending_secret(ann.pk) or ""
    SecondFactor.objects.update(created_at=timezone.now() - timedelta(minutes=31))

    assert pending_secret(ann.pk) is None
    with pytest.raises(NotFound):
        confirm_second_factor(ann.pk, code(secret, NOW), None, actor=ACTOR, at=NOW)


def test_beginning_again_takes_the_place_of_the_first_secret_until_confirmed(ann):
    begin_second_factor(ann.pk)
    first = pending_secret(ann.pk)
    begin_second_factor(ann.pk)
    assert pending_secret(ann.pk) != first

    SecondFactor.objects.update(confirmed_at=timezone.now())

    with pytest.raises(Conflict):
        begin_second_factor(ann.pk)


def test_of_two_sessions_that_confirm_at_once_one_does(ann, monkeypatch):
    begin_second_factor(ann.pk)
    secret = pending_secret(ann.pk) or ""
    real = second_factors._step_of

    def other_first(*arguments):
        begin_second_factor(ann.pk)
        return real(*arguments)

    monkeypatch.setattr(second_factors, "_step_of", other_first)

    with pytest.raises(Conflict):
        confirm_second_factor(ann.pk, code(secret, NOW), None, actor=ACTOR, at=NOW)
    assert not has_second_factor(ann.pk)


def test_confirming_ends_all_other_sessions_and_keeps_this_one(ann):
    here = begin_sign_in(ann.pk, address="", user_agent="")
    there = begin_sign_in(ann.pk, address="", user_agent="")
    begin_second_factor(ann.pk)
    secret = pending_secret(ann.pk) or ""

    confirm_second_factor(ann.pk, code(secret, NOW), here.pk, actor=ACTOR, at=NOW)

    assert find_open(here.pk, ann.pk)
    there.refresh_from_db()
    assert there.ended_by == "factor"


@pytest.mark.parametrize("seconds", [-30, 0, 30])
def test_a_code_is_valid_in_its_step_and_the_ones_beside_it(ann, seconds):
    secret, _ = enrol(ann, at=NOW - 300)

    assert take(ann, code(secret, NOW + seconds))


@pytest.mark.parametrize("seconds", [-90, -60, 60, 90])
def test_an_older_or_later_code_is_refused(ann, seconds):
    secret, _ = enrol(ann, at=NOW - 300)

    assert not take(ann, code(secret, NOW + seconds))


def test_a_code_works_once_and_so_do_those_before_it(ann):
    secret, _ = enrol(ann, at=NOW - 300)
    assert take(ann, code(secret, NOW))

    assert not take(ann, code(secret, NOW))
    assert not take(ann, code(secret, NOW - 30))
    assert take(ann, code(secret, NOW + 30))


def test_the_code_that_confirmed_it_does_not_sign_in(ann):
    secret, _ = enrol(ann, at=NOW)

    assert not take(ann, code(secret, NOW - 30))


def test_of_two_sign_ins_with_one_code_at_once_one_is_let_in(ann, monkeypatch):
    secret, _ = enrol(ann, at=NOW - 300)
    real, answers = second_factors._step_of, []

    def other_first(*arguments):
        monkeypatch.setattr(second_factors, "_step_of", real)
        answers.append(take(ann, code(secret, NOW)))
        return real(*arguments)

    monkeypatch.setattr(second_factors, "_step_of", other_first)
    answers.append(take(ann, code(secret, NOW)))

    assert answers == [True, False]


def test_a_recovery_code_works_once_however_it_is_spelled(ann):
    _, codes = enrol(ann, at=NOW)

    assert take(ann, f" {codes[0].upper().replace('-', ' ')} ")
    assert not take(ann, codes[0])
    assert unused_recovery_codes(ann.pk) == len(codes) - 1
    assert actions(ann)[-1] == "user.recovery_code_used"


def test_a_recovery_code_of_another_person_is_refused(ann, bob):
    _, codes = enrol(ann, at=NOW)
    enrol(bob, at=NOW)

    assert not take(bob, codes[0])


def test_recovery_codes_are_stored_as_hashes_and_the_secret_sealed(ann):
    secret, codes = enrol(ann, at=NOW)

    stored = bytes(SecondFactor.objects.get(user=ann).sealed_secret)
    hashes = [bytes(one.code_hash) for one in RecoveryCode.objects.all()]
    assert secret.encode() not in stored
    assert all(len(one) == 32 for one in hashes)
    assert codes[0].replace("-", "").encode() not in hashes


def test_a_secret_that_was_moved_to_another_account_does_not_open(ann, bob):
    secret, _ = enrol(ann, at=NOW - 300)
    enrol(bob, at=NOW - 300)
    moved = SecondFactor.objects.get(user=ann).sealed_secret
    SecondFactor.objects.filter(user=bob).update(sealed_secret=moved)

    with pytest.raises(DecryptionFailed):
        take(bob, code(secret, NOW))


def test_new_recovery_codes_replace_the_old_ones(ann):
    _, old = enrol(ann, at=NOW)

    new = renew_recovery_codes(ann.pk, actor=ACTOR)

    assert not take(ann, old[0])
    assert take(ann, new[0])


def test_after_too_many_wrong_codes_even_the_right_one_waits_for_an_hour(ann):
    secret, codes = enrol(ann, at=NOW - 300)
    for _ in range(MOST_TRIES):
        assert not take(ann, "000000")

    for text in (code(secret, NOW), codes[0]):
        with pytest.raises(InvalidInput) as refused:
            take(ann, text)
        assert refused.value.errors[0].code == "too_many_tries"
    SecondFactor.objects.update(tries_since=timezone.now() - timedelta(hours=1, seconds=1))
    assert take(ann, code(secret, NOW))


def test_a_right_code_begins_the_count_anew(ann):
    secret, _ = enrol(ann, at=NOW - 300)
    for _ in range(MOST_TRIES - 1):
        take(ann, "000000")

    assert take(ann, code(secret, NOW))
    assert SecondFactor.objects.get(user=ann).tries == 0


def test_beginning_anew_does_not_begin_the_count_anew(ann):
    begin_second_factor(ann.pk)
    with pytest.raises(InvalidInput):
        confirm_second_factor(ann.pk, "000000", None, actor=ACTOR, at=NOW)

    begin_second_factor(ann.pk)

    assert SecondFactor.objects.get(user=ann).tries == 1


def test_the_secret_lets_apps_name_the_account():
    uri = enrolment_uri("JBSWY3DPEHPK3PXP" * 2, "ann")

    assert uri.startswith("otpauth://totp/Punctual:ann?")
    assert "secret=JBSWY3DPEHPK3PXP" in uri
    assert "issuer=Punctual" in uri


def test_a_person_removes_it_unless_a_tenant_requires_it(ann):
    enrol(ann, at=NOW)
    tenant = Tenant.objects.create(name="Alpha", second_factor_required=True)
    Membership.objects.create(user=ann, tenant=tenant, role="viewer")
    with pytest.raises(Conflict):
        remove_second_factor(ann.pk, actor=ACTOR)
    Tenant.objects.update(second_factor_required=False)

    remove_second_factor(ann.pk, actor=ACTOR)

    assert not has_second_factor(ann.pk)
    assert RecoveryCode.objects.count() == 0
    assert actions(ann)[-1] == "user.second_factor_removed"


def test_a_reset_ends_all_sessions_and_is_recorded(ann):
    enrol(ann, at=NOW)
    here = begin_sign_in(ann.pk, address="", user_agent="", by_factor=True)

    assert reset_second_factor(ann.pk, actor=ACTOR) == 1

    assert find_open(here.pk, ann.pk) is None
    assert "user.second_factor_reset" in actions(ann)
    with pytest.raises(NotFound):
        reset_second_factor(ann.pk, actor=ACTOR)


@pytest.mark.parametrize(
    "text", ["", "x" * 10_000, "\x00", "\ud800", "１２３４５６", "12345", "-1e5 "]
)
def test_nonsense_is_a_wrong_code(ann, text):
    enrol(ann, at=NOW)

    assert not take(ann, text)
