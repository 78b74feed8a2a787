"""Limits of the messages that a member may cause: tests, and requests to confirm an address.

Redis counts them. While it cannot be reached none is sent, because no other limit exists.
"""

from __future__ import annotations

from uuid import UUID

from shared import windowed_counts
from shared.exceptions import QuotaExceeded, Unavailable
from shared.redis_client import ConnectionFailed
from tenants.models import Membership

#: Test messages of a member within the window, over all channels; and those to one shared
#: channel, or to one receiver of events.
MOST_TESTS, TEST_SECONDS = 5, 600
#: Requests to confirm an address, within a day: of a member, and of a tenant to one address.
MOST_REQUESTS, MOST_TO_ADDRESS, REQUEST_SECONDS = 10, 3, 24 * 3600
#: Messages to one address of all tenants together. Beyond it the address is kept as ever and the
#: message stays unsent: a refusal would tell a tenant what others do.
MOST_OF_ALL_TO_ADDRESS = 50


class TooManyMessages(QuotaExceeded):
    """The limit of messages is reached; try again later."""

    code = "too_many_messages"

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def count_test(member_id: int) -> None:
    """Count a test message of the member; raise TooManyMessages, Unavailable."""
    _count_test(f"test-message:{member_id}")


def count_channel_test(channel_id: UUID) -> None:
    """Count a test message to a shared channel; raise TooManyMessages, Unavailable."""
    _count_test(f"test-channel:{channel_id}")


def count_event_test(subscription_id: UUID) -> None:
    """Count a test event to a receiver; raise TooManyMessages, Unavailable."""
    _count_test(f"test-events:{subscription_id}")


def _count_test(name: str) -> None:
    [tests] = _count([name], TEST_SECONDS)
    if tests > MOST_TESTS:
        text = f"At most {MOST_TESTS} test messages within {TEST_SECONDS // 60} minutes. Wait."
        raise TooManyMessages(text, TEST_SECONDS)


def count_request(membership: Membership, address: str) -> bool:
    """Count a request to confirm an address; return whether its message may be sent.

    False where all tenants together have had their messages to it. Raise TooManyMessages,
    Unavailable.
    """
    asked = address.casefold()
    names = [f"confirm-of:{membership.pk}", f"confirm-of:{membership.tenant_id} {asked}"]
    of_member, of_tenant = _count(names, REQUEST_SECONDS)
    if of_member > MOST_REQUESTS or of_tenant > MOST_TO_ADDRESS:
        text = (
            f"At most {MOST_TO_ADDRESS} messages of a tenant a day ask one address to confirm, and "
            f"at most {MOST_REQUESTS} for one member. Use a link that was sent, or try again "
            "tomorrow."
        )
        raise TooManyMessages(text, REQUEST_SECONDS)
    # After its own limits: what is refused must not use up what other tenants may send.
    [of_all] = _count([f"confirm-to:{asked}"], REQUEST_SECONDS)
    return of_all <= MOST_OF_ALL_TO_ADDRESS


def _count(names: list[str], seconds: int) -> list[int]:
    try:
        return windowed_counts.count(names, seconds)
    except ConnectionFailed as error:
        raise Unavailable("Messages cannot be counted at this moment; none is sent.") from error
