from __future__ import annotations

import pytest

from shared.exceptions import NotFound
from tenants.services.invitations import find_invitation
from tests.support.invitations import invited


def test_an_invitation_is_withdrawn(alpha, client):
    found, token = invited(alpha)
    path = f"/v1/members/invitations/{found.id}"

    assert client.delete(path).status_code == 204
    assert client.delete(path).status_code == 204
    assert client.get(path).json()["status"] == "withdrawn"
    with pytest.raises(NotFound):
        find_invitation(token)
