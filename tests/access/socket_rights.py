"""Who hears what on the live socket: every topic by every kind of listener.

A browser opens it by its session. A program gets a ticket first, by a call of the API: a caller
that is refused there has none.
"""

from __future__ import annotations

from notifications.live import TOPICS
from tenants.choices import Role
from tests.access.operations import OPERATIONS
from tests.access.rights import CREDENTIALS

HEARD, NOT_HEARD, REFUSED, NO_TICKET = "heard", "not heard", "4401", "no ticket"
#: What is said about a tenant: topics, and alerts with their text.
SAID = (*TOPICS, "alert")
#: Kind of session -> what becomes of the socket.
SESSIONS: dict[str, str] = {
    "no session": REFUSED,
    "an ended session": REFUSED,
    "an idle session": REFUSED,
    "an account that is not active": REFUSED,
    "a member who must enrol": REFUSED,
    "a member of no tenant": REFUSED,
    "a suspended tenant's owner": REFUSED,
    **{role.value: HEARD for role in Role},
    "a foreign owner": NOT_HEARD,
}
#: Kind of ticket -> what becomes of the socket.
TICKETS: dict[str, str] = {
    "a made-up ticket": REFUSED,
    "a used ticket": REFUSED,
    "the ticket of a key that was revoked since": REFUSED,
    "the ticket of a key that expired since": REFUSED,
    "the ticket of a key that lost the scope since": REFUSED,
    "the ticket of a key for other addresses": REFUSED,
    "the ticket of a tenant that was suspended since": REFUSED,
}
[_TICKET] = [one for one in OPERATIONS if one.name == "create_ws_ticket"]


def by_ticket(kind: str) -> str:
    """Return what becomes of the socket of a caller of the API."""
    rights = CREDENTIALS[kind]
    if _TICKET.answer(rights) != 200:
        return NO_TICKET
    return NOT_HEARD if rights.foreign else HEARD
