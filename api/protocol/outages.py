"""Tell exceptions of an unreachable server from bugs."""

from __future__ import annotations

from django.db import InterfaceError, InternalError, OperationalError
from kombu.exceptions import OperationalError as BrokerError

from shared.redis_client import ConnectionFailed

# Any other OSError, such as a missing file, is a bug.
_OF_REDIS = tuple(kind for kind in ConnectionFailed if kind is not OSError)
_AWAY = (OperationalError, InterfaceError, BrokerError, *_OF_REDIS)
#: PostgreSQL reports these as internal errors, though the session's end or the server's state is
#: the cause: a session ended in the middle of a transaction (25P03, 25P04), as after a freeze, and
#: a server that has become a standby (25006).
_SQLSTATES = frozenset({"25P03", "25P04", "25006"})


def is_outage(error: BaseException) -> bool:
    """Return whether the same call may succeed a little later, once a server is back."""
    if isinstance(error, InternalError):
        return getattr(error.__cause__, "sqlstate", None) in _SQLSTATES
    return isinstance(error, _AWAY)
