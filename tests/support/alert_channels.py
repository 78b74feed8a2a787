"""Shared channels of tests, and the network that a local receiver is in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings

from notifications.models import AlertChannel
from notifications.services import channels
from tenants.models import Tenant
from tests.factories import ACTOR

TOKEN = "t0ken-of-a-channel"
URL = f"https://hooks.example.com/{TOKEN}"


def body(name: str = "on-call", **parts: Any) -> dict[str, Any]:
    """Return the body of a new channel: a webhook unless told."""
    return {"name": name, "kind": "webhook", "url": URL, **parts}


def make_channel(tenant: Tenant, name: str = "on-call", **parts: Any) -> AlertChannel:
    """Add a channel of the tenant."""
    return channels.create_channel(tenant.id, body(name, **parts), actor=ACTOR)


def allow_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls reach receivers on this machine."""
    knobs = replace(settings.PUNCTUAL, webhook_allowed_networks=("127.0.0.0/8",))
    monkeypatch.setattr(settings, "PUNCTUAL", knobs)
