"""Named secrets of tests, and targets that use them."""

from __future__ import annotations

from typing import Any

from tasks.models import NamedSecret
from tasks.named_secrets import services
from tenants.models import Tenant
from tests.factories import ACTOR

HOST = "api.example.com"
VALUE = "s3cret-value-0815"


def body(name: str = "token", value: str = VALUE, **parts: Any) -> dict[str, Any]:
    """Return the body of a new secret, bound to HOST unless told."""
    return {"name": name, "value": value, "hosts": [HOST], **parts}


def make_secret(
    tenant: Tenant, name: str = "token", value: str = VALUE, **parts: Any
) -> NamedSecret:
    """Write a secret of the tenant."""
    return services.create_secret(tenant.id, body(name, value, **parts), actor=ACTOR)


def using(name: str = "token", **parts: Any) -> dict[str, Any]:
    """Return a webhook to HOST that proves itself with the secret."""
    auth = {"type": "bearer", "token": f"{{{{ secrets.{name} }}}}"}
    return {"url": f"https://{HOST}/jobs", "auth": auth, **parts}
