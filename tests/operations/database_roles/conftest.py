from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from tests.support.walls import WEB_ROLE

AsWeb = Callable[..., object]


@pytest.fixture
def as_web() -> AsWeb:
    """Return what lets a block's statements run as the web's role: ``as_web(tenant)``."""

    @contextmanager
    def within(tenant: object = "", purpose: str = "") -> Iterator[None]:
        role = f"{WEB_ROLE}_across" if purpose else WEB_ROLE
        with connection.cursor() as cursor:
            _bind(cursor, role, str(tenant), purpose)
            try:
                yield
            finally:
                _bind(cursor, "none", "", "")

    return within


def _bind(cursor, role, tenant, purpose):
    cursor.execute(
        "SELECT set_config('role', %s, true), set_config('punctual.tenant', %s, true),"
        " set_config('punctual.purpose', %s, true)",
        [role, tenant, purpose],
    )
