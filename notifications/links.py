"""Links in messages: pages of the console, and signed ones that work without a login.

A signed link names one member and what it may do; it changes nothing by being opened, only by
the button on its page or the mail program's own unsubscribe.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.core import signing

from shared.conf import conf
from shared.exceptions import NotFound

UNSUBSCRIBE, MUTE = "unsubscribe", "mute"
_SALT = "notifications.links"
#: Mail is kept for long, but a link that anybody with the mail may use is not good for ever.
_MAX_AGE_SECONDS = 180 * 24 * 3600


@dataclass(frozen=True, slots=True)
class SignedLink:
    """What a signed link stands for."""

    membership_id: int
    alert_id: UUID | None


def page(path: str) -> str:
    """Return the full address of a page of this installation."""
    return conf().public_url.rstrip("/") + path


def signed_page(action: str, membership_id: int, alert_id: UUID | None = None) -> str:
    """Return the full address that does the action for the member without a login."""
    claims = [membership_id, alert_id.hex if alert_id else None]
    token = signing.dumps(claims, salt=f"{_SALT}.{action}")
    return page(f"/notifications/{action}/{token}")


def read_token(action: str, token: str) -> SignedLink:
    """Return what the token stands for; raise NotFound for a made-up, changed or old one."""
    try:
        member, alert = signing.loads(token, salt=f"{_SALT}.{action}", max_age=_MAX_AGE_SECONDS)
        return SignedLink(int(member), UUID(alert) if alert else None)
    except (signing.BadSignature, ValueError, TypeError) as error:
        raise NotFound("This link is not valid any more.") from error
