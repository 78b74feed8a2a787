"""The one error of a transport: a message was not sent, and whether a retry may help."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from notifications.transports.answers import Answer


class TransportError(Exception):
    """The message was not accepted; ``permanent`` ones are not tried again.

    ``answer`` is what a channel has answered, where it did.
    """

    def __init__(
        self,
        message: str,
        *,
        permanent: bool = False,
        retry_after: float | None = None,
        answer: Answer | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.permanent = permanent
        self.retry_after = retry_after
        self.answer = answer
