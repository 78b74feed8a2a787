"""The places of readers in a tenant's event feed, and their form as opaque cursors.

A cursor is no secret and opens nothing: it is read only together with a tenant, whose id is part of
its checksum, so that a cursor of another tenant, or one with a slip, is refused.
"""

from __future__ import annotations

import struct
from base64 import b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zlib import crc32

from shared.ids import first_id_at, milliseconds

CURSOR_LENGTH = 55
_VERSION = 1
#: The version, the transaction, the event, how much of it, and milliseconds.
_FORM = struct.Struct(">BQ16sIq")
_CHECK = struct.Struct(">I")
_MOST = 2**63
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = milliseconds(datetime(9000, 1, 1, tzinfo=UTC))
#: Longer than any transaction, and than any step of the database's clock.
_LONGEST = timedelta(days=1)
_NO_EVENT = UUID(int=0)


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """Everything before (``xid``, ``event_id``) has been read, and all or a part of that event.

    ``taken`` is how many events of a batch have been read, 0 for the whole of it. No unread event
    is more than a transaction's length older than ``at``.
    """

    xid: int
    event_id: UUID
    taken: int
    at: datetime

    @property
    def begins_by_time(self) -> bool:
        """Return whether the reader begins at a time and has read nothing yet."""
        return self.xid == 0

    @property
    def after(self) -> UUID:
        """Return the id to read after in its transaction: a batch read in part comes again."""
        return UUID(int=self.event_id.int - 1) if self.taken else self.event_id

    @property
    def low(self) -> UUID:
        """Return the smallest id that an unread event may have."""
        if self.begins_by_time:
            return first_id_at(self.at)
        return first_id_at(self.at - _LONGEST)


def place_at(moment: datetime) -> FeedPlace:
    """Return the place before the first event that was made from a moment on."""
    return FeedPlace(0, _NO_EVENT, 0, moment)


def place_at_the_end(xid: int, now: datetime) -> FeedPlace:
    """Return the place after all events of transactions before this one."""
    return FeedPlace(xid, _NO_EVENT, 0, now)


def cursor_of(place: FeedPlace, tenant_id: UUID) -> str:
    """Return the cursor of a place in the tenant's feed."""
    packed = _FORM.pack(
        _VERSION, place.xid, place.event_id.bytes, place.taken, milliseconds(place.at)
    )
    return urlsafe_b64encode(packed + _checksum(packed, tenant_id)).decode().rstrip("=")


def place_of(cursor: str, tenant_id: UUID) -> FeedPlace:
    """Return the place of a cursor; raise ValueError unless it is one of the tenant's feed."""
    if len(cursor) != CURSOR_LENGTH:
        raise ValueError("It is no cursor.")
    try:
        content = b64decode(cursor + "=", altchars=b"-_", validate=True)
        packed, check = content[: _FORM.size], content[_FORM.size :]
        version, xid, event, taken, at = _FORM.unpack(packed)
    except (ValueError, struct.error) as error:
        raise ValueError("It is no cursor.") from error
    known = version == _VERSION and check == _checksum(packed, tenant_id)
    event_id = UUID(bytes=event)
    in_bounds = xid < _MOST and 0 <= at <= _LATEST
    if not known or not in_bounds or (taken and not event_id.int):
        raise ValueError("It is no cursor of this feed.")
    return FeedPlace(xid, event_id, taken, _EPOCH + timedelta(milliseconds=at))


def _checksum(packed: bytes, tenant_id: UUID) -> bytes:
    return _CHECK.pack(crc32(packed + tenant_id.bytes))
