from __future__ import annotations

from uuid import uuid4

from insight.presentation.audit import present_entry
from tests.events.audit.tampering import entries_of
from tests.executions.answers import problem

URL = "/v1/audit"


def test_an_entry_is_shown_by_its_id(owner, alpha):
    entry = entries_of(alpha.id)[0]

    assert owner.get(f"{URL}/{entry.id}").json() == present_entry(entry)


def test_another_tenants_entry_is_not_found(stranger, alpha):
    entry = entries_of(alpha.id)[0]

    assert problem(stranger.get(f"{URL}/{entry.id}")) == (404, "not_found")
    assert problem(stranger.get(f"{URL}/{uuid4()}")) == (404, "not_found")
