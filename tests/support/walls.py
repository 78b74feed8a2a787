"""Lets the requests of a test session run as the web's role, as they do in an installation.

The session logs in as the owner, and changes to the web's role for each request: the loops and
the factories of a test stay the owner's.
"""

from __future__ import annotations

from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from operations.database_roles.making import make_roles
from shared import tenant_scope

WEB_ROLE = "test_web"
WEB_PASSWORD = "test-web"


def web_url() -> str:
    """Return the address of the test database for the web's role."""
    found = connection.settings_dict
    return make_conninfo(
        host=found["HOST"],
        port=found["PORT"] or None,
        dbname=found["NAME"],
        user=WEB_ROLE,
        password=WEB_PASSWORD,
    )


def wall_the_web() -> None:
    """Make the web's role and the policies, and let requests run as that role from now on."""
    # Tests that migrate back and forth make tables anew, and `migrate` then walls them.
    settings.WEB_DATABASE_URL = web_url()
    make_roles(web_url())
    tenant_scope.ROLES.web = WEB_ROLE
    tenant_scope.ROLES.across = tenant_scope.across_of(WEB_ROLE)
