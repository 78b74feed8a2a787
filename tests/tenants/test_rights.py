from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shared.exceptions import Forbidden
from tenants.rights import Rights, require_no_more, require_not_stronger

NOW = datetime(2027, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(days=1)
OWN = Rights(frozenset({"admin", "read"}), expires_at=NOW, addresses=("10.0.0.0/8",))


def _rights(**parts: object) -> Rights:
    return Rights(
        **{  # type: ignore[arg-type]  # by name
            "scopes": frozenset({"read"}),
            "expires_at": NOW,
            "addresses": ("10.1.0.0/16",),
            **parts,
        }
    )


STRONGER = [
    {"scopes": frozenset({"write"})},
    {"owner": True},
    {"addresses": ()},
    {"addresses": ("10.1.0.0/16", "192.0.2.0/24")},
]


@pytest.mark.parametrize("parts", STRONGER)
def test_a_stronger_key_is_not_changed(parts):
    with pytest.raises(Forbidden):
        require_not_stronger(OWN, _rights(**parts))


def test_a_key_that_lasts_longer_may_be_changed():
    require_not_stronger(OWN, _rights(expires_at=None))


@pytest.mark.parametrize("parts", [*STRONGER, {"expires_at": None}, {"expires_at": LATER}])
def test_no_key_is_made_that_may_do_more_or_lasts_longer(parts):
    with pytest.raises(Forbidden):
        require_no_more(OWN, _rights(**parts))


def test_a_key_as_strong_as_its_maker_is_made():
    require_no_more(OWN, OWN)
    require_no_more(
        Rights(OWN.scopes, owner=True), _rights(owner=True, expires_at=None, addresses=())
    )


@pytest.mark.parametrize(
    ("parts", "widens"),
    [
        ({}, False),
        ({"scopes": frozenset({"read", "write"})}, True),
        ({"owner": True}, True),
        ({"addresses": ("10.1.2.0/24",)}, False),
        ({"addresses": ()}, True),
        ({"addresses": ("10.0.0.0/8",)}, True),
        ({"expires_at": NOW - timedelta(days=1)}, False),
        ({"expires_at": LATER}, True),
        ({"expires_at": None}, True),
    ],
)
def test_rights_widen_where_they_hold_what_they_did_not(parts, widens):
    assert _rights(**parts).widens(_rights()) is widens
