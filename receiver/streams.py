"""Bodies of the test receiver that are larger than any client should read.

``/huge`` and ``/gzip-bomb`` send them piece by piece; only one piece is in memory at a time.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from functools import lru_cache

from receiver.messages import Answer, Request, Stream, one_of, whole_number

PIECE = 64 * 1024
MAX_BYTES = 100_000_000_000
#: Each of them is hashed for the trailer of the file; ten billion take a few seconds.
MAX_BOMB_BYTES = 10_000_000_000
#: Zeros behind one compressed piece: about a thousandth of that goes over the wire.
_BOMB_PIECE = 1024 * 1024


def huge(request: Request) -> Answer:
    """Answer 200 with the number of bytes in the query, announced or not."""
    query = request.query
    size = whole_number(query, "bytes", 100_000_000, (0, MAX_BYTES))
    framing = one_of(query, "framing", ("length", "chunked", "close"))
    stream = Stream(lambda: _filled(size), framing, size)
    return Answer(200, content_type="application/octet-stream", stream=stream)


def gzip_bomb(request: Request) -> Answer:
    """Answer 200 with a small gzip body that unpacks to the number of zeros in the query."""
    size = whole_number(request.query, "bytes", 1_000_000_000, (0, MAX_BOMB_BYTES))
    headers = (("Content-Encoding", "gzip"),)
    stream = Stream(lambda: _packed_zeros(size), "chunked")
    return Answer(200, content_type="text/plain", headers=headers, stream=stream)


def _filled(size: int) -> Iterator[bytes]:
    piece = b"." * min(PIECE, size)
    for _ in range(size // PIECE):
        yield piece
    if size % PIECE:
        yield piece[: size % PIECE]


def _packed_zeros(size: int) -> Iterator[bytes]:
    yield b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    whole, rest = divmod(size, _BOMB_PIECE)
    zeros, checksum = bytes(_BOMB_PIECE), 0
    for _ in range(whole):
        checksum = zlib.crc32(zeros, checksum)
        yield _packed(_BOMB_PIECE)
    checksum = zlib.crc32(zeros[:rest], checksum)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    yield packer.compress(zeros[:rest]) + packer.flush()
    yield struct.pack("<II", checksum, size % 2**32)


@lru_cache(maxsize=1)
def _packed(count: int) -> bytes:
    """Return a piece that can follow any other: a full flush resets the compressor."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(bytes(count)) + packer.flush(zlib.Z_FULL_FLUSH)
