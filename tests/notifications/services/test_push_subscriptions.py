"""Browsers that subscribe: only to places that may be called."""

from __future__ import annotations

import pytest
from django.conf import settings

from events.models import AuditEntry
from notifications.models import PushSubscription
from notifications.services import push_subscriptions
from notifications.services.push_subscriptions import (
    open_endpoint,
    push_service_of,
    seal_endpoints,
    subscribe,
    unsubscribe,
)
from shared.encryption import DecryptionFailed, open_sealed, seal
from shared.exceptions import Conflict, InvalidInput, NotFound
from shared.sealing_contexts import Context, push_subscription_context
from tenants.models import Membership, Tenant
from tests.factories import ACTOR, make_tenant
from tests.notifications.cast import make_member
from tests.support.push_sink import PushSink

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("vapid")]
ENDPOINT = "https://push.example.com/browser-1"


def test_a_browsers_secret_is_sealed_and_not_audited() -> None:
    tenant = make_tenant()
    sink = PushSink()

    made = subscribe(tenant.id, make_member(tenant).pk, endpoint=ENDPOINT, actor=ACTOR, **sink.keys)

    stored = PushSubscription.objects.get()
    context = push_subscription_context(tenant.id, made.id)
    assert open_sealed(stored.sealed_auth, context).decode() == sink.keys["auth"]
    entry = AuditEntry.objects.get(action="push_subscription.created")
    assert "browser-1" not in (entry.after or "")


def test_an_endpoint_is_sealed_and_its_host_shown() -> None:
    tenant = make_tenant()

    subscribe(tenant.id, make_member(tenant).pk, endpoint=ENDPOINT, actor=ACTOR, **PushSink().keys)

    stored = PushSubscription.objects.values().get()
    assert not [one for one in stored.values() if "browser-1" in str(one)]
    made = PushSubscription.objects.get()
    assert (open_endpoint(made), push_service_of(made)) == (ENDPOINT, "push.example.com")


def in_the_clear(tenant: Tenant, member: Membership, sink: PushSink) -> PushSubscription:
    """Return a browser as the version before has stored it."""
    made = subscribe(tenant.id, member.pk, endpoint=ENDPOINT, actor=ACTOR, **sink.keys)
    PushSubscription.objects.update(
        endpoint=ENDPOINT, sealed_endpoint=None, endpoint_digest=None, host=""
    )
    made.refresh_from_db()
    return made


def test_endpoints_in_the_clear_are_sealed() -> None:
    tenant = make_tenant()
    made = in_the_clear(tenant, make_member(tenant), PushSink())
    assert (open_endpoint(made), push_service_of(made)) == (ENDPOINT, "push.example.com")

    assert seal_endpoints() == 1

    made.refresh_from_db()
    assert (made.endpoint, made.host) == ("", "push.example.com")
    assert open_endpoint(made) == ENDPOINT
    assert seal_endpoints() == 0


@pytest.mark.logs("push_endpoints.not_sealed")
def test_a_tenant_whose_key_is_not_here_keeps_no_other_from_being_sealed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without, other = make_tenant("Alpha"), make_tenant("Beta")
    for tenant, name in ((without, "ann"), (other, "bob")):
        subscribe(
            tenant.id,
            make_member(tenant, name).pk,
            endpoint=ENDPOINT,
            actor=ACTOR,
            **PushSink().keys,
        )
    PushSubscription.objects.update(endpoint=ENDPOINT, sealed_endpoint=None, endpoint_digest=None)

    def seal_of_others(plaintext: bytes, context: Context) -> bytes:
        if context.tenant == str(without.id):
            raise DecryptionFailed("ENCRYPTION_KEYS does not have the key.")
        return seal(plaintext, context)

    monkeypatch.setattr(push_subscriptions, "seal", seal_of_others)

    assert seal_endpoints() == 1

    clear = PushSubscription.objects.exclude(endpoint="")
    assert [one.membership.tenant_id for one in clear] == [without.id]
    assert open_endpoint(clear.get()) == ENDPOINT


def test_the_newer_of_two_rows_of_one_browser_stays() -> None:
    tenant = make_tenant()
    member = make_member(tenant)
    newer = in_the_clear(tenant, member, PushSink())
    PushSubscription.objects.update(endpoint="")
    subscribe(tenant.id, member.pk, endpoint=ENDPOINT, actor=ACTOR, **PushSink().keys)
    PushSubscription.objects.filter(pk=newer.pk).update(endpoint=ENDPOINT)

    seal_endpoints()

    assert PushSubscription.objects.get().pk == newer.pk


@pytest.mark.parametrize("same_member", [True, False])
def test_a_browser_in_the_clear_is_known(same_member: bool) -> None:
    tenant, sink = make_tenant(), PushSink()
    owner = make_member(tenant)
    first = in_the_clear(tenant, owner, sink)
    member = owner if same_member else make_member(tenant, "bob")

    second = subscribe(tenant.id, member.pk, endpoint=ENDPOINT, actor=ACTOR, **sink.keys)

    assert (second.pk == first.pk) is same_member
    assert browsers_of(owner, member) == [member.pk]


