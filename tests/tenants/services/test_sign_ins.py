"""Sessions of people: begun, found, noted, listed and ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone

from events.audit import INSTALLATION
from events.models import AuditEntry
from shared.exceptions import Conflict, NotFound
from tenants.choices import SignInEnd
from tenants.models import Membership, SignIn, Tenant
from tenants.services import sign_ins
from tenants.services.sign_ins import (
    MOST_SESSIONS,
    adopt_session,
    begin_sign_in,
    end_sign_in,
    end_sign_ins,
    find_open,
    list_sign_ins,
    note_use,
    sign_out,
)
from tests.factories import ACTOR
from tests.support.second_factors import enrol

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann")


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob")


def begin(user: User, **parts: object) -> SignIn:
    made = begin_sign_in(user.pk, address="192.0.2.1", user_agent="curl/8")
    SignIn.objects.filter(pk=made.pk).update(**parts)
    return SignIn.objects.get(pk=made.pk)


def ago(**parts: float):
    return timezone.now() - timedelta(**parts)


def test_an_open_session_is_found_by_its_person_only(ann, bob):
    made = begin(ann)

    assert find_open(made.pk, ann.pk)
    assert find_open(made.pk, bob.pk) is None
    assert find_open("not an id", ann.pk) is None


@pytest.mark.parametrize(
    "parts",
    [
        {"seen_at": ago(hours=12, seconds=1)},
        {"began_at": ago(days=14, seconds=1)},
        {"ended_at": ago(seconds=1), "ended_by": SignInEnd.ENDED},
    ],
)
def test_an_idle_old_or_ended_session_is_not_open(ann, parts):
    made = begin(ann, **parts)

    assert find_open(made.pk, ann.pk) is None
    assert list_sign_ins(ann.pk) == []


def test_a_use_is_noted_at_most_once_in_five_minutes(ann, django_assert_num_queries):
    made = begin(ann, seen_at=ago(minutes=6))
    note_use(made)
    made.refresh_from_db()
    noted = made.seen_at

    with django_assert_num_queries(0):
        note_use(made)

    assert noted > ago(minutes=1)


def test_a_use_does_not_bring_an_ended_session_back(ann):
    made = begin(ann, seen_at=ago(minutes=6))
    end_sign_in(ann.pk, made.pk, actor=ACTOR)

    note_use(made)

    assert find_open(made.pk, ann.pk) is None


def test_a_session_of_another_person_cannot_be_ended(ann, bob):
    made = begin(ann)

    with pytest.raises(NotFound):
        end_sign_in(bob.pk, made.pk, actor=ACTOR)

    assert find_open(made.pk, ann.pk)


def test_a_session_ends_once(ann):
    made = begin(ann)
    end_sign_in(ann.pk, made.pk, actor=ACTOR)

    with pytest.raises(NotFound):
        end_sign_in(ann.pk, made.pk, actor=ACTOR)


def test_all_sessions_but_one_end_and_it_is_recorded(ann, bob):
    here, there, other = begin(ann), begin(ann), begin(bob)

    assert end_sign_ins(ann.pk, SignInEnd.ENDED, actor=ACTOR, but=here.pk) == 1

    assert find_open(here.pk, ann.pk)
    assert find_open(other.pk, bob.pk)
    assert find_open(there.pk, ann.pk) is None
    entry = AuditEntry.objects.get(tenant_id=INSTALLATION, action="user.sessions_ended")
    assert (entry.object_id, orjson.loads(entry.after or "")["sessions"]) == (str(ann.pk), 1)


def test_followers_learn_which_sessions_ended_after_the_commit(
    ann, monkeypatch, django_capture_on_commit_callbacks
):
    told: list[object] = []
    monkeypatch.setattr(sign_ins.ended, "_called", [told.extend])
    made = begin(ann)

    with django_capture_on_commit_callbacks() as callbacks:
        end_sign_in(ann.pk, made.pk, actor=ACTOR)
    assert told == []
    for one in callbacks:
        one()

    assert told == [made.pk]


def test_a_person_has_a_bounded_number_of_sessions(ann):
    made = [begin(ann) for _ in range(MOST_SESSIONS + 2)]

    open_ones = {one.pk for one in list_sign_ins(ann.pk)}

    assert len(open_ones) == MOST_SESSIONS
    assert {one.pk for one in made[-5:]} <= open_ones
    assert SignIn.objects.filter(ended_by=SignInEnd.REPLACED).count() == 2


def test_sessions_that_ended_long_ago_are_deleted_with_the_next_sign_in(ann):
    old = begin(ann, ended_at=ago(days=31), ended_by=SignInEnd.ENDED)
    forgotten = begin(ann, began_at=ago(days=50))

    begin(ann)

    assert not SignIn.objects.filter(pk__in=[old.pk, forgotten.pk]).exists()


def test_signing_out_ends_the_session_of_the_person_only(ann, bob):
    made = begin(ann)

    sign_out(bob.pk, made.pk)
    sign_out(ann.pk, "not an id")
    assert find_open(made.pk, ann.pk)
    sign_out(ann.pk, made.pk)

    assert find_open(made.pk, ann.pk) is None


def test_requests_of_an_unrecorded_session_make_one_row(ann):
    first = adopt_session(ann.pk, "key", address="", user_agent="")
    second = adopt_session(ann.pk, "key", address="", user_agent="")

    assert first
    assert second
    assert first.pk == second.pk
    assert SignIn.objects.count() == 1


@pytest.mark.parametrize("why", [SignInEnd.ENDED, SignInEnd.PASSWORD, SignInEnd.FACTOR])
def test_an_unrecorded_session_ends_with_all_others(ann, why):
    assert end_sign_ins(ann.pk, why, actor=ACTOR) == 0

    assert adopt_session(ann.pk, "key", address="", user_agent="") is None


def test_an_unrecorded_session_goes_on_after_another_has_signed_out(ann):
    sign_out(ann.pk, begin(ann).pk)

    assert adopt_session(ann.pk, "key", address="", user_agent="")


def test_a_session_without_a_code_is_not_open_beside_a_second_factor(ann):
    before = begin(ann)
    enrol(ann)
    racing = begin(ann)

    assert find_open(before.pk, ann.pk) is None
    assert find_open(racing.pk, ann.pk) is None
    assert adopt_session(ann.pk, "key", address="", user_agent="") is None
    passed = begin_sign_in(ann.pk, address="", user_agent="", by_factor=True)
    assert find_open(passed.pk, ann.pk)


def test_a_person_must_enrol_where_any_tenant_of_theirs_requires_it(ann):
    made = begin(ann)
    for name in ("Alpha", "Beta"):
        tenant = Tenant.objects.create(name=name)
        Membership.objects.create(user=ann, tenant=tenant, role="viewer")
    found = find_open(made.pk, ann.pk)
    assert found
    assert not found.must_enrol

    Tenant.objects.filter(name="Beta").update(second_factor_required=True)

    found = find_open(made.pk, ann.pk)
    assert found
    assert found.must_enrol


def test_a_sign_in_deletes_expired_sessions_of_the_browser_store(ann):
    now = timezone.now()
    for key, ends in (("old", now - timedelta(seconds=1)), ("live", now + timedelta(days=1))):
        Session.objects.create(pk=key, session_data="", expire_date=ends)

    begin(ann)

    assert set(Session.objects.values_list("pk", flat=True)) == {"live"}


def test_a_session_by_a_provider_whose_code_was_ours_must_enrol_when_the_factor_is_gone(ann, alpha):
    Membership.objects.create(user=ann, tenant=alpha, role="viewer")
    Tenant.objects.filter(pk=alpha.pk).update(second_factor_required=True)
    ours = begin(ann, method="oidc", by_factor=True)
    theirs = begin(ann, method="oidc_mfa", by_factor=True)

    found = [find_open(one.pk, ann.pk) for one in (ours, theirs)]

    assert [one and one.must_enrol for one in found] == [True, False]


def test_a_proof_that_counts_once_begins_one_session(ann):
    made = begin(ann)
    again: dict[str, Any] = {"address": "", "user_agent": "", "sign_in_id": made.pk}

    with pytest.raises(Conflict):
        begin_sign_in(ann.pk, **again)
    begin_sign_in(ann.pk, **again, is_known=True)

    assert SignIn.objects.count() == 1
