"""Links in messages: pages of the console, and signed ones that work without a login.

A signed link names one member and one action. Opening it changes nothing; the button on its page
or the mail program's own unsubscribe does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core import signing

from shared.conf import conf
from shared.exceptions import NotFound

UNSUBSCRIBE, MUTE, CONFIRM = "unsubscribe", "mute", "confirm"
_SALT = "notifications.links"
#: People keep mail for long, but a link that anybody with the mail may use must expire.
_MAX_AGE_SECONDS = 180 * 24 * 3600


@dataclass(frozen=True, slots=True)
class SignedLink:
    """The member, and the alert if any, that a signed link names."""

    membership_id: int
    alert_id: UUID | None


#: A link that confirms an address expires soon, because a person waits for it.
_CONFIRM_WITHIN_SECONDS = 3 * 24 * 3600


def page(path: str) -> str:
    """Return the full address of a page of this installation."""
    return conf().public_url.rstrip("/") + path


def calendar_feed(token: str) -> str:
    """Return the full address of the calendar feed with a token."""
    return page(f"/calendar-feeds/{token}.ics")


def signed_page(action: str, membership_id: int, alert_id: UUID | None = None) -> str:
    """Return the full address of the page that does the action for the member without a login."""
    claims = [membership_id, alert_id.hex if alert_id else None]
    token = signing.dumps(claims, salt=f"{_SALT}.{action}")
    return page(f"/notifications/{action}/{token}")


def signed_address(membership_id: int, address: str) -> str:
    """Return the full address of the page that confirms the member's address."""
    token = signing.dumps([membership_id, address], salt=f"{_SALT}.{CONFIRM}")
    return page(f"/notifications/{CONFIRM}/{token}")


def read_token(action: str, token: str) -> SignedLink:
    """Return the content of the token; raise NotFound for a made-up, changed or old one."""
    member, alert = _read(action, token, _MAX_AGE_SECONDS)
    return SignedLink(int(member), UUID(alert) if alert else None)


def read_address_token(token: str) -> tuple[int, str]:
    """Return the member and the address; raise NotFound for a made-up, changed or old token."""
    member, address = _read(CONFIRM, token, _CONFIRM_WITHIN_SECONDS)
    return int(member), str(address)


def _read(action: str, token: str, max_age: int) -> tuple[Any, Any]:
    try:
        first, second = signing.loads(token, salt=f"{_SALT}.{action}", max_age=max_age)
    except (signing.BadSignature, ValueError, TypeError) as error:
        raise NotFound("This link is not valid any more.") from error
    return first, second
