from __future__ import annotations

from uuid import uuid4

from notifications.routing import TenantScopeGate
from shared import tenant_scope
from shared.tenant_scope import EMPTY


async def test_every_socket_begins_without_a_tenant_and_leaves_none():
    seen = []

    async def application(scope, receive, send):
        seen.append(tenant_scope.current())
        tenant_scope.enter(uuid4())

    gate = TenantScopeGate(application)
    await gate({}, None, None)
    await gate({}, None, None)

    assert seen == [EMPTY, EMPTY]
    assert tenant_scope.current() is None
