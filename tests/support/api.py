"""A standing cast for tests of the REST API: tenants, and clients that hold a key of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from django.test import Client

from shared.actor import COMMAND
from tenants.authority import OPERATOR
from tenants.choices import SCOPES
from tenants.models import ApiKey, Tenant
from tenants.services import create_api_key, create_tenant
from tests.support.loops import by_the_owner


class ApiClient:
    """Calls the API as one key; a body goes as JSON unless it is bytes."""

    def __init__(self, key: str | None = None) -> None:
        self._client = Client(raise_request_exception=False)
        self._key = key

    def get(self, path: str, **headers: str) -> Any:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("POST", path, body, **headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("PATCH", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("PUT", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Any:
        return self.call("DELETE", path, **headers)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request; header names are given with underscores (``idempotency_key``)."""
        data = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self._key is not None:
            sent.setdefault("authorization", f"Bearer {self._key}")
        content_type = sent.pop("content-type", "application/json")
        return self._client.generic(method, path, data, content_type=content_type, headers=sent)


@by_the_owner
def make_tenant(name: str = "Alpha") -> Tenant:
    return create_tenant(name, actor=COMMAND)


@by_the_owner
def make_key(
    tenant: Tenant, scopes: Sequence[str] = SCOPES, *, owner: bool = False, **parts: Any
) -> tuple[ApiKey, str]:
    return create_api_key(
        tenant, name="test", scopes=scopes, owner=owner, actor=COMMAND, by=OPERATOR, **parts
    )


def make_client(
    tenant: Tenant, scopes: Sequence[str] = SCOPES, *, owner: bool = False
) -> ApiClient:
    return ApiClient(make_key(tenant, scopes, owner=owner)[1])
