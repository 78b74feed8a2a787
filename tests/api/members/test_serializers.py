from __future__ import annotations

from api.members.serializers import MemberChange, NewInvitation, Transfer


def test_fields_that_are_left_out_stay_out():
    change = MemberChange(data={})
    transfer = Transfer(data={})
    offer = NewInvitation(data={"email": "ada@example.com", "role": "viewer"})

    assert [one.is_valid() for one in (change, transfer, offer)] == [True] * 3
    assert change.validated_data == {}
    assert transfer.validated_data == {"from": None}
    assert offer.validated_data["sees_payloads"] is None
