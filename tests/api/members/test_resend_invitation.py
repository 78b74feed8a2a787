from __future__ import annotations

import pytest

from shared.exceptions import NotFound
from tenants.services.invitations import find_invitation
from tests.support.invitations import invited


def test_an_invitation_is_sent_again_and_its_earlier_link_is_worthless(alpha, client):
    found, token = invited(alpha)

    answer = client.post(f"/v1/members/invitations/{found.id}/resend")

    assert (answer.status_code, answer.json()["status"]) == (200, "open")
    with pytest.raises(NotFound):
        find_invitation(token)


def test_a_withdrawn_invitation_is_not_sent_again(alpha, client):
    found, _ = invited(alpha)
    client.delete(f"/v1/members/invitations/{found.id}")

    answer = client.post(f"/v1/members/invitations/{found.id}/resend")

    assert (answer.status_code, answer.json()["code"]) == (409, "invitation_ended")
