"""Arrays as parameters of batch statements, in the form in which PostgreSQL keeps them.

The driver adapts each element of a list by itself; on the paths that carry thousands of rows a
second that costs four times as much as this module. And the server parses texts character by
character, blobs as twice as many digits; this form it copies. For the named statements of
``shared.sql``, whose parameters are sent apart from their text. None becomes NULL.
Form: PostgreSQL's ``array_send`` and the ``send`` functions of the elements' types.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from struct import Struct, error
from typing import ClassVar, TypeVar
from uuid import UUID

import psycopg
from django.db import DataError
from psycopg import pq
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.postgres import types

_NULL = b"\xff\xff\xff\xff"
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_head = Struct(">iiIii").pack
_empty_head = Struct(">iiI").pack
_length = Struct(">i").pack
_integer = Struct(">iq").pack
_float = Struct(">id").pack
_UUID_LENGTH = _length(16)
_TRUE, _FALSE = _length(1) + b"\x01", _length(1) + b"\x00"


class _Array(bytes):
    """An array in the form that is sent."""

    __slots__ = ()
    element: ClassVar[str]


class UuidArray(_Array):
    """An ``uuid[]``."""

    element = "uuid"


class IntegerArray(_Array):
    """An ``int8[]``."""

    element = "int8"


class FloatArray(_Array):
    """A ``float8[]``."""

    element = "float8"


class FlagArray(_Array):
    """A ``bool[]``."""

    element = "bool"


class MomentArray(_Array):
    """A ``timestamptz[]``."""

    element = "timestamptz"


class TextArray(_Array):
    """A ``text[]``."""

    element = "text"


class BlobArray(_Array):
    """A ``bytea[]``."""

    element = "bytea"


_A = TypeVar("_A", bound=_Array)


def of_uuids(values: Iterable[UUID | None]) -> UuidArray:
    """Return a ``uuid[]``."""
    return _array(
        UuidArray, [_NULL if value is None else _UUID_LENGTH + value.bytes for value in values]
    )


def of_integers(values: Iterable[int | None]) -> IntegerArray:
    """Return an ``int8[]``; DataError for a number that it cannot hold."""
    try:
        parts = [_NULL if value is None else _integer(8, value) for value in values]
    except error as problem:
        raise DataError(f"no bigint: {problem}") from problem
    return _array(IntegerArray, parts)


def of_floats(values: Iterable[float | None]) -> FloatArray:
    """Return a ``float8[]``."""
    return _array(FloatArray, [_NULL if value is None else _float(8, value) for value in values])


def of_flags(values: Iterable[bool]) -> FlagArray:
    """Return a ``boolean[]``."""
    return _array(FlagArray, [_TRUE if value else _FALSE for value in values])


def of_moments(values: Iterable[datetime | None]) -> MomentArray:
    """Return a ``timestamptz[]`` of aware datetimes."""
    return _array(
        MomentArray, [_NULL if value is None else _integer(8, _micros(value)) for value in values]
    )


def _micros(moment: datetime) -> int:
    since = moment - _EPOCH
    return (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds


def of_texts(values: Iterable[str | None]) -> TextArray:
    """Return a ``text[]``."""
    return _array(
        TextArray, [_NULL if value is None else _sized(value.encode()) for value in values]
    )


def of_blobs(values: Iterable[bytes | memoryview | None]) -> BlobArray:
    """Return a ``bytea[]``."""
    return _array(BlobArray, [_NULL if value is None else _sized(bytes(value)) for value in values])


def _sized(data: bytes) -> bytes:
    return _length(len(data)) + data


def _array(kind: type[_A], parts: list[bytes]) -> _A:
    oid = types[kind.element].oid
    if not parts:
        return kind(_empty_head(0, 0, oid))
    head = _head(1, int(_NULL in parts), oid, len(parts), 1)
    return kind(b"".join([head, *parts]))


def _register(kind: type[_Array]) -> None:
    class ArrayDumper(Dumper):
        format = pq.Format.BINARY
        oid = types[kind.element].array_oid

        def dump(self, obj: _Array) -> Buffer:
            return obj

    psycopg.adapters.register_dumper(kind, ArrayDumper)


# At import, before the first session: a session knows only the adapters from before it was made.
for _kind in _Array.__subclasses__():
    _register(_kind)
