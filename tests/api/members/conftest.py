"""The standing cast of these tests; no worker is woken."""

from __future__ import annotations

import pytest

from tests.support.cast import alpha, beta, client, owner, stranger, viewer  # noqa: F401 - fixtures


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("notifications.services.invitations.wake_invitation", lambda offer: None)
