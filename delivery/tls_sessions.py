"""TLS sessions: a further connection to a host needs no whole handshake.

Asked by the connector for each handshake. A session is offered only where it came from: to the
same scheme, host, port and route, under the very context that verified the certificate. Targets
without a route share sessions as they share connections: nothing of a tenant is in them. A receiver
that does not know a session any more shakes hands in full, verification included. Bounded in
number, bytes, age and contexts.
"""

from __future__ import annotations

import ssl
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, cast

from delivery.http_connection import Key
from delivery.tls import MAX_CONTEXTS

#: All hosts together. Most of a session is the receiver's certificates: 7 KiB with one of them
#: (measured), a few times that with a chain.
MAX_SESSIONS = 2048
#: Bytes that a receiver may send up to its answer; a session holds its certificates and ticket.
MAX_BYTES = 16_384
#: Seconds for which a certificate is believed without being shown again.
MAX_AGE_SECONDS = 7200.0


def reading_leaks(version: tuple[int, ...]) -> bool:
    """Return whether this version of CPython loses a copy of each session that is read."""
    return (3, 10) <= version < (3, 12, 7) or (3, 13) <= version < (3, 13, 1)


#: Where not, no session is kept: 5 KiB lost with each connection would fill any machine, and the
#: copying takes most of the time that a session saves (both measured).
READING_IS_SOUND = not reading_leaks(sys.version_info[:3])

_Place = tuple[ssl.SSLContext, Key]


@dataclass(frozen=True, slots=True)
class _Kept:
    session: ssl.SSLSession
    #: When the receiver showed its certificate; a resumed handshake shows none.
    verified_at: float


class TlsSessions:
    """The sessions of one client, the newest of each place; the one used longest ago goes first.

    One session serves many connections, at once too. That tells an observer nothing which the
    host name and the address of this machine do not.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.enabled = READING_IS_SOUND
        self._clock = clock
        self._kept: OrderedDict[_Place, _Kept] = OrderedDict()
        #: How many sessions each context has: a session keeps its context alive, and that holds
        #: the certificates of a hundred authorities.
        self._contexts: Counter[ssl.SSLContext] = Counter()

    def __len__(self) -> int:
        return len(self._kept)

    def handshake(self, context: ssl.SSLContext, key: Key) -> Handshake:
        """Return the object to give to the event loop instead of the context, per connection."""
        if context.sslobject_class is ssl.SSLObject:
            context.sslobject_class = _Tls
        return Handshake(self, context, key)

    def find(self, place: _Place) -> _Kept | None:
        """Return the session to offer; None when there is none, or none that is young enough."""
        kept = self._kept.get(place)
        if kept is None:
            return None
        if self._clock() - kept.verified_at > MAX_AGE_SECONDS:
            self.forget(place)
            return None
        self._kept.move_to_end(place)
        return kept

    def keep(self, place: _Place, offered: _Kept | None, tls: _Tls) -> None:
        """Keep a connection's session; forget the place when the receiver gave none."""
        session = _resumable(tls)
        if session is None:
            self.forget(place)
            return
        resumed = offered is not None and tls.session_reused
        verified_at = offered.verified_at if offered is not None and resumed else self._clock()
        if place not in self._kept:
            self._contexts[place[0]] += 1
        self._kept[place] = _Kept(session, verified_at)
        self._kept.move_to_end(place)
        while len(self._kept) > MAX_SESSIONS or len(self._contexts) > MAX_CONTEXTS:
            self.forget(next(iter(self._kept)))

    def forget(self, place: _Place) -> None:
        """Offer nothing there the next time."""
        if self._kept.pop(place, None) is None:
            return
        self._contexts[place[0]] -= 1
        if not self._contexts[place[0]]:
            del self._contexts[place[0]]


class Handshake:
    """Replaces a context during one handshake: an event loop passes no session on by itself."""

    def __init__(self, sessions: TlsSessions, context: ssl.SSLContext, key: Key) -> None:
        self._sessions = sessions
        self._context = context
        self._place = (context, key)

    @property  # type: ignore[misc]  # read-only, where object's may be written
    def __class__(self) -> type[Any]:
        # Event loops accept nothing but instances of this class; a real one costs 150 µs.
        return ssl.SSLContext

    def as_context(self) -> ssl.SSLContext:
        """Return itself, typed as a context; the real context where no session is kept."""
        return cast(ssl.SSLContext, self) if self._sessions.enabled else self._context

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
    ) -> ssl.SSLObject:
        """Begin TLS as the context would, offering the session that is kept."""
        offered = self._sessions.find(self._place)
        made = self._context.wrap_bio(
            incoming,
            outgoing,
            server_side=server_side,
            server_hostname=server_hostname,
            session=None if offered is None else offered.session,
        )
        if isinstance(made, _Tls):
            made.incoming = incoming
            made.on_answer = partial(self._sessions.keep, self._place, offered)
        return made

    def failed(self) -> None:
        """Offer nothing the next time: the session may be what the receiver choked on."""
        self._sessions.forget(self._place)


class _Tls(ssl.SSLObject):
    """The TLS of one connection; hands its session over with the first bytes of an answer.

    Since TLS 1.3 a session comes after the handshake, before the first bytes of the answer.
    """

    incoming: ssl.MemoryBIO | None = None
    on_answer: Callable[[_Tls], None] | None = None
    #: Bytes that had arrived, counted before each step.
    heard = 0

    def getpeercert(self, binary_form: bool = False) -> None:
        """Return nothing: event loops would decode and hold a certificate that no code reads."""

    def do_handshake(self) -> None:
        """Go on with the handshake."""
        self._listen()
        super().do_handshake()

    def read(self, len: int = 1024, buffer: Any = None) -> Any:
        """Read what the receiver sends."""
        if self.on_answer is None:
            return super().read(len, buffer)
        self._listen()
        said = super().read(len, buffer)
        if said:
            on_answer, self.on_answer = self.on_answer, None
            on_answer(self)
        return said

    def _listen(self) -> None:
        if self.incoming is not None:
            self.heard += self.incoming.pending


def _resumable(tls: _Tls) -> ssl.SSLSession | None:
    if tls.heard > MAX_BYTES:
        return None
    try:
        session = tls.session
    except (ValueError, ssl.SSLError):  # a receiver made it too odd to be copied
        return None
    if session is None or not (session.has_ticket or session.id):
        return None
    return session
