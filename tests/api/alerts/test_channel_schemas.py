"""The documented bodies are those that the product reads."""

from __future__ import annotations

import jsonschema
import pytest

from api.alerts.channel_schemas import (
    ChannelChangeSerializer,
    ChannelCreateSerializer,
    ChannelSerializer,
    ChannelTestSerializer,
)
from tests.factories import make_client, make_tenant
from tests.support.alert_channels import allow_loopback, body
from tests.support.smtp_sink import free_port

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_documented_is_taken_and_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_loopback(monkeypatch)
    client = make_client(make_tenant())
    new = body(url=f"http://127.0.0.1:{free_port()}/", kinds=["late_start"], after_seconds=60)
    change = {"name": "night", "rules": [], "after_seconds": 0}
    jsonschema.validate(new, ChannelCreateSerializer.json_schema)
    jsonschema.validate(change, ChannelChangeSerializer.json_schema)

    made = client.post("/v1/channels", new).json()
    path = f"/v1/channels/{made['id']}"
    changed = client.call("PATCH", path, change).json()
    tested = client.post(f"{path}/test", {}).json()

    for shown in (made, changed, client.get("/v1/channels").json()["channels"][0]):
        jsonschema.validate(shown, ChannelSerializer.json_schema)
    jsonschema.validate(tested, ChannelTestSerializer.json_schema)
