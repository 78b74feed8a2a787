from __future__ import annotations

import smtplib

import pytest
import redis
from django.core import mail
from django.db import transaction

from notifications import broker
from notifications.services import invitations
from notifications.services.invitations import invite_member, resend_invitation, send_invitation
from notifications.transports.errors import TransportError
from shared.actor import COMMAND
from shared.conf import conf
from tenants.authority import OPERATOR
from tenants.services import invitations as of_tenants
from tenants.services.invitations import find_invitation, withdraw_invitation
from tests.support.api import make_tenant
from tests.support.invitations import ADDRESS, by, invite, join

pytestmark = pytest.mark.django_db
_WANTED = {"email": ADDRESS, "role": "viewer", "by": OPERATOR, "actor": COMMAND}


@pytest.fixture
def alpha(db: None):
    return make_tenant("Alpha")


def token_in(message):
    return next(word for word in message.body.split() if word.startswith(conf().public_url)).rsplit(
        "/", 1
    )[1]


def test_the_message_has_the_link_and_its_token_is_stored_nowhere(alpha):
    made = invite(alpha)

    send_invitation(made.id)

    [message] = mail.outbox
    token = token_in(message)
    assert message.to == [ADDRESS]
    assert "Alpha" in message.subject
    assert find_invitation(token).id == made.id
    made.refresh_from_db()
    assert made.sent_at is not None
    assert token not in repr(vars(made))


def test_only_the_newest_message_has_a_valid_link(alpha):
    made = invite(alpha)
    for _ in range(2):
        send_invitation(made.id)

    assert find_invitation(token_in(mail.outbox[1])).id == made.id
    assert token_in(mail.outbox[0]) != token_in(mail.outbox[1])


@pytest.mark.logs("invitation.withheld")
def test_an_address_that_many_tenants_write_to_gets_no_more_and_no_page_tells(alpha, monkeypatch):
    monkeypatch.setattr(of_tenants, "MOST_OF_ALL_TO_ADDRESS", 1)
    first, second = make_tenant("One"), make_tenant("Two")
    offers = [
        invite(tenant, email="many@limited.example.com", by=by(join(tenant, tenant.name, "owner")))
        for tenant in (first, second)
    ]
    for offer in offers:
        send_invitation(offer.id)
    by_operator = invite(alpha, email="many@limited.example.com")
    send_invitation(by_operator.id)

    assert [message.subject.count("Two") for message in mail.outbox] == [0, 0]
    for offer in offers:
        offer.refresh_from_db()
    assert [bool(offer.sent_at) for offer in offers] == [True, True]
    assert [offer.mail_error for offer in offers] == ["", ""]


def test_an_offer_that_ended_is_not_sent(alpha):
    made = invite(alpha)
    withdraw_invitation(alpha.id, made.id, by=OPERATOR, actor=COMMAND)

    send_invitation(made.id)

    assert not mail.outbox


@pytest.mark.parametrize(
    ("code", "again"),
    [
        (451, True),
        pytest.param(550, False, marks=pytest.mark.logs("invitation.failed")),
    ],
)
def test_a_refused_message_is_noted_and_tried_again_where_that_helps(
    alpha, monkeypatch, code, again
):
    made = invite(alpha)

    def refuse(_):
        error = smtplib.SMTPRecipientsRefused({ADDRESS: (code, b"no")})
        raise TransportError(f"refused: {code}", permanent=not again) from error

    monkeypatch.setattr(invitations, "send_email", refuse)
    if again:
        with pytest.raises(TransportError):
            send_invitation(made.id)
    else:
        send_invitation(made.id)

    made.refresh_from_db()
    assert (made.sent_at, made.mail_error) == (None, f"refused: {code}")


def test_the_worker_is_woken_after_the_commit_with_the_id_alone(
    alpha, monkeypatch, django_capture_on_commit_callbacks
):
    woken = []
    monkeypatch.setattr(broker, "publish_system_job", lambda *said: woken.append(said))

    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        made = invite_member(alpha.id, **_WANTED)
        resend_invitation(alpha.id, made.id, by=OPERATOR, actor=COMMAND)
        assert woken == []

    assert woken == [(broker.INVITE, str(made.id))] * 2


@pytest.mark.logs("invitation.without_redis")
def test_without_redis_the_offer_says_that_it_was_not_sent(
    alpha, monkeypatch, django_capture_on_commit_callbacks
):
    def away(*_):
        raise redis.ConnectionError

    monkeypatch.setattr(broker, "publish_system_job", away)
    with django_capture_on_commit_callbacks(execute=True):
        made = invite_member(alpha.id, **_WANTED)

    made.refresh_from_db()
    assert "send it again" in made.mail_error