def browsers_of(*members: Membership) -> list[int]:
    found = PushSubscription.objects.filter(membership__in=members)
    return sorted(found.values_list("membership_id", flat=True))


def test_a_known_browser_gets_its_new_keys() -> None:
    tenant = make_tenant()
    member, sink = make_member(tenant), PushSink()
    first = subscribe(tenant.id, member.pk, endpoint=ENDPOINT, actor=ACTOR, **PushSink().keys)

    second = subscribe(tenant.id, member.pk, endpoint=ENDPOINT, actor=ACTOR, **sink.keys)

    assert second.pk == first.pk
    assert PushSubscription.objects.get().p256dh == sink.keys["p256dh"]


@pytest.mark.parametrize("same_keys", [True, False])
def test_a_browser_is_not_taken_from_its_owner_by_another_tenant(same_keys: bool) -> None:
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    owner, other, sink = make_member(alpha), make_member(beta, "bob"), PushSink()
    subscribe(alpha.id, owner.pk, endpoint=ENDPOINT, actor=ACTOR, **sink.keys)
    before = PushSubscription.objects.filter(membership=owner).values().get()

    keys = sink.keys if same_keys else PushSink().keys
    subscribe(beta.id, other.pk, endpoint=ENDPOINT, actor=ACTOR, **keys)

    assert PushSubscription.objects.filter(membership=owner).values().get() == before
    assert browsers_of(owner, other) == sorted([owner.pk, other.pk])


def test_who_knows_only_the_endpoint_takes_nothing_from_a_colleague() -> None:
    tenant = make_tenant()
    owner, other = make_member(tenant), make_member(tenant, "bob")
    subscribe(tenant.id, owner.pk, endpoint=ENDPOINT, actor=ACTOR, **PushSink().keys)

    subscribe(tenant.id, other.pk, endpoint=ENDPOINT, actor=ACTOR, **PushSink().keys)

    assert browsers_of(owner, other) == sorted([owner.pk, other.pk])


def test_a_colleague_at_the_same_browser_takes_it_over_and_that_is_audited() -> None:
    tenant, sink = make_tenant(), PushSink()
    owner, other = make_member(tenant), make_member(tenant, "bob")
    subscribe(tenant.id, owner.pk, endpoint=ENDPOINT, actor=ACTOR, **sink.keys)

    subscribe(tenant.id, other.pk, endpoint=ENDPOINT, actor=ACTOR, **sink.keys)

    assert browsers_of(owner, other) == [other.pk]
    entry = AuditEntry.objects.get(action="push_subscription.removed")
    assert "another member uses the browser" in (entry.before or "")


def test_a_secret_that_no_key_opens_proves_nothing() -> None:
    tenant, sink = make_tenant(), PushSink()
    owner, other = make_member(tenant), make_member(tenant, "bob")
    subscribe(tenant.id, owner.pk, endpoint=ENDPOINT, actor=ACTOR, **sink.keys)
    PushSubscription.objects.update(sealed_auth=b"\x01")

    subscribe(tenant.id, other.pk, endpoint=ENDPOINT, actor=ACTOR, **sink.keys)

    assert browsers_of(owner, other) == sorted([owner.pk, other.pk])


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"endpoint": "https://127.0.0.1/x"}, "#/endpoint"),
        ({"endpoint": "http://push.example.com/x"}, "#/endpoint"),
        ({"p256dh": "AAAA"}, "#/keys/p256dh"),
        ({"auth": "short"}, "#/keys/auth"),
    ],
    ids=["inside", "plain", "point", "auth"],
)
def test_what_cannot_be_pushed_to_is_refused(change: dict[str, str], pointer: str) -> None:
    tenant = make_tenant()
    given = {"endpoint": ENDPOINT, **PushSink().keys, **change}

    with pytest.raises(InvalidInput) as caught:
        subscribe(tenant.id, make_member(tenant).pk, actor=ACTOR, **given)

    assert [error.pointer for error in caught.value.errors] == [pointer]


def test_a_member_has_a_bounded_number_of_browsers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_subscriptions, "_MOST_PER_MEMBER", 1)
    tenant = make_tenant()
    member = make_member(tenant)
    subscribe(tenant.id, member.pk, endpoint=ENDPOINT, actor=ACTOR, **PushSink().keys)

    with pytest.raises(Conflict):
        subscribe(tenant.id, member.pk, endpoint=f"{ENDPOINT}2", actor=ACTOR, **PushSink().keys)


def test_without_a_key_nobody_can_subscribe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "VAPID_PRIVATE_KEY", "")
    tenant = make_tenant()

    with pytest.raises(Conflict) as caught:
        subscribe(
            tenant.id, make_member(tenant).pk, endpoint=ENDPOINT, actor=ACTOR, **PushSink().keys
        )

    assert caught.value.code == "push_not_configured"


def test_another_tenant_cannot_remove_a_browser() -> None:
    alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
    made = subscribe(
        alpha.id, make_member(alpha).pk, endpoint=ENDPOINT, actor=ACTOR, **PushSink().keys
    )

    with pytest.raises(NotFound):
        unsubscribe(beta.id, made.id, actor=ACTOR)
    unsubscribe(alpha.id, made.id, actor=ACTOR)

    assert not PushSubscription.objects.exists()
