"""Slows down guessing of passwords and codes: counts failures by account and address, in Redis.

Pairs are counted, so that failures from elsewhere never keep the right password out. An address
that fails for many accounts is refused at a much higher count. While Redis cannot be reached there
is no limit, so that people can sign in to repair it; the password still has to be right.
"""

from __future__ import annotations

import logging
import unicodedata

from shared import windowed_counts
from shared.redis_client import ConnectionFailed

log = logging.getLogger(__name__)

#: Failures of one account from one address after which further tries are refused unchecked.
MAX_FAILURES = 10
#: What is guessed; each has a count of its own.
PASSWORD, CODE, OIDC = "login", "code", "oidc"
#: The same for all accounts together: tries of one password for many accounts.
MAX_FAILURES_OF_ADDRESS = 100
WINDOW_SECONDS = 300
#: Of the names of accounts, without the blanks around one in a form.
_LONGEST_NAME = 150


def is_refused(account: str, address: str, kind: str = PASSWORD) -> bool:
    """Return whether this account has failed too often from this address."""
    try:
        of_pair, of_address = windowed_counts.counts_of(_names(account, address, kind))
    except ConnectionFailed as error:
        _say_away(error)
        return False
    return of_pair >= MAX_FAILURES or of_address >= MAX_FAILURES_OF_ADDRESS


def note_failure(account: str, address: str, kind: str = PASSWORD) -> None:
    """Count one failure."""
    try:
        windowed_counts.count(_names(account, address, kind), WINDOW_SECONDS)
    except ConnectionFailed as error:
        _say_away(error)


def forget_failures(account: str, address: str, kind: str = PASSWORD) -> None:
    """Begin anew after a success: only this account's failures from this address."""
    try:
        windowed_counts.forget(_names(account, address, kind)[:1])
    except ConnectionFailed as error:
        _say_away(error)


def account_name(text: str) -> str:
    """Return the name under which failures count: other spellings of a name count as one.

    A text longer than names are is of no account. It stays as it is: to normalise one that is made
    for it takes time that grows with the square of its length.
    """
    name = text.strip()
    if len(name) > _LONGEST_NAME:
        return name
    return unicodedata.normalize("NFKC", name).strip().casefold()


def _names(account: str, address: str, kind: str) -> list[str]:
    # The address comes first: it has no blank, while the account's name may have one.
    return [f"{kind}:{address} {account}", f"{kind}:{address}"]


def _say_away(error: Exception) -> None:
    log.warning("sign_in_throttle.without_redis", extra={"reason": type(error).__name__})
