"""The documented bodies are those that the product reads."""

from __future__ import annotations

import jsonschema
import pytest

from api.secrets.schemas import (
    SecretChangeSerializer,
    SecretCreateSerializer,
    SecretSerializer,
    SecretSummarySerializer,
)
from tests.support.named_secrets import body

pytestmark = pytest.mark.django_db


def test_what_is_documented_is_taken_and_answered(client):
    jsonschema.validate(body(commands=["x"]), SecretCreateSerializer.json_schema)
    jsonschema.validate({"value": "new", "hosts": ["*"]}, SecretChangeSerializer.json_schema)

    made = client.post("/v1/secrets", body(commands=["x"])).json()

    jsonschema.validate(made, SecretSerializer.json_schema)
    [listed] = client.get("/v1/secrets").json()["secrets"]
    jsonschema.validate(listed, SecretSummarySerializer.json_schema)
