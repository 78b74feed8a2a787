"""Makes members who get alerts: each owner of a tenant of its own, with a key and a session.

Made through the product's services in this process, on the installation's database. A member
gets ten single messages in five minutes; a report that needs more makes more members.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from bench.installation import Installation

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@dataclass(frozen=True, slots=True)
class Member:
    """A member and how to act as one: by the API, as a browser, by e-mail."""

    tenant_id: UUID
    membership_id: int
    api_key: str = field(repr=False)
    #: The value of the session cookie.
    session: str = field(repr=False)
    address: str


def enter(product: Installation) -> None:
    """Let this process use the installation's models."""
    os.environ["DATA_DIR"] = product.environment["DATA_DIR"]
    os.environ["DJANGO_SETTINGS_MODULE"] = "scheduler_site.settings"
    import django

    django.setup()


def make_member() -> Member:
    """Make a tenant without quotas, its owner, the owner's key and a session."""
    from django.contrib.auth.models import User

    from shared.actor import COMMAND
    from tenants.authority import OPERATOR
    from tenants.choices import SCOPES, Role
    from tenants.models import Membership
    from tenants.services import create_api_key, create_tenant

    name = f"bench-{uuid4()}"
    tenant = create_tenant(name, actor=COMMAND, unlimited=True)
    _, key = create_api_key(
        tenant, name="owner", scopes=list(SCOPES), owner=True, actor=COMMAND, by=OPERATOR
    )
    address = f"{name}@example.test"
    user = User.objects.create_user(name, email=address)
    membership = Membership.objects.create(user=user, tenant=tenant, role=Role.OWNER)
    return Member(tenant.id, membership.pk, key, log_in(user), address)


def log_in(user: User) -> str:
    """Return the cookie of a new session of the user."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return str(session.session_key)
