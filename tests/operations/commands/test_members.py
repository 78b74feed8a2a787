from __future__ import annotations

import pytest
from django.core import mail

from notifications.transports.errors import TransportError
from operations.management.commands import members
from tenants.models import Invitation, Membership
from tenants.services.invitations import find_invitation
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document
from tests.support.invitations import ADDRESS, invite, join

pytestmark = pytest.mark.django_db


def test_members_are_listed(alpha, beta):
    join(alpha, "bea", "admin")
    join(beta, "eve", "owner")

    said = call("members", "list", "--tenant", "Alpha", "--json")

    [found] = read_document("members-list", said.out)["members"]
    assert (found["name"], found["role"], found["active"]) == ("bea", "admin", True)
    assert "bea@example.com" in call("members", "list", "--tenant", "Alpha").out


def test_an_invitation_prints_its_link_once_and_mails_it(alpha):
    said = call("members", "invite", ADDRESS, "--role", "admin", "--json")

    document = read_document("members-invite", said.out)
    token = document["link"].rsplit("/", 1)[1]
    assert find_invitation(token).role == "admin"
    assert document["sent_at"] is not None
    [message] = mail.outbox
    assert (message.to, token in message.body) == ([ADDRESS], True)
    listed = read_document("members-invitations", call("members", "invitations", "--json").out)
    assert [one["email"] for one in listed["invitations"]] == [ADDRESS]
    assert token not in call("members", "invitations").out


def test_the_link_is_printed_where_the_mail_is_not_wanted_or_fails(alpha, monkeypatch):
    assert "link" in call("members", "invite", ADDRESS, "--no-mail").out
    assert not mail.outbox

    def refuse(_):
        raise TransportError("The mail server cannot be reached.")

    monkeypatch.setattr(members, "send_email", refuse)
    said = call("members", "invite", "bea@example.com")

    assert said.code == 0
    assert "not sent: The mail server cannot be reached." in said.out
    assert Invitation.objects.get(email="bea@example.com").mail_error


def test_an_invitation_is_sent_again_and_withdrawn(alpha):
    made = invite(alpha)

    again = read_document("members-resend", call("members", "resend", ADDRESS, "--json").out)
    ended = call("members", "withdraw", str(made.id), "--yes", "--json")

    assert again["id"] == str(made.id)
    assert read_document("members-withdraw", ended.out)["status"] == "withdrawn"
    assert call("members", "resend", ADDRESS).code == 4
    assert call("members", "resend", "nobody@example.com").code == 3


def test_a_member_is_changed_by_name_address_or_id(alpha):
    member = join(alpha, "bea", "operator")

    for name in ("bea", "BEA@example.com", str(member.pk)):
        said = call("members", "change", name, "--role", "viewer", "--no-payloads", "--json")
        assert read_document("members-change", said.out)["sees_payloads"] is False
    assert "viewer, sees payloads" in call("members", "change", "bea", "--payloads").out
    assert call("members", "change", "bea").code == 2
    assert call("members", "change", "nobody", "--role", "admin").code == 3


def test_a_name_of_two_members_is_refused(alpha):
    member = join(alpha, "bea", "viewer")
    join(alpha, str(member.pk), "viewer")

    assert call("members", "change", str(member.pk), "--role", "admin").code == 2


def test_a_member_is_removed_after_a_question(alpha, monkeypatch):
    join(alpha, "bea", "viewer")
    type_in(monkeypatch, "n\n")

    assert call("members", "remove", "bea").code == 1
    said = call("members", "remove", "bea", "--yes", "--json")

    assert read_document("members-remove", said.out)["name"] == "bea"
    assert not Membership.objects.exists()


def test_the_last_owner_stays_and_may_hand_over(alpha):
    join(alpha, "bea", "owner")
    join(alpha, "cid", "viewer")

    assert call("members", "remove", "bea", "--yes").code == 4
    said = call("members", "transfer", "cid", "--from", "bea", "--yes", "--json")

    assert read_document("members-transfer", said.out)["role"] == "owner"
    assert Membership.objects.get(user__username="bea").role == "admin"
