"""What a key, a member or a token may do with keys: rights that are compared, never guessed.

A caller changes only keys whose rights it has itself, and gives no key a right that it lacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from shared.exceptions import Forbidden
from shared.instants import format_instant
from shared.networks import is_within
from tenants.choices import SCOPES


@dataclass(frozen=True, slots=True)
class Rights:
    """Scopes, the rights of an owner, an end (None: never) and networks (none: every address)."""

    scopes: frozenset[str]
    owner: bool = False
    expires_at: datetime | None = None
    addresses: tuple[str, ...] = ()

    def widens(self, before: Rights) -> bool:
        """Return whether these rights hold anything that the earlier ones did not."""
        return bool(
            self.scopes - before.scopes
            or (self.owner and not before.owner)
            or not is_within(self.addresses, before.addresses)
            or _ends_later(self.expires_at, before.expires_at)
        )


def require_not_stronger(own: Rights, key: Rights) -> None:
    """Raise Forbidden where the key has scopes, an owner's rights or addresses beyond the own."""
    if key.owner and not own.owner:
        raise Forbidden("Only an owner may change or revoke an owner's key.")
    lacking = [scope for scope in SCOPES if scope in key.scopes - own.scopes]
    if lacking:
        raise Forbidden(
            "A caller may change or revoke only keys that may do no more than itself. "
            f"It lacks the scope {', '.join(map(repr, lacking))}."
        )
    if not is_within(key.addresses, own.addresses):
        raise Forbidden(
            "The key may be used from addresses that the caller's own key may not be used from. "
            "A caller may change or revoke only keys that may do no more than itself."
        )


def require_no_more(own: Rights, made: Rights) -> None:
    """Raise Forbidden where a key would get a right beyond the own ones, or a later end."""
    if made.scopes - own.scopes or (made.owner and not own.owner):
        raise Forbidden("A key cannot make another that may do more than itself.")
    if not is_within(made.addresses, own.addresses):
        raise Forbidden(
            "A key with an address list cannot make another that is used from elsewhere: give "
            f"addresses within {', '.join(own.addresses)}."
        )
    if own.expires_at is not None and _ends_later(made.expires_at, own.expires_at):
        raise Forbidden(
            "A key that expires cannot make another that lasts longer: "
            f"give expires_at, {format_instant(own.expires_at)} at the latest."
        )


def _ends_later(end: datetime | None, other: datetime | None) -> bool:
    return other is not None and (end is None or end > other)
