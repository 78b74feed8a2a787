"""Every route that is neither a call of the document, nor a page of a tenant, nor of the admin.

What is answered to each kind of visitor; None where the route is not read so.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.access.console_rights import OPEN


@dataclass(frozen=True)
class Open:
    """A route, a path that it takes, and what it answers to those without a right of its own."""

    path: str
    #: Without a session and without a key.
    anybody: int
    #: To a person who is signed in.
    person: int
    #: To a key.
    key: int
    why: str
    #: To HEAD, where it differs.
    head: int = 0


#: The routes of the site by their whole pattern.
ROUTES: dict[str, Open] = {
    "healthz": Open("/healthz", 200, 200, 200, "says only that the process answers"),
    "readyz": Open("/readyz", 503, 503, 503, "says which server is away, and of no tenant"),
    "metrics": Open(
        "/metrics", 404, 404, 404, "closed until METRICS_TOKEN or METRICS_NETWORKS opens it"
    ),
    "v1/schema/": Open("/v1/schema/", 401, 200, 200, "the document; SCHEMA_PUBLIC opens it"),
    "v1/docs/": Open("/v1/docs/", 302, 200, 302, "its page; SCHEMA_PUBLIC opens it"),
    "login/<int:user_id>/<str:token>": Open(
        "/login/1/made-up", 302, 302, 302, "a link of an operator, which signs in once", 405
    ),
    "admin/login/": Open("/admin/login/", 302, 302, 302, "leads to the login"),
    "admin/password_change/": Open(
        "/admin/password_change/", 302, 302, 302, "leads to the account"
    ),
    **{
        f"notifications/{verb}/<str:token>": Open(
            f"/notifications/{verb}/made-up", 404, 404, 404, "a signed link of a message"
        )
        for verb in ("unsubscribe", "confirm", "mute")
    },
}
#: Those of the console, which ``tests/dashboard`` goes through one by one.
CONSOLE = frozenset(OPEN)
