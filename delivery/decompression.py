"""Undoes the compression of an answer that came compressed although the request asked for none.

Called by the HTTP client on the captured part of a body. The capture limit bounds the memory, also
where the body claims more. A body that cannot be decompressed (another encoding, several, damage)
stays as it came, and the response names its encoding. An unknown name over plain text is ignored.
"""

from __future__ import annotations

import zlib

from delivery.http_messages import Response

_GZIP, _ZLIB, _RAW = 31, 15, -15
#: Window bits to try, by encoding: many servers send deflate without its zlib wrapper.
_WINDOWS = {"gzip": (_GZIP,), "x-gzip": (_GZIP,), "deflate": (_ZLIB, _RAW)}
#: The other registered content codings; no receiver sends plain text under these names.
_OTHERS = frozenset("aes128gcm br compress dcb dcz exi pack200-gzip x-compress zstd".split())
_LONGEST_NAME = 100
#: Text has none of these bytes; encoded text nearly always has some.
_NOT_IN_TEXT = bytes({*range(32)} - set(b"\a\b\t\n\v\f\r\x1b"))


def decode(response: Response, limit: int) -> None:
    """Replace the body by its decompressed form, cut at ``limit`` bytes, or mark its encoding."""
    encodings = [
        word.strip().lower()
        for name, value in response.headers
        if name.lower() == "content-encoding"
        for word in value.split(",")
    ]
    encodings = [word for word in encodings if word not in ("", "identity")]
    if not encodings:
        return
    known = [word for word in encodings if word in _WINDOWS or word in _OTHERS]
    for window in _WINDOWS.get(known[0], ()) if len(known) == 1 else ():
        try:
            body, cut = _inflate(response.body, window, limit, complete=not response.truncated)
        except zlib.error:
            continue
        response.body = body
        response.truncated = response.truncated or cut
        return
    if known or not _is_text(response.body):
        response.encoding = ", ".join(encodings)[:_LONGEST_NAME]


def _is_text(body: bytes) -> bool:
    return len(body.translate(None, _NOT_IN_TEXT)) == len(body)


def _inflate(data: bytes, window: int, limit: int, *, complete: bool) -> tuple[bytes, bool]:
    """Return at most ``limit`` bytes and whether there were more; several gzip members are one.

    zlib.error when the data is damaged, or ends early although it is ``complete``.
    """
    pieces: list[bytes] = []
    room = limit + 1
    while data and room > 0:
        member = zlib.decompressobj(window)
        try:
            piece = member.decompress(data, room)
        except zlib.error:
            if pieces:
                break  # padding behind the last member
            raise
        pieces.append(piece)
        room -= len(piece)
        if complete and not member.eof and room > 0:
            raise zlib.error("the data ends early")
        data = member.unused_data if window == _GZIP else b""
    body = b"".join(pieces)
    return body[:limit], len(body) > limit
