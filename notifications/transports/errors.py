"""The one error of a transport: a message was not sent, and whether a retry may help."""

from __future__ import annotations


class TransportError(Exception):
    """The message was not accepted; ``permanent`` ones are not tried again."""

    def __init__(
        self, message: str, *, permanent: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.permanent = permanent
        self.retry_after = retry_after
