"""The errors that every app may raise; each knows its stable code and its HTTP status.

The docstring of a class is its default message. The REST edge turns them into problem+json,
commands into an exit code; nothing in between catches them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldError:
    """One bad field: a JSON pointer (``#/schedule/timezone``), a stable code, a sentence.

    ``path`` has the keys of a cycle, in order, the first one again at its end.
    """

    pointer: str
    code: str
    message: str
    path: tuple[str, ...] = ()


class PunctualError(Exception):
    """Something went wrong."""

    code = "error"
    status = 400

    def __init__(self, message: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        super().__init__(self.message)


class InvalidInput(PunctualError):
    """The request is not valid."""

    code = "invalid"

    def __init__(self, errors: list[FieldError], message: str | None = None) -> None:
        super().__init__(message)
        self.errors = errors


class NotAcceptable(InvalidInput):
    """The caller accepts none of the types that this is answered as."""

    code = "not_acceptable"
    status = 406

    def __init__(self, message: str) -> None:
        super().__init__([FieldError("Accept", self.code, message)], message)


class NotFound(PunctualError):
    """There is no such resource."""

    code = "not_found"
    status = 404


class Conflict(PunctualError):
    """The resource is not in a state that allows this."""

    code = "conflict"
    status = 409

    def __init__(self, message: str | None = None, *, code: str | None = None) -> None:
        super().__init__(message)
        if code:
            self.code = code


class Expired(PunctualError):
    """What was asked for is kept no longer."""

    code = "expired"
    status = 410

    def __init__(self, message: str | None = None, *, code: str | None = None) -> None:
        super().__init__(message)
        if code:
            self.code = code


class VersionMismatch(PunctualError):
    """The resource has changed since it was read."""

    code = "version_mismatch"
    status = 412


class TooLarge(PunctualError):
    """The payload is larger than allowed."""

    code = "too_large"
    status = 413


class Forbidden(PunctualError):
    """The key does not have the scope for this call."""

    code = "forbidden"
    status = 403


class QuotaExceeded(PunctualError):
    """A quota of the tenant is used up.

    ``facts`` are the quota, its limit and its use, where it is one of a tier; ``retry_after`` whole
    seconds until it is worth another try.
    """

    code = "quota_exceeded"
    status = 429
    retry_after: int | None = None

    def __init__(
        self,
        message: str | None = None,
        *,
        facts: Mapping[str, str | int] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.facts = facts or {}
        if retry_after is not None:
            self.retry_after = retry_after


class Unavailable(PunctualError):
    """A server that this call needs cannot be reached; nothing has changed."""

    code = "unavailable"
    status = 503
